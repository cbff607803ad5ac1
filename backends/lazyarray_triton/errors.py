"""Owns the finding of floating-point errors: which lanes of an instruction raised what NumPy would report.

A GPU has no status to read, so a watched kernel looks at arguments and results, and leaves a word of NumPy's bits for
each value that raised something.  That would cost more than the arithmetic, so most programs only ask whether anything
came out that is not finite, of the few values that show it for all others; those where it did compute again, looking
closely.  Complex functions are judged by their results, their order by its arguments; sums and products of real numbers
by theirs and by the largest of what they add up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lazyarray.ir.raises import DIVIDE, INVALID, OVERFLOW, raises, reduction_raises
from lazyarray.schedule.kernel import Instruction, Kernel, Reduction, Scan, Stage
from lazyarray_triton.codes import PARTS, class_of, itemsize, part
from lazyarray_triton.writer import Value, Writer

_POLES = frozenset(("log", "log2", "log10", "log1p", "arctanh"))
_SILENT = frozenset(("load", "scalar", "const", "index", "gather", "expand", "recall"))
_ADDING = frozenset(("sum", "buffered_sum", "prod"))
# Operations whose errors do not follow from which values are finite, and numbers, alone.
_OWN = frozenset("cast divide floor_divide reciprocal power float_power logaddexp logaddexp2 nextafter spacing".split())
_INFINITE = 'float("inf")'
# What bits are noted with: those of a tile, and of a value that is one for all lanes.
JOINS, ADDS = "noting.join", "tl.atomic_or"


def looks(text: str) -> bool:
    """Whether a function notes errors."""
    return f"{JOINS}(" in text or f"{ADDS}(" in text


def watchable(kernel: Kernel) -> dict[int, int]:
    """The values of a kernel that are watched, each with the number of its word."""
    codes: dict[int, str] = {}
    found: dict[int, int] = {}
    for stage in kernel.stages:
        codes |= {r.target: r.code for r in stage.reductions}
        if stage.scan is not None:
            codes[stage.scan.target] = stage.scan.code
        for i in (*stage.body, *stage.after):
            codes[i.target] = i.code
            if i.op not in _SILENT and raises(i.op, [codes[a] for a in i.args], i.code):
                found[i.target] = len(found)
        for target in _sums(stage, codes):
            found[target] = len(found)
    return found


def _sums(stage: Stage, codes: Mapping[int, str]) -> list[int]:
    """The sums and products of a stage that may overflow, running ones too; not those of complex numbers."""
    folds: list[Reduction | Scan] = [*stage.reductions, *([] if stage.scan is None else [stage.scan])]
    return [
        f.target
        for f in folds
        if f.op in _ADDING and f.code[0] == "f" and codes[f.value][0] == "f" and reduction_raises(f.op, f.code)
    ]


def with_largest(kernel: Kernel) -> tuple[Kernel, dict[int, tuple[int, int]]]:
    """A kernel that also finds the largest element, by magnitude, of what each watched sum or product adds up.

    With the number of each, by the sum; and the sum itself, since of a running one the last is made too. A result that
    is not finite came of elements that were not, or overflowed.
    """
    codes: dict[int, str] = {}
    stages: list[Stage] = []
    found: dict[int, tuple[int, int]] = {}
    targets = [i.target for s in kernel.stages for i in (*s.body, *s.after)]
    targets += [r.target for s in kernel.stages for r in s.reductions]
    following = max([*targets, *[s.scan.target for s in kernel.stages if s.scan is not None]], default=0) + 1
    for stage in kernel.stages:
        codes |= {i.target: i.code for i in stage.body}
        body, more = list(stage.body), list(stage.reductions)
        for target in _sums(stage, codes):
            scan = stage.scan if stage.scan is not None and stage.scan.target == target else None
            (fold,) = [scan] if scan is not None else [r for r in stage.reductions if r.target == target]
            where = fold.where if isinstance(fold, Reduction) else None
            body.append(Instruction(following, "fabs", (fold.value,), codes[fold.value]))
            more.append(Reduction(following + 1, "max", following, codes[fold.value], where))
            found[target] = (target, following + 1)
            if scan is not None:
                more.append(Reduction(following + 2, scan.op, scan.value, scan.code))
                found[target] = (following + 2, following + 1)
            following += 3
        stages.append(stage._replace(body=tuple(body), reductions=tuple(more)))
        codes |= {r.target: r.code for r in stage.reductions} | {i.target: i.code for i in stage.after}
        if stage.scan is not None:
            codes[stage.scan.target] = stage.scan.code
    return kernel._replace(stages=tuple(stages)), found


def watch_sum(w: Writer, total: Value, largest: Value, target: int, word: str, mask: str | None) -> None:
    """Writes the look at a sum or product that was made, by the largest element of it."""
    over = f"~{_is_finite(total.ref)} & {_is_finite(largest.ref)}"
    invalid = f"{_is_nan(total.ref)} & {_is_number(largest.ref)}"
    _note(w, [f"tl.where({over}, {OVERFLOW}, 0)", f"tl.where({invalid}, {INVALID}, 0)"], target, total.axes, word, mask)


def covers(kernel: Kernel) -> dict[int, frozenset[int]]:
    """Per value the masks of `expand` that it comes from: its other lanes hold what nobody computed in NumPy."""
    found: dict[int, frozenset[int]] = {}
    for stage in kernel.stages:
        for i in (*stage.body, *stage.after):
            masks = frozenset[int]().union(*(found.get(a, frozenset()) for a in i.args))
            if i.op == "expand":
                masks |= {i.args[0]}
            if masks:
                found[i.target] = masks
    return found


def watch(
    w: Writer, instruction: Instruction, args: Sequence[Value], value: Value, word: str, mask: str | None
) -> None:
    """Writes the look at one instruction; `word` is the pointer to its bits."""
    op, allowed = instruction.op, raises(instruction.op, [a.code for a in args], instruction.code)
    axes = frozenset[str]().union(value.axes, *(a.axes for a in args))
    usual = _usual(instruction, args, value, allowed)
    if usual:
        _note(w, [w.call(*usual)], instruction.target, axes, word, mask)
        return
    terms = []
    for bit, lanes in errors(w, op, args, value):
        if bit & allowed:
            terms.append(f"tl.where({lanes}, {bit}, 0)")
    if terms:
        _note(w, terms, instruction.target, axes, word, mask)


def _usual(instruction: Instruction, args: Sequence[Value], value: Value, allowed: int) -> tuple[str, ...]:
    """The call that looks at a real operation like most: functions are compiled once, and what they say here each time.

    Nothing for other operations.
    """
    if instruction.op in _OWN or value.code[0] != "f" or not 1 <= len(args) <= 2 or not allowed & INVALID:
        return ()
    if any(a.code[0] != "f" for a in args):
        return ()
    limit = allowed & (DIVIDE if instruction.op in _POLES else OVERFLOW)
    return f"noting.{'one' if len(args) == 1 else 'two'}", value.ref, *[a.ref for a in args], str(limit)


def _note(w: Writer, terms: Sequence[str], target: int, axes: frozenset[str], word: str, mask: str | None) -> None:
    """Writes the bits that were found into a word."""
    q = f"q{target}"
    w.line(f"{q} = {' | '.join(terms)}")
    if axes:
        w.line(w.call(JOINS, f"tl.where({mask}, {q}, 0)" if mask else q, word))
        return
    guard = f"(({q} & ~tl.load({word})) != 0)"
    w.line(f'{ADDS}({word}, {q}, mask={guard}{f" & {mask}" if mask else ""}, sem="relaxed")')


def checked(kernel: Kernel, *, in_sums: bool = True) -> set[int]:
    """The watched values that are looked at in every program: what is not finite in the others shows in them.

    That holds where no extent is 0. `in_sums`: also what is not finite in what a sum adds up shows in it.
    """
    watched = watchable(kernel)
    shown: dict[int, frozenset[int]] = {}  # by value: those that it is not finite with
    codes: dict[int, str] = {}

    def within(value: int, code: str) -> frozenset[int]:
        """What shows in a value of floats that is not finite where another one is not."""
        if code[0] != "f" or codes[value][0] != "f":
            return frozenset()
        return shown.get(value, frozenset()) | {value}

    def pass_on(i: Instruction) -> None:
        codes[i.target] = i.code
        if i.op == "where":
            shown[i.target] = within(i.args[1], i.code) & within(i.args[2], i.code)
        elif i.op == "recall":
            shown[i.target] = within(int(i.attr or 0), i.code)
        elif i.op in _PASSING or i.op in ("cast", "divide"):
            passed = i.args[:1] if i.op == "divide" else i.args
            shown[i.target] = frozenset[int]().union(*[within(a, i.code) for a in passed])

    for stage in kernel.stages:
        for i in stage.body:
            pass_on(i)
        folds: list[Reduction | Scan] = [*stage.reductions, *([] if stage.scan is None else [stage.scan])]
        for f in folds:
            codes[f.target] = f.code
            if in_sums and f.op in _ADDING and getattr(f, "where", None) is None:
                shown[f.target] = within(f.value, f.code)
        for i in stage.after:
            pass_on(i)
    hidden = frozenset[int]().union(*[shown.get(value, frozenset()) for value in watched])
    return set(watched) - hidden


# What is not finite where an argument is not.
_PASSING = frozenset(
    "add subtract multiply square negative positive absolute fabs sqrt log log2 log10 log1p sin cos tan".split()
)


def suspects(instruction: Instruction, args: Sequence[Value], value: Value) -> str:
    """Lanes without which an instruction raised nothing."""
    op = instruction.op
    if op == "cast" and class_of(value.code) == "integer":
        limit = 2.0**63 if itemsize(value.code) == 8 else 2.0**31
        return f"~(tl.abs({args[0].refs[0]}{'.to(tl.float32)' if args[0].code == 'f2' else ''}) < {limit!r})"
    if class_of(value.code) == "bool":
        return _unordered(args)
    if class_of(value.code) == "integer":
        divisor = args[-1].ref
        return f"(({divisor} == 0) | ({divisor} == -1))" if args[-1].code[0] == "i" else f"({divisor} == 0)"
    found = f"~{_all(_is_finite, [value])}"
    if op.startswith("logaddexp"):
        return f"({found} | ~{_is_finite(_difference(args))})"
    if value.code in PARTS and op == "divide":
        return f"({found} | (({args[1].refs[0]} == 0) & ({args[1].refs[1]} == 0)))"
    return found


def suspicion(instruction: Instruction, args: Sequence[Value], value: Value, mask: str | None) -> str:
    """What `odd` becomes after an instruction: no number any more where that may have raised something.

    A product with zero is added, which is none of what is not finite: one instruction, where comparing and joining
    what was found takes nine.
    """
    special = instruction.op.startswith("logaddexp") or (value.code in PARTS and instruction.op == "divide")
    if special or class_of(value.code) in ("integer", "bool"):
        lanes = suspects(instruction, args, value)
        return f'tl.where({lanes}{f" & {mask}" if mask else ""}, float("nan"), odd)'
    found = "odd"
    for ref in value.refs:
        found = added(ref, PARTS.get(value.code, value.code), mask, found)
    return found


def added(ref: str, code: str, mask: str | None, odd: str) -> str:
    """What `odd` becomes after a float: it stays as it is where that is finite, or outside."""
    zero = "tl.full([], 0.0, tl.float32)"
    if code == "f8":  # the upper word tells; very large numbers are odd, too
        ref = f"({ref}.to(tl.int64, bitcast=True) >> 32).to(tl.int32).to(tl.float32, bitcast=True)"
    elif code == "f2":
        ref = f"{ref}.to(tl.float32)"
    return f"tl.fma({f'tl.where({mask}, {ref}, 0.0)' if mask else ref}, {zero}, {odd})"


def errors(w: Writer, op: str, args: Sequence[Value], value: Value) -> list[tuple[int, str]]:
    """NumPy's bits, each with the lanes that raised it."""
    if op == "cast":
        return _cast(w, args[0], value)
    if class_of(value.code) == "integer":
        return _integer(op, args)
    if class_of(value.code) == "bool":
        return [(INVALID, _unordered(args))]
    floats = [a for a in args if class_of(a.code) in ("half", "float", "complex")]
    if op in ("add", "subtract") and value.code in PARTS:
        # A part that was no number before hides nothing of the other.
        halves = [([_part(a, k) for a in args], _part(value, k)) for k in range(2)]
        return [found for given, made in halves for found in errors(w, op, given, made)]
    nan, infinite = _any(_is_nan, [value]), _any(_is_infinite, [value])
    numbers, finite = _all(_is_number, floats), _all(_is_finite, floats)
    invalid, limit = f"{nan} & {numbers}", f"{infinite} & {finite}"
    if op == "divide" and value.code in PARTS:
        (xr, xi), (yr, yi) = args[0].refs, args[1].refs
        none = f"(({yr} == 0) & ({yi} == 0))"
        poles = " | ".join(f"({_is_finite(ref)} & ({ref} != 0))" for ref in (xr, xi))
        return [
            (INVALID, f"tl.where({none}, ({xr} == 0) | ({xi} == 0), {invalid})"),
            (DIVIDE, f"{none} & ({poles})"),
            (OVERFLOW, f"~{none} & {limit}"),
        ]
    if op in ("divide", "floor_divide", "reciprocal") and value.code not in PARTS:
        divisor = args[-1].ref
        pole = f"({divisor} == 0)"
        if op == "floor_divide":
            limit = f"{infinite} & {_is_finite(args[0].ref)}"
            # Of an infinite quotient the floor is subtracted.
            invalid = invalid if value.code == "f2" else f"({invalid}) | ({limit} & ~{pole})"
        return [(INVALID, invalid), (DIVIDE, f"{limit} & {pole}"), (OVERFLOW, f"{limit} & ~{pole}")]
    if op in ("power", "float_power") and value.code not in PARTS:
        pole = f"{infinite} & ({args[0].ref} == 0)"
        if value.code == "f2":
            pole = f"{pole} & {_is_finite(args[1].ref)}"
        return [(INVALID, invalid), (DIVIDE, pole), (OVERFLOW, f"{limit} & ({args[0].ref} != 0)")]
    if op in ("logaddexp", "logaddexp2"):
        apart = _difference(args)
        return [(INVALID, nan), (OVERFLOW, f"({infinite} | {_is_infinite(apart)}) & {finite}")]
    if op in ("nextafter", "spacing"):
        limit = f"{infinite} & {_is_finite(args[0].ref)}"
        wrong = f"~{_is_finite(args[0].ref)}" if op == "spacing" and value.code == "f2" else invalid
        return [(OVERFLOW, limit), (INVALID, wrong)]
    return [(INVALID, invalid), (DIVIDE if op in _POLES else OVERFLOW, limit)]


