"""Owns fusion: which entries of an expression share a loop nest.

Roots are the entries that get a place of their own in some nest: what must be in memory, and every reduction.  All
others are computed inside the nests that need them.  Roots are placed in recorded order, each into the latest group
that can take it (same loops, nothing it needs comes later), else into a group of its own; and whatever turns out to
be needed in memory, or too dear to compute again, becomes a root in the next round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from lazyarray.ir.expression import Entry, Expression
from lazyarray.ir.index_map import c_strides, size_of, split
from lazyarray.ir.ops import EXPENSIVE, OPS, REDUCTIONS
from lazyarray.passes.views import is_whole_reshape
from lazyarray.schedule import reasons, streams
from lazyarray.schedule.demand import Domain, Forms, Materialise, Misaligned, Puller, Straddles
from lazyarray.schedule.order import inner_run, memory_order, nest_order
from lazyarray.schedule.overlap import must_copy, reads_what_it_writes

# Kinds that no other root joins, but for selections by one mask.
ALONE: Final = frozenset({"call", "scatter", "empty", "update", "scan", "compress", "expand"})
IN_ORDER: Final = frozenset({"scatter", "update", "compress", "expand"})  # kinds whose nests may count elements
FEWEST_ROWS: Final = 8  # rows from which one task per row occupies the workers
MOST_DEMANDS: Final = 192  # entries computed in one nest: bounds compile time
LONGEST_BODY: Final = 500  # cost of the operations of one nest, in additions: bounds compile time
FEWEST_AGAIN: Final = 1.5  # times from which a value is computed again (pieces of a nest overlap a little)
SERIAL_BODY: Final = 24  # cost of the operations that run in the shadow of a scan's chain of dependent steps
CANDIDATES: Final = 12  # groups that a root tries to join, latest first


class Cut(Exception):
    """Roots whose nests cross the wrap of a rolled array, with the places at which to cut them."""

    def __init__(self, roots: dict[int, dict[int, set[int]]]) -> None:
        super().__init__(roots)
        self.roots = roots


@dataclass
class Group:
    """Roots that share a nest: its domain, loop order, and the forms under which roots are used inside it."""

    domain: Domain
    sequence: tuple[int, ...]  # the domain's axes as the operand lies in memory, outermost first
    roots: list[int] = field(default_factory=list)
    inside: dict[int, Forms] = field(default_factory=dict)
    puller: Puller | None = None
    alone: bool = False
    staged: bool = False  # some full-level value depends on a reduction of the group

    copies: bool = False  # an update that must leave the old value as it is
    reduces: bool = False  # some root is a reduction or a scan (possibly over no axes, or only axes of extent 1)

    @property
    def order(self) -> tuple[int, ...]:
        """The domain's axes as loops, outermost first."""
        return nest_order(self.sequence, self.domain)


