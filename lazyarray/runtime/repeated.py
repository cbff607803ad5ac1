"""Owns evaluations that come again: what is recorded as it was before, on values of a device, is queued as it was.

What an evaluation works out follows from the nodes: their keys, arguments, numbers, lines and error states, and which
of them the program names. Where all of that is as it was before, only memory differs; and if that came before, too,
there is a graph of it (`device_graphs.py`), which is queued at once. All else goes the general way (`evaluate.py`).

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from typing import Any, Final

from lazyarray.config import config
from lazyarray.ir.expression import places_of

# The build reads such imports by the line.
# isort: split
from lazyarray.ir.node import Key, Node, Spec  # cimport
from lazyarray.native.primitives import count  # cimport
from lazyarray.runtime.floating import wanted  # cimport
from lazyarray.runtime.remote import Remote  # cimport

KINDS_LIMIT: Final = 1024  # last operations of which evaluations are kept
WAYS_LIMIT: Final = 4  # evaluations with one last operation that are kept
LEARNED_LIMIT: Final = 16  # times that an evaluation of one plan is kept: some never come again
TRIED_LIMIT: Final = 256  # runs of a plan that are looked at for that


def _count_of_item(nodes: list[Any], place: int) -> int:
    return count(nodes[place])


# What counting shows of a node to which only a list refers (as in `runtime/liveness.py`).
ALONE: Final = _count_of_item([object()], 0)


class Step:
    """One node of an evaluation."""

    __slots__ = ("args", "code", "errors", "instruction", "kept", "key", "place", "uses", "wanted")

    def __init__(self, key: Key, place: int, args: tuple[int, ...], node: Node, wanted: int) -> None:
        self.key = key
        self.place = place
        self.args = args  # places of nodes; numbers from -1 down
        self.code = None if node.site is None else node.site[0]
        self.instruction = 0 if node.site is None else node.site[1]
        self.errors: Any = None
        self.wanted = wanted  # the errors that are to be told
        self.uses = 0  # how often nodes have it for an argument
        self.kept = False  # it is one of the results


class Repeat:
    """An evaluation that was queued as a graph."""

    __slots__ = ("_alone", "_asked", "_device", "_graphs", "_leaves", "_memo", "_numbers", "_read", "_steps", "length",
                 "made", "outputs", "reduces", "size")  # fmt: skip

    def __init__(
        self, asked: list[int], outputs: list[int], steps: list[Step], leaves: list[tuple[int, bool]], size: int
    ) -> None:
        self._asked = asked  # places of the targets
        self.outputs = outputs
        self._steps = steps  # the last first
        self._leaves = leaves
        self.length = len(steps)
        self.size = size  # all places
        self.reduces = any(step.key.reads_all for step in steps)
        self._numbers: list[Any]
        self._device: Any
        self._alone = False
        self._graphs: Any
        self._memo: dict[str, Any]
        self._read: list[int]
        self.made: Any

    def match(self, targets: list[Node]) -> list[Any] | None:
        """The nodes by their places, if these targets need the same; None if they do not."""
        if len(targets) != len(self._asked):
            return None
        found: list[Any] = [None] * self.size
        at = 0
        for place in self._asked:
            found[place] = targets[at]
            at += 1  # noqa: SIM113  (C counts faster than `enumerate`)
        arg: Any
        for step in self._steps:
            node: Node | None = found[step.place]
            if node is None or node.key is not step.key or node.data is not None or node.remote is not None:
                return None
            if step.key.raises and node.errors is not step.errors and wanted(node) != step.wanted:
                return None
            site = node.site
            if site is None:
                if step.code is not None:
                    return None
            elif site[0] is not step.code or site[1] != step.instruction:
                return None
            args = node.args
            if len(args) != len(step.args):
                return None
            at = 0
            for place in step.args:
                arg = args[at]
                at += 1  # noqa: SIM113
                if place < 0:
                    if arg is not self._numbers[-1 - place] and not _is_same(arg, self._numbers[-1 - place]):
                        return None
                elif found[place] is None:
                    if type(arg) is not Node:
                        return None
                    found[place] = arg
                elif found[place] is not arg:
                    return None
        # No variable may still refer to a node when references to it are counted.
        node = arg = args = None  # type: ignore[assignment]
        for step in self._steps:
            named = count(found[step.place]) > ALONE + step.uses
            if named != step.kept:
                return None
            if named:
                kept: Node = found[step.place]
                if kept.visits:
                    return None
                kept = None  # type: ignore[assignment]
        return found

    def queue(self, found: list[Any]) -> list[Any] | None:
        """The results' values, if the graph of this memory is there, and was queued."""
        remote: Remote | None
        device = self._device
        for place, home in self._leaves:
            node: Node = found[place]
            remote = node.remote
            if remote is None or remote.device is not device or remote.home != home:
                return None
        given: list[Any] = []
        for place in self._read:
            node = found[place]
            given.append(node.remote)
        made: list[Any] | None
        if self._alone:
            made = self._graphs.again(given, device, self._memo)
        else:
            with device.active():
                made = self._graphs.again(given, device, self._memo)
        return made

    def settle(self, found: list[Any], made: list[Any]) -> None:
        """The results have their values, and let go of their arguments."""
        at = 0
        for place in self.outputs:
            node: Node = found[place]
            node.made = self.made
            node.remote = made[at]
            node.args = ()
            node.errors = None
            at += 1  # noqa: SIM113