def _cast(w: Writer, given: Value, value: Value) -> list[tuple[int, str]]:
    if class_of(value.code) != "integer":
        return [(OVERFLOW, f"{_any(_is_infinite, [value])} & {_all(_is_finite, [given])}")]
    # As NumPy's compiled casts go: small integers through int32, uint32 through int64.
    wide = value.code if itemsize(value.code) == 8 else "i8" if value.code == "u4" else "i4"
    low, high = -(2.0 ** (8 * itemsize(wide) - 1)), 2.0 ** (8 * itemsize(wide) - (wide[0] == "i"))
    ref = given.refs[0]
    whole = w.call("real.trunc", f"{ref}.to(tl.float32)" if given.code == "f2" else ref)
    return [(INVALID, f"~(({whole} >= {low!r}) & ({whole} < {high!r}))")]


def _integer(op: str, args: Sequence[Value]) -> list[tuple[int, str]]:
    divisor = args[-1]
    zero = f"({divisor.ref} == 0)"
    if op == "reciprocal":
        return [(DIVIDE, zero), (INVALID, zero)]
    if op != "floor_divide" or divisor.code[0] != "i":
        return [(DIVIDE, zero)]
    smallest = f"({args[0].ref} == {-(1 << 8 * itemsize(divisor.code) - 1)})"
    return [(DIVIDE, zero), (OVERFLOW, f"{smallest} & ({divisor.ref} == -1)")]