class Fusion:
    """The fusion groups of one expression, in an order in which they can run."""

    def __init__(self, expression: Expression) -> None:
        self.entries = expression.entries
        self.outputs = frozenset(expression.outputs)
        # Why each root that nobody asked for gets memory; why each group is a nest of its own, and not part of which.
        self.why: dict[int, str] = {}
        self.narrow: set[int] = set()  # roots at which nests were cut that read too much at once
        self.roots = self.first_roots()
        while True:
            self.groups: list[Group] = []
            self.apart: dict[int, tuple[int, str]] = {}
            self.place: dict[int, int] = {}
            # What roots read, by the loops that they run in (see `read_alone`).
            self.reads: dict[tuple[int, Domain, tuple[int, ...], Forms], set[int] | None] = {}
            missing: set[int] = set()
            straddling: dict[int, dict[int, set[int]]] = {}
            for root in sorted(self.roots):
                self.place_root(root, missing, straddling)
            if missing:
                assert missing.isdisjoint(self.roots), missing  # else this would never end
                self.roots |= missing
                continue
            if straddling:
                raise Cut(straddling)
            dear = self.too_dear()
            long = set() if dear else self.too_long()
            cuts = dear or long or self.too_wide()
            if not cuts:
                break
            self.why |= dict.fromkeys(cuts, reasons.DEAR if dear else reasons.TOO_LONG if long else reasons.TOO_WIDE)
            self.roots |= cuts

    def first_roots(self) -> set[int]:
        """Outputs, reductions, what library calls read and write."""
        roots = {o for o in self.outputs if self.entries[o].kind not in ("leaf", "scalar")}
        for position, entry in enumerate(self.entries):
            if entry.kind == "reduce" or (entry.kind in ALONE and entry.kind != "expand"):
                roots.add(position)
            if entry.kind == "call":
                for arg in entry.args:
                    behind = self.memory_behind(arg)
                    if behind is not None:
                        roots.add(behind)
                        self.why[behind] = f"the library call {entry.attr.name} reads it"
            if entry.kind in ("update", "scatter", "gather"):
                needed = self.gathered_from(entry.args[0]) if entry.kind == "gather" else entry.args[0]
                if self.entries[needed].kind != "leaf":
                    roots.add(needed)
                    self.why[needed] = f"{reasons.NOUNS.get(entry.kind, entry.kind)} needs it in memory"
        return roots

    def gathered_from(self, position: int) -> int:
        """The entry that must be in memory for a gather to read `position`: what that views all of, or in memory."""
        entry = self.entries[position]
        if entry.kind == "view":
            source = self.entries[entry.args[0]]
            if source.kind == "leaf" or size_of(entry.shape) >= size_of(source.shape):
                return entry.args[0]
        return position

    def memory_behind(self, position: int) -> int | None:
        """The entry that must be in memory for a library call to see `position` (through at most one view)."""
        entry = self.entries[position]
        if entry.kind == "view":
            position = entry.args[0]
            entry = self.entries[position]
        return None if entry.kind in ("leaf", "scalar") else position

    # -- placing ---------------------------------------------------------------------------------------------------
    def place_root(self, root: int, missing: set[int], straddling: dict[int, dict[int, set[int]]]) -> None:
        """Puts the root into a group; what it misses in memory, or where its nest must be cut, is noted."""
        kind = self.entries[root].kind
        refused: tuple[int, str] | None = None
        joins = self.join_selection if kind == "compress" else self.join
        own = kind in ALONE or self.reshaped(root) is not None
        if kind == "compress" or not own:
            lowest = max(0, len(self.groups) - CANDIDATES)
            for number in range(len(self.groups) - 1, lowest - 1, -1):
                reason = joins(root, number)
                if reason is None:
                    return
                if reason != reasons.APART and refused is None:
                    refused = number, reason
        if own and refused is None and self.groups:
            refused = len(self.groups) - 1, f"{reasons.NOUNS.get(kind, kind)} runs in a nest of its own"
        if refused is not None:
            self.apart[len(self.groups)] = refused
        try:
            group = self.alone(root)
        except Materialise as needed:
            missing.add(needed.entry)
            self.why[needed.entry] = needed.reason
            group = Group(self.domain_of(root), (), [root], alone=True)
        except Straddles as straddles:
            straddling[root] = straddles.breaks
            group = Group(self.domain_of(root), (), [root], alone=True)
        self.groups.append(group)
        self.place[root] = len(self.groups) - 1

    def alone(self, root: int) -> Group:
        """A new group of one root. Raises Materialise where an argument must be in memory first."""
        entry = self.entries[root]
        domain = self.domain_of(root)
        sequence, reason = self.sequence_of(root, domain)
        if reason is not None:
            raise Materialise(reason, reasons.SUMMED)
        reshaped = self.reshaped(root) is not None
        group = Group(domain, sequence, [root], {}, None, entry.kind in ALONE or reshaped)
        group.reduces = entry.kind in ("reduce", "scan")
        group.inside[root] = self.forms_of(root, domain)
        if entry.kind not in ("call", "empty"):
            try:
                group.puller = self.pull(group, len(self.groups))
            except Straddles as straddles:
                if reshaped or not can_be_cut(entry) or reads_what_it_writes(self.entries, self.roots, entry):
                    raise Materialise(straddles.entry, reasons.WRAPPED) from None
                raise
        if entry.kind in ("update", "scatter"):
            assert group.puller is not None
            group.copies = must_copy(self.entries, self.roots, entry, group.puller)
        return group

    def join(self, root: int, number: int) -> str | None:
        """Adds the root to the group if loops, alignment and order of running allow it; else says why not."""
        group = self.groups[number]
        entry = self.entries[root]
        domain = group.domain
        wanted = self.domain_of(root)
        if group.puller is None:
            return reasons.APART
        if group.alone and not (self.scans(group) and entry.kind == "map" and wanted.shape == domain.shape):
            return reasons.FULL
        row_level = False
        sequence = group.sequence
        if entry.kind == "reduce":
            if wanted.shape != domain.shape:
                return reasons.OTHER_LOOPS
            if group.reduces and wanted.reduced != domain.reduced:
                return reasons.OTHER_AXES
            sequence, reason = self.sequence_of(root, wanted)
            if reason is not None or (group.reduces and sequence != group.sequence):
                return reasons.SUMMED
            if not self.same_runs(entry, group):
                return reasons.SUMMED
            domain = wanted
        elif wanted.shape != domain.shape:
            if not domain.reduced or domain.row(wanted.shape) is None:
                return reasons.OTHER_LOOPS
            row_level = True
        trial = Group(domain, sequence, [*group.roots, root], dict(group.inside), None, group.alone, group.staged)
        trial.reduces = group.reduces or entry.kind == "reduce"
        trial.inside[root] = self.forms_of(root, domain)
        if row_level:
            row = domain.row(wanted.shape)
            assert row is not None
            trial.inside[root] = row
        inner = self.met(group, trial, root)
        if isinstance(inner, str):
            return inner
        return self.admit(trial, root, number, lambda: self.worth(group, trial, inner, row_level))

    def join_selection(self, root: int, number: int) -> str | None:
        """Adds a selection to a nest of others by the same mask, which is counted once; else says why not."""
        group, entry = self.groups[number], self.entries[root]
        if group.puller is None or any(not selects_alike(self.entries[other], entry) for other in group.roots):
            return reasons.APART
        trial = Group(group.domain, group.sequence, [*group.roots, root], dict(group.inside), None, True)
        trial.inside[root] = self.forms_of(root, group.domain)
        return self.admit(trial, root, number, lambda: None)

    def admit(self, trial: Group, root: int, number: int, worth: Callable[[], str | None]) -> str | None:
        """Puts the trial in the place of group `number` if it can run there and is `worth` it; else says why not."""
        try:
            trial.puller = self.pull(trial, number)
        except Misaligned:
            return reasons.ELSEWHERE
        except (Materialise, Straddles):
            return reasons.NOT_YET
        if len(trial.puller.demands) > MOST_DEMANDS or self.body_cost(trial) > LONGEST_BODY:
            return reasons.TOO_LONG
        if not self.narrow.isdisjoint(trial.roots) and streams.reads_much(trial.domain.shape, trial.puller.loads):
            return reasons.TOO_WIDE
        refused = worth()
        if refused is None:
            self.groups[number] = trial
            self.place[root] = number
        return refused

    def met(self, group: Group, trial: Group, root: int) -> set[int] | str:
        """The roots of the group that the root reads in the trial, where one nest reads something once for both.

        Else says why not.
        """
        assert group.puller is not None
        key = (root, trial.domain, trial.order, trial.inside[root])
        if key not in self.reads:
            self.reads[key] = self.read_alone(trial, root)
        used = self.reads[key]
        if used is None:
            return reasons.NOT_YET
        inner = used.intersection(group.roots)
        if not inner and not any(slot in used for slot, _ in group.puller.loads):
            return reasons.APART
        return inner

    def read_alone(self, trial: Group, root: int) -> set[int] | None:
        """The memory that the root reads in loops as those of the trial; None where it cannot run in them."""
        alone = Puller(self.entries, trial.domain, lambda p: p != root and self.is_memory(p), {}, trial.order)
        try:
            self.start(alone, root, trial)
            alone.run()
        except (Misaligned, Materialise, Straddles):
            return None
        return {slot for slot, _ in alone.loads}

    def worth(self, group: Group, trial: Group, inner: set[int], row_level: bool) -> str | None:
        """None when a joined nest runs as fast as two, and its rows stay in cache; else says why not."""
        assert trial.puller is not None
        if self.scans(group) and (not inner or (self.is_serial(group) and self.body_cost(trial) > SERIAL_BODY)):
            return reasons.SERIAL
        whole = trial.domain.whole()
        if not row_level and any(trial.inside[r] != whole for r in inner):
            trial.staged = True
        if self.has_order(trial) and not self.is_flat(trial.puller, trial):
            return reasons.SUMMED
        return None if not trial.staged or self.stages_fit(trial) else reasons.LONG_ROWS

    def scans(self, group: Group) -> bool:
        return self.entries[group.roots[0]].kind == "scan"

    def is_serial(self, group: Group) -> bool:
        """True when a nest that steps along its reduced axes has too few rows to occupy the workers."""
        shape, reduced = group.domain
        return size_of(tuple(n for a, n in enumerate(shape) if a not in reduced)) < FEWEST_ROWS

    def stages_fit(self, group: Group) -> bool:
        """True when one task can run all stages over a row that stays in cache."""
        shape, reduced = group.domain
        row = size_of(tuple(shape[a] for a in reduced))
        rows = size_of(shape) // max(row, 1)
        if not group.order or group.order[-1] not in reduced:
            return False
        return row <= reasons.LONGEST_ROW and (rows >= FEWEST_ROWS or size_of(shape) <= reasons.LONGEST_ROW)

    def pull(self, group: Group, number: int) -> Puller:
        """The demands of the group if it ran as group `number`. Misaligned where something it loads comes later."""
        puller = Puller(
            self.entries,
            group.domain,
            self.is_memory,
            group.inside,
            group.order,
        )
        puller.counts = self.entries[group.roots[0]].kind in IN_ORDER
        for root in group.roots:
            self.start(puller, root, group)
        puller.run()
        for slot in (*(slot for slot, _ in puller.loads), *puller.gathered):
            if slot in self.place and self.place[slot] >= number:
                raise Misaligned
        return puller

    def is_memory(self, position: int) -> bool:
        return self.entries[position].kind == "leaf" or position in self.roots

    def start(self, puller: Puller, root: int, group: Group) -> None:
        """Pulls the arguments of a root at the point that the nest is at."""
        entry = self.entries[root]
        whole = group.domain.whole()
        if entry.kind in ("reduce", "scan"):
            puller.want(entry.args[0], whole)
            rest = list(entry.args[1:])
            if entry.kind == "reduce" and entry.attr[2]:
                puller.want(rest[0], puller.broadcast(whole, self.entries[rest.pop(0)].shape))
            for arg in rest:
                puller.want(arg, ())
        elif entry.kind == "update":
            for arg in entry.args[1:]:
                puller.want(arg, puller.broadcast(whole, self.entries[arg].shape))
        elif entry.kind == "compress":
            for arg in entry.args:
                puller.want(arg, puller.broadcast(whole, self.entries[arg].shape))
        elif entry.kind == "scatter":
            puller.want(entry.args[1], whole)
            puller.want_indices(entry.args[2:], entry.attr[1], whole)
        else:
            puller.expand(root, group.inside[root])

    # -- domains ---------------------------------------------------------------------------------------------------
    def domain_of(self, root: int) -> Domain:
        entry = self.entries[root]
        if entry.kind == "reduce":
            return Domain(self.entries[entry.args[0]].shape, tuple(sorted(entry.attr[1])))
        if entry.kind == "scan":
            return Domain(entry.shape, (entry.attr[1],))
        if entry.kind == "update":
            return Domain(entry.attr[1], ())
        if entry.kind == "scatter":
            return Domain(self.entries[entry.args[1]].shape, ())
        if entry.kind == "compress":
            return Domain(entry.attr, ())
        if self.reshaped(root) is not None:
            return Domain(self.entries[entry.args[0]].shape, ())
        return Domain(entry.shape, ())

    def reshaped(self, root: int) -> Forms | None:
        """Of a root that is a reshape of what is computed for it alone: its axes by the loops that compute that."""
        entry = self.entries[root]
        if entry.kind != "view" or self.is_memory(entry.args[0]):
            return None
        source = self.entries[entry.args[0]]
        if source.kind != "map" or not is_whole_reshape(entry, source.shape):
            return None
        return split(0, c_strides(source.shape), source.shape, entry.shape)

    def forms_of(self, root: int, domain: Domain) -> Forms:
        """The forms under which consumers in the same nest may use the root."""
        if self.entries[root].kind == "reduce":
            row = domain.row(self.entries[root].shape)
            assert row is not None
            return row
        reshaped = self.reshaped(root)
        return domain.whole() if reshaped is None else reshaped

    def sequence_of(self, root: int, domain: Domain) -> tuple[tuple[int, ...], int | None]:
        """The axes in the order that gives NumPy's bits; or the entry that must be materialised for that.

        NumPy walks the operand of a reduction in memory order: all temporaries are dense, so only a view taken
        directly of memory has another order than C (docs/reduction-order.md).
        """
        axes = tuple(range(len(domain.shape)))
        entry = self.entries[root]
        if entry.kind == "reduce":
            operand = self.entries[entry.args[0]]
            if operand.kind == "view" and entry.args[0] not in self.roots and is_ordered(entry):
                strides = operand.attr[1]
                axes = memory_order(domain.shape, strides)
            if needs_one_run(entry) and not self.runs_merge(entry.args[0], domain, axes):
                return axes, entry.args[0]
        return axes, None

    def runs_merge(self, operand: int, domain: Domain, axes: tuple[int, ...]) -> bool:
        """True when the innermost reduced axes are one run in the operand's memory (see `docs/reduction-order.md`).

        Other walks of the same nest are checked when the axes are merged (`nest.py`); they only matter if there is
        more than one axis in the run.
        """
        run = inner_run(axes, domain)
        if len(run) < 2 or size_of(domain.shape) == 0:
            return True
        entry = self.entries[operand]
        if operand in self.roots:
            return True
        strides = entry.attr[1] if entry.kind == "view" else c_strides(entry.shape)
        lies = entry.kind == "leaf" or (entry.kind == "view" and self.is_memory(entry.args[0]))
        return all(strides[a] == strides[b] * domain.shape[b] for a, b in pairwise(run)) and (
            lies or self.operand_is_flat(operand, domain)
        )

    def operand_is_flat(self, operand: int, domain: Domain) -> bool:
        """True when everything the operand is computed from is dense over the run, so that its axes merge."""
        group = Group(domain, tuple(range(len(domain.shape))))
        try:
            puller = Puller(self.entries, domain, self.is_memory, {}, group.order)
            puller.want(operand, domain.whole())
            puller.run()
        except (Misaligned, Materialise, Straddles):
            return False
        return self.is_flat(puller, group)

    def same_runs(self, entry: Entry, group: Group) -> bool:
        """True when the sums of the group cut rows into the same runs as this one (a kernel has one way)."""
        sums = {self.entries[r].attr[0] for r in group.roots if self.entries[r].kind == "reduce"}
        return not {"sum", "buffered_sum"} <= {entry.attr[0], *sums}

    def has_order(self, group: Group) -> bool:
        """True when the bits of some reduction of the group depend on its innermost axes being one run."""
        return any(needs_one_run(self.entries[r]) for r in group.roots if self.entries[r].kind == "reduce")

    def is_flat(self, puller: Puller, group: Group) -> bool:
        """True when all walks of the nest step evenly over the innermost reduced axes."""
        domain = group.domain
        run = inner_run(group.sequence, domain)
        walks = [flat[1] for _, flat in puller.loads]
        for position, demanded in puller.demands.items():
            if self.entries[position].kind in ("iota", "gather"):
                walks += [form[1] for forms in demanded for form in forms]
        return all(walk[a] == walk[b] * domain.shape[b] for walk in walks for a, b in pairwise(run))

    # -- what is too dear to compute again -------------------------------------------------------------------------
    def times(self) -> dict[int, float]:
        """How often each entry that is not memory is computed, over all groups."""
        times: dict[int, float] = {}
        for group in self.groups:
            if group.puller is not None:
                loops = size_of(group.domain.shape)
                for position, forms in group.puller.demands.items():
                    entry = self.entries[position]
                    if entry.kind in ("map", "gather"):
                        # A piece of a nest computes its piece of the value.
                        share = min(1.0, loops / max(1, size_of(entry.shape)))
                        times[position] = times.get(position, 0.0) + share * len(forms)
        return times

    def too_dear(self) -> set[int]:
        """Entries computed three times, or twice if they are expensive: they become roots."""
        times = self.times()
        return {p for p, n in times.items() if n > 2.01 or (n > FEWEST_AGAIN and cost_of(self.entries[p]) >= EXPENSIVE)}

    def body_cost(self, group: Group) -> int:
        """Cost of what a nest computes for one element."""
        assert group.puller is not None
        return self.cost_of_all(group.puller, (*group.puller.demands, *group.roots))

    def cost_of_all(self, puller: Puller, positions: Iterable[int]) -> int:
        """Cost of one element of these values of a nest, each at all the points at which it is wanted."""
        return sum(cost_of(self.entries[p]) * len(puller.demands.get(p, (None,))) for p in positions)

    def too_long(self) -> set[int]:
        """Entries at which nests are cut that would take long to compile: from the inputs' side, so that a loop of
        the program yields the same kernels again and again."""
        return self.cuts_of(
            lambda group, puller: self.body_cost(group) > LONGEST_BODY,
            lambda puller, left, _: self.frontier(puller, left),
        )

    def too_wide(self) -> set[int]:
        """Entries at which nests are cut that read too much of memory at once, again from the inputs' side."""
        cuts = self.cuts_of(
            lambda group, puller: streams.reads_much(group.domain.shape, puller.loads),
            lambda puller, left, cuts: streams.narrow_place(
                self.entries, self.computed(left), self.roots, lambda p: p in cuts or self.is_memory(p)
            ),
        )
        self.narrow |= cuts
        return cuts

    def cuts_of(
        self,
        is_too_much: Callable[[Group, Puller], bool],
        place: Callable[[Puller, list[int], set[int]], set[int]],
    ) -> set[int]:
        """Entries at which nests are cut, each as often as `place` finds one in what is left of it after the others."""
        all_cuts: set[int] = set()
        for group in self.groups:
            puller = group.puller
            if puller is not None and is_too_much(group, puller):
                cuts: set[int] = set()
                while found := place(puller, self.left_of(group, puller, cuts), cuts):
                    cuts |= found
                all_cuts |= cuts
        return all_cuts

    def left_of(self, group: Group, puller: Puller, cuts: set[int]) -> list[int]:
        """What a nest computes where `cuts` are memory, in recorded order."""
        wanted = set(group.roots)
        left = []
        for position in sorted({*puller.demands, *group.roots}, reverse=True):
            if position in wanted and position not in cuts:
                wanted.update(self.entries[position].args)
                left.append(position)
        return left[::-1]

    def computed(self, positions: Iterable[int]) -> list[int]:
        """The elementwise operations among the positions."""
        return [p for p in positions if self.entries[p].kind == "map"]

    def frontier(self, puller: Puller, left: list[int]) -> set[int]:
        """All values that cross one place in what is `left` of a body, in its second half before the bound.

        Where they are fewest; none where it is not too long any more.
        """
        if self.cost_of_all(puller, left) <= LONGEST_BODY:
            return set()
        computed = self.computed(left)
        last_use: dict[int, int] = {}
        for position in left:
            for arg in self.entries[position].args:
                last_use[arg] = position
        total = 0
        best: set[int] = set()
        for place in computed:
            total += self.cost_of_all(puller, (place,))
            if total > LONGEST_BODY:
                break
            if total >= LONGEST_BODY // 2:
                crossing = {p for p in computed if p <= place < last_use.get(p, 0)} - self.roots
                if crossing and (not best or len(crossing) <= len(best)):
                    best = crossing
        return best


def selects_alike(one: Entry, other: Entry) -> bool:
    """Whether both are selections by the same mask from what it is broadcast to."""
    alike = one.kind == other.kind == "compress" and one.attr == other.attr
    return alike and one.args[0] == other.args[0]


def is_ordered(entry: Entry) -> bool:
    """True for a reduction whose bits depend on the order in which it takes its elements."""
    return REDUCTIONS[entry.attr[0]].ordered and entry.code[0] in "fc"


def needs_one_run(entry: Entry) -> bool:
    """True for a reduction whose innermost axes must be one run: for its bits, or to count places along it."""
    return is_ordered(entry) or entry.attr[0] in ("argmin", "argmax")


def can_be_cut(entry: Entry) -> bool:
    """True for roots whose nest may run piece by piece over its domain."""
    return entry.kind in ("map", "view", "roll", "gather") or (entry.kind == "update" and not entry.attr[3])


def cost_of(entry: Entry) -> int:
    """Cost of one element, in additions."""
    if entry.kind == "gather":
        return EXPENSIVE
    return OPS[entry.attr[0]].cost if entry.kind == "map" and entry.attr[0] in OPS else 1
