"""Owns what follows from a kernel record before any code is emitted: loop levels, cost, phases, what can raise.

Launching a kernel whose code is on disk needs this and none of the emitters, so nothing here imports them.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarray.ir.ops import plain_name
from lazyarray.ir.raises import raises, reduction_raises
from lazyarray.schedule.kernel import Instruction, Kernel, Reduction, Stage
from lazyarray_llvm import reduce_kinds as ops
from lazyarray_llvm.builder import COMPLEX_PARTS, is_complex, itemsize
from lazyarray_llvm.lower.values import used_values, value_codes

PARTIAL_BYTES = 32  # of one reduction's partial result: a value, and an index at the second half
VALUE_BYTES = 16
_ROW = -1  # stands for "known once per row" among the axes that a value depends on
LONG = frozenset(
    "power float_power exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh "
    "arccosh arctanh arctan2 hypot logaddexp logaddexp2 cbrt fmod remainder floor_divide gcd lcm spacing nextafter "
    "frexp_mantissa frexp_exponent ldexp modf_fraction modf_integer".split()
)


def part_size(code: str) -> int:
    """Bytes of one lane in a register."""
    return itemsize(COMPLEX_PARTS.get(code, code))


class Levels:
    """The loop level of every value of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.last = len(kernel.roles) - 1
        self._axes: dict[int, frozenset[int]] = {}
        every = frozenset(range(len(kernel.roles)))
        result = frozenset((_ROW,)) if kernel.vector_reduced else frozenset((self.last,))
        for stage in kernel.stages:
            for instruction in stage.body:
                self._axes[instruction.target] = self._depends(instruction, every)
            for reduction in stage.reductions:
                self._axes[reduction.target] = result
            if stage.scan is not None:
                self._axes[stage.scan.target] = every
            for instruction in stage.after:
                self._axes[instruction.target] = self._depends(instruction, every)

    def _depends(self, instruction: Instruction, every: frozenset[int]) -> frozenset[int]:
        if instruction.op in ("load", "gather"):
            assert isinstance(instruction.attr, int)
            steps = self.kernel.accesses[instruction.attr].steps
            moved = frozenset(axis for axis, step in enumerate(steps) if step != "0")
            return moved.union(*(self._axes[a] for a in instruction.args))
        if instruction.op == "index":
            assert isinstance(instruction.attr, int)
            return frozenset((instruction.attr,))
        if instruction.op in ("recall", "expand"):
            return every
        return frozenset().union(*(self._axes[a] for a in instruction.args))

    def of(self, value: int) -> int:
        axes = self._axes[value]
        if self.last in axes:
            return 3
        if any(axis >= 0 and self.kernel.roles[axis] == "r" for axis in axes):
            return 2
        return 1 if axes else 0


def stage_instructions(stage: Stage) -> list[Instruction]:
    return [*stage.body, *stage.after]


def merged(kernel: Kernel) -> Stage:
    """All stages of a kernel without reduction axes as one."""
    stages = kernel.stages
    return Stage(
        "full",
        tuple(i for s in stages for i in (*s.body, *s.after)),
        stores=tuple(t for s in stages for t in s.stores),
    )


def vector_registers(width: int) -> int:
    """How many registers a core has for vectors of `width` bytes."""
    return 32 if width == 64 else 16


def widest(kernel: Kernel, stages: Sequence[Stage], levels: Levels) -> int:
    """Bytes of the widest lane among the vector values of some stages."""
    sizes = [1]
    for stage in stages:
        sizes += [part_size(i.code) for i in stage_instructions(stage) if levels.of(i.target) == 3]
        sizes += [part_size(kernel.accesses[s.access].code) for s in stage.stores]
        sizes += [part_size(r.code) for r in stage.reductions if r.op != "count"]
        if stage.scan is not None:
            sizes.append(part_size(stage.scan.code))
    return max(sizes)


def cost(stages: Sequence[Stage], levels: Levels) -> int:
    """Roughly how many machine instructions one vector of the stages takes."""
    total = 0
    for stage in stages:
        for instruction in stage_instructions(stage):
            if levels.of(instruction.target) == 3 and instruction.op not in ("const", "scalar"):
                total += 30 if plain_name(instruction.op) in LONG else 3 if is_complex(instruction.code) else 1
                if instruction.op == "divide" and instruction.code[0] == "c":
                    total += 20
        total += len(stage.stores)
    return total