def _part(value: Value, k: int) -> Value:
    """The real or the imaginary part of a value; a real one has no second."""
    return Value(value.refs[k : k + 1], part(value.code), value.axes)


def _unordered(args: Sequence[Value]) -> str:
    """Where NumPy asks which of two parts that are no numbers is larger: complex numbers are ordered by their real
    parts, and by their imaginary ones where these are equal. No other truth is watched."""
    (xr, xi), (yr, yi) = args[0].refs, args[1].refs
    return f"({_is_nan(xr)} | {_is_nan(yr)} | (({xr} == {yr}) & ({_is_nan(xi)} | {_is_nan(yi)})))"


def _difference(args: Sequence[Value]) -> str:
    """As `logaddexp` forms it: half floats in float32."""
    return f"({' - '.join(f'{a.ref}.to(tl.float32)' if a.code == 'f2' else a.ref for a in args)})"


def _is_nan(ref: str) -> str:
    return f"({ref} != {ref})"


def _is_number(ref: str) -> str:
    return f"({ref} == {ref})"


def _is_infinite(ref: str) -> str:
    return f"(tl.abs({ref}) == {_INFINITE})"


def _is_finite(ref: str) -> str:
    return f"(tl.abs({ref}) < {_INFINITE})"


def _any(test: Callable[[str], str], values: Sequence[Value]) -> str:
    return "(" + " | ".join(test(ref) for value in values for ref in value.refs) + ")"


def _all(test: Callable[[str], str], values: Sequence[Value]) -> str:
    refs = [ref for value in values for ref in value.refs]
    return "(" + " & ".join(test(ref) for ref in refs) + ")" if refs else "True"