def _is_same(number: Any, known: Any) -> bool:
    """True for numbers that no operation tells apart."""
    return type(number) is type(known) and bool(number == known) and bool(number)


# By the key of the last node.
repeats: Final[dict[Key, list[Repeat]]] = {}
config.followers.append(repeats.clear)


def is_queued_whole(run: Any) -> bool:
    """True if a plan may run as a graph, and its evaluation is to be kept then."""
    programs = run.plan.programs
    graphs = programs.get(run.device.name)
    if not graphs or not graphs.is_plain or programs.get("learned", 0) >= LEARNED_LIMIT:
        return False
    tried = programs["tried"] = programs.get("tried", 0) + 1
    return bool(tried <= TRIED_LIMIT)


def learn(signature: Any, run: Any, outputs: list[Node], asked: int, made: Any) -> None:
    """Keeps an evaluation that was queued as a graph; `asked`: how many of the outputs are targets."""
    memo: dict[str, Any] = run.memo
    memo.pop("asked", None)
    learned = run.plan.programs.get("learned", 0)
    if "tail" not in memo or learned >= LEARNED_LIMIT:
        return
    run.plan.programs["learned"] = learned + 1
    steps: list[Step] = []
    leaves: list[tuple[int, bool]] = []
    numbers: list[Any] = []
    of_number: dict[int, int] = {}
    for place, (item, args) in enumerate(places_of(signature)):
        source = run.sources[place]
        if type(item) is Spec:
            remote = source.remote
            if remote is None or remote.device is not run.device:
                return
            leaves.append((place, remote.home))
        elif type(item) is str:
            numbers.append(source)
            of_number[place] = -len(numbers)
        else:
            steps.append(Step(item, place, tuple([of_number.get(at, at) for at in args]), source, 0))
    by_place = {step.place: step for step in steps}
    counted = Counter(at for step in steps for at in step.args)
    states = memo["states"]
    for step in steps:
        step.uses = counted[step.place]
        node = run.sources[step.place]
        if step.place in states:
            step.errors, step.wanted = states[step.place]
        if node.visits:
            return  # somebody names it, and its value was not kept
    for slot in signature[1]:
        by_place[slot].kept = True
    outputs_at = list(signature[1])
    known = Repeat(outputs_at[:asked], outputs_at, steps[::-1], leaves, len(run.sources))
    known._numbers = numbers
    known._device = run.device
    known._alone = type(run.device.active()) is nullcontext  # there is no other
    known._graphs = memo["graphs"]
    known._memo = memo
    known._read = known._graphs.origins
    known.made = made
    if len(repeats) >= KINDS_LIMIT:
        repeats.clear()
    ways = repeats.setdefault(outputs[0].key, [])
    ways.insert(0, known)
    del ways[WAYS_LIMIT:]


def states_of(sources: list[Any]) -> dict[int, tuple[Any, int]]:
    """By place of a node that may raise errors: the state in which it was recorded, and what of it is to be told."""
    return {
        place: (source.errors, wanted(source))
        for place, source in enumerate(sources)
        if type(source) is Node and source.errors is not None
    }


__all__ = ["Repeat", "is_queued_whole", "learn", "repeats", "states_of"]