def counted_masks(stage: Stage) -> list[int]:
    """The masks whose true lanes are counted through the nest, each once."""
    numbers = [i.args[0] for i in stage.body if i.op == "expand"]
    numbers += [t.mask for t in stage.stores if t.packed and t.mask is not None]
    return list(dict.fromkeys(numbers))


def tree_class(reduction: Reduction, codes: dict[int, str]) -> tuple[int, bool] | None:
    """What two tree sums must share to run in one walk: the lanes of their order, and whether input is buffered."""
    code = ops.operand_code(reduction, codes[reduction.value])
    if ops.kind_of(reduction, code) != "tree":
        return None
    return ops.unit_elements(code), reduction.op == "buffered_sum"


def group_reductions(stage: Stage, codes: dict[int, str]) -> list[list[Reduction]]:
    """The reductions of a stage by walk: one per class of tree sums, the others with the first."""
    groups: dict[tuple[int, bool], list[Reduction]] = {}
    others = []
    for reduction in stage.reductions:
        found = tree_class(reduction, codes)
        if found is None:
            others.append(reduction)
        else:
            groups.setdefault(found, []).append(reduction)
    walks = list(groups.values()) or [[]]
    walks[0] = [*walks[0], *others]
    return walks


def can_split(kernel: Kernel) -> bool:
    """Whether every full stage is one walk of reductions whose partial results can be joined."""
    if not kernel.vector_reduced:
        return False
    codes = value_codes(kernel)
    for stage in kernel.stages:
        if stage.level == "row":
            continue
        if stage.scan is not None or len(group_reductions(stage, codes)) > 1:
            return False
        for r in stage.reductions:
            if ops.kind_of(r, ops.operand_code(r, codes[r.value])) in ("ordered", "stretches"):
                return False
    return True


def carries(kernel: Kernel) -> bool:
    """Whether a split kernel's tasks carry what they reduce from row to row, and leave one partial result each.

    That takes reductions whose order does not show, over rows that all belong to one result.
    """
    if "p" in kernel.roles or kernel.roles.count("r") < 2:
        return False
    codes = value_codes(kernel)
    found = [r for stage in kernel.stages for r in stage.reductions]
    return all(ops.kind_of(r, ops.operand_code(r, codes[r.value])) == "free" for r in found)


def phase_names(kernel: Kernel) -> tuple[str, ...]:
    """The functions of a split kernel in order: parts run in parallel, joins on one thread."""
    names = []
    for number, stage in enumerate(kernel.stages):
        if stage.level == "full":
            names.append(f"part{number}")
            following = kernel.stages[number + 1 : number + 2]
            if stage.reductions or any(s.level == "row" for s in following):
                names.append(f"finish{number}")
        elif number == 0:
            names.append("begin")
    return tuple(names)


def crossing(kernel: Kernel) -> list[int]:
    """Values known once per row that a later stage uses, in order."""
    levels = Levels(kernel)
    found = []
    for number, stage in enumerate(kernel.stages):
        later = {v for s in kernel.stages[number + 1 :] for v in used_values(s)}
        made = [i.target for i in (*stage.body, *stage.after)] if stage.level == "row" else []
        made += [r.target for r in stage.reductions]
        found += [v for v in made if v in later and levels.of(v) == 1]
    return found


def is_buffered(kernel: Kernel) -> bool:
    """Whether parts are NumPy's buffers instead of subtrees."""
    return any(r.op == "buffered_sum" for s in kernel.stages for r in s.reductions)


def instruction_raises(instruction: Instruction, codes: dict[int, str]) -> int:
    """The errors that an instruction can raise."""
    if instruction.op in ("load", "scalar", "const", "index", "gather", "expand", "recall"):
        return 0
    return raises(instruction.op, [codes[a] for a in instruction.args], instruction.code)


def watchable(kernel: Kernel) -> list[int]:
    """The values of a kernel that can raise anything, in order: the words of the flags of a watched kernel."""
    codes = value_codes(kernel)
    found = []
    for stage in kernel.stages:
        found += [i.target for i in (*stage.body, *stage.after) if instruction_raises(i, codes)]
        # A reduction may convert what it reduces, which can raise too.
        found += [
            r.target
            for r in stage.reductions
            if reduction_raises(r.op, r.code) or raises("cast", [codes[r.value]], r.code)
        ]
        if stage.scan is not None and reduction_raises(stage.scan.op, stage.scan.code):
            found.append(stage.scan.target)
    return found
