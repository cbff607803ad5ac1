"""Owns evaluations on the host that come again: their plan is found by their nodes, without a signature.

What an evaluation works out follows from its nodes: their keys, which are whose arguments, which of them the program
names, and which of those an evaluation has passed before (`liveness.py`). Where all of that is as it was when a plan
was run, the plan runs again. All else goes the general way (`evaluate.py`).

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from lazyarray.config import config
from lazyarray.ir.expression import places_of

# The build reads such imports by the line.
# isort: split
from lazyarray.ir.expression import next_pass  # cimport
from lazyarray.ir.node import Key, Node, Spec  # cimport
from lazyarray.native.primitives import count  # cimport
from lazyarray.runtime.run import AnyDirect  # cimport

KEYS_LIMIT: Final = 1024  # last operations of which evaluations are kept
WAYS_LIMIT: Final = 8  # evaluations with one last operation that are kept
LEARNED_LIMIT: Final = 8  # times that evaluations of one plan are kept: what the program names of it may vary
NODES_LIMIT: Final = 512  # nodes of an evaluation that is kept
ARGS_LIMIT: Final = 30  # arguments of such a node
TOGETHER_LIMIT: Final = 1 << 16  # nodes of all that is kept: some 10 MiB


def _count_of_item(nodes: list[Any], place: int) -> int:
    return count(nodes[place])


# What counting shows of a node to which only a list refers (as in `runtime/liveness.py`).
ALONE: Final = _count_of_item([object()], 0)


class Step:
    """One node of an evaluation, as it was found and as it was left."""

    __slots__ = ("args", "asked", "key", "left", "named", "numbers", "place", "uses", "visited")

    def __init__(self, key: Key, place: int, args: tuple[int, ...], numbers: int) -> None:
        self.key = key
        self.place = place
        self.args = args  # places
        self.numbers = numbers  # a bit for each argument that is a number
        self.uses = 0  # how often nodes have it for an argument
        self.asked = False  # it is one of the targets
        self.named = False  # the program refers to it; not counted of targets
        self.visited = False  # an evaluation had passed it before
        self.left = False  # this one passed it, and made no memory of it


class Recalled:
    """A plan and the nodes that it was run for."""

    __slots__ = (
        "_asked", "_heirs", "_leaves", "_olds", "_outputs", "_size", "_steps", "direct", "indirect", "plan",
        "reduces", "wanted", "writes",
    )  # fmt: skip

    def __init__(
        self, plan: Any, wanted: Any, asked: list[int], outputs: list[int], leaves: list[tuple[int, Spec]], size: int
    ) -> None:
        self.plan = plan
        self.wanted = wanted
        self._asked = asked  # places of the targets
        self._outputs = outputs  # and of all that is kept
        self._leaves = leaves
        self._size = size  # all places
        self._steps: list[Step] = []  # the last first
        self._olds: list[tuple[int, int]] = []  # places of what is written over; references to it that end
        self.reduces = self.writes = False
        self._heirs: list[tuple[int, int]] = []  # those of the olds whose memory a result of one kernel may get
        self.direct: AnyDirect | None = None  # the plan, where it is one kernel
        self.indirect = False  # it is not, or has errors to tell

    def prepare(self, backend: Any) -> None:
        """Notes whether the plan, which has run, can be launched directly."""
        from lazyarray.runtime.direct import direct_of  # here: `evaluate.py` says why

        self.direct = direct_of(self.plan, backend, {place: place for place, _ in self._leaves})
        self.indirect = self.direct is None
        if self.direct is not None:
            taken = {self.plan.origins[old] for _, old in self.plan.layout.heirs}
            leaves = taken.intersection([place for place, _ in self._leaves])
            self._heirs = [(place, uses) for place, uses in self._olds if place in leaves]

    def ends(self, sources: list[Any]) -> bool:
        """True if the plan may write over a value that nobody refers to any more: `Run.inherit` then looks closer."""
        for place, uses in self._heirs:  # noqa: SIM110  (a generator costs more than what it checks)
            if count(sources[place]) <= ALONE + uses:
                return True
        return False

    def match(self, targets: list[Node]) -> list[Any] | None:
        """The plan's sources, if these targets need the same; None if they do not."""
        if len(targets) != len(self._asked):
            return None
        found: list[Any] = [None] * self._size
        mark = next_pass()
        at = 0
        for place in self._asked:
            node = targets[at]
            node.mark = mark
            found[place] = node
            at += 1  # noqa: SIM113  (C counts faster than `enumerate`)
        for step in self._steps:
            node = found[step.place]
            if node.key is not step.key or node.data is not None or node.remote is not None:
                return None
            if not step.asked and (node.visits != 0) != step.visited:
                return None
            if not _take_args(node, step, found, mark):
                return None
        for place, spec in self._leaves:
            node = found[place]
            if node.data is None or node.remote is not None or node.key.spec is not spec:
                return None
        # No variable may still refer to a node when references to it are counted.
        node = None  # type: ignore[assignment]
        for step in self._steps:
            if not step.asked and (count(found[step.place]) > ALONE + step.uses) != step.named:
                return None
        return found

    def nodes_of(self, sources: list[Any]) -> list[Node]:
        """The nodes that are evaluated, in the order they were recorded."""
        return [sources[step.place] for step in reversed(self._steps)]

    def outputs_of(self, sources: list[Any], targets: list[Node]) -> list[Node]:
        """The nodes that get values, the targets first."""
        if len(self._outputs) == len(targets):
            return targets
        return [sources[place] for place in self._outputs]

    def uses_of(self, sources: list[Any]) -> dict[int, int]:
        """By id of a value that is written over: how many references to it end with the evaluation."""
        return {id(sources[place]): uses for place, uses in self._olds}

    def leave(self, sources: list[Any]) -> None:
        """Notes of the nodes that stay expressions that they were passed."""
        for step in self._steps:
            if step.left:
                node: Node = sources[step.place]
                node.visits = 1


def _take_args(node: Node, step: Step, found: list[Any], mark: int) -> bool:
    """Puts a node's arguments into their places; False if others are there, or they belong elsewhere."""
    args = node.args
    if len(args) != len(step.args):
        return False
    at = 0
    for place in step.args:
        arg = args[at]
        if found[place] is not None:
            if found[place] is not arg:
                return False
        elif type(arg) is Node:
            given: Node = arg
            # What has a place already was two values when the plan was made.
            if given.mark == mark or step.numbers >> at & 1:
                return False
            given.mark = mark
            found[place] = given
        elif not step.numbers >> at & 1:
            return False
        else:
            found[place] = arg
        at += 1  # noqa: SIM113
    return True


# By the key of the last target. An empty list: plans with this target have come again.
recalled: Final[dict[Key, list[Recalled]]] = {}
_kept: Final[list[tuple[Any, int]]] = []  # of each evaluation that was kept since all were forgotten: plan, nodes


def forget() -> None:
    """Settings have changed, or too much is kept."""
    recalled.clear()
    for plan, _ in _kept:
        plan.recalls = 0
    _kept.clear()


config.followers.append(forget)


def is_worth_learning(plan: Any, target: Key) -> bool:
    """True if an evaluation of this plan is to be kept: plans with such a target come again; it was not kept often."""
    if target not in recalled:
        if plan.layout is not None:
            if len(recalled) >= KEYS_LIMIT or sum([nodes for _, nodes in _kept]) >= TOGETHER_LIMIT:
                forget()
            recalled[target] = []
        return False
    return plan.layout is not None and plan.recalls < LEARNED_LIMIT


def learn(
    plan: Any, signature: Any, sources: list[Any], targets: int, wanted: Any, before: list[tuple[int, int]],
    uses: dict[int, int],
) -> None:  # fmt: skip
    """Keeps an evaluation whose plan is about to run; `targets`: how many of its outputs are asked for.

    `before`: of each node of the closure, what `named_and_dear` found (`place`), and its visits before.
    """
    if len(before) > NODES_LIMIT or any(len(source.args) > ARGS_LIMIT for source in sources if type(source) is Node):
        return
    plan.recalls += 1
    steps: list[Step] = []
    leaves: list[tuple[int, Spec]] = []
    numbers: set[int] = set()
    for place, (item, args) in enumerate(places_of(signature)):
        if type(item) is Spec:
            leaves.append((place, item))
        elif type(item) is str:
            numbers.add(place)
        else:
            bits = sum(1 << at for at, arg in enumerate(args) if arg in numbers)
            steps.append(Step(item, place, args, bits))
    by_place = {step.place: step for step in steps}
    counted = Counter(at for step in steps for at in step.args)
    outputs = list(signature[1])
    asked = outputs[:targets]
    for at in asked:
        by_place[at].asked = True
    for step, (state, visits) in zip(steps, before, strict=True):
        node: Node = sources[step.place]
        step.uses = counted[step.place]
        step.named = state > 0
        step.visited = visits != 0
        step.left = node.visits != 0 and visits == 0
    known = Recalled(plan, wanted, asked, outputs, leaves, len(sources))
    known._steps = steps[::-1]
    known.reduces = any(step.key.reads_all for step in steps)
    known.writes = any(step.key.writes for step in steps)
    known._olds = [(at, uses[id(source)]) for at, source in enumerate(sources) if id(source) in uses]
    _kept.append((plan, len(steps)))
    ways = recalled[by_place[asked[0]].key]
    ways.insert(0, known)
    del ways[WAYS_LIMIT:]


__all__ = ["Recalled", "Step", "forget", "is_worth_learning", "learn", "recalled"]
