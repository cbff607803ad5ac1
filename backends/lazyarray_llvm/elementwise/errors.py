"""Owns the predicates of floating-point errors: which lanes of an operation raised what NumPy would report.

By parts: an operation that is computed by NumPy's own formula raises what its additions, products, quotients and
conversions raise by IEEE 754, each looked at as it is emitted.  By result: for a function that is computed in another
way than NumPy does, what its value says about its arguments.  By status: functions of complex numbers are C's, as in
NumPy, and what they raise only the CPU's status register knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from lazyarray.ir.raises import DIVIDE, INVALID, OVERFLOW

from ..builder import AnyValue, Builder, Complex, Value, is_complex, is_float, itemsize
from .casts import truth, widen
from .comparison import isfinite, isinf, isnan

Note = Callable[[int, Value], None]

_BY_PARTS = frozenset(("add", "subtract", "multiply", "divide", "square", "reciprocal", "sqrt", "degrees", "rad2deg"))
_COMPLEX_BY_PARTS = frozenset(("add", "subtract", "multiply", "divide", "square", "reciprocal"))
_ORDERINGS = frozenset(("less", "less_equal", "greater", "greater_equal"))
_POLES = frozenset(("log", "log2", "log10", "log1p", "arctanh"))
_INTEGER_DIVISIONS = frozenset(("floor_divide", "remainder", "fmod", "reciprocal"))


def raises_by_parts(op: str, codes: Sequence[str]) -> bool:
    """Whether the parts of an operation tell its errors."""
    if op == "cast":
        return True
    if any(is_complex(code) for code in codes):
        return op in _COMPLEX_BY_PARTS
    return is_float(codes[0]) and op in _BY_PARTS


def raises_by_status(op: str, codes: Sequence[str]) -> bool:
    """Whether the CPU's status register after an operation tells its errors, and little else does."""
    known = op in _COMPLEX_BY_PARTS or op in _ORDERINGS or op == "cast"
    return not known and any(is_complex(code) for code in codes)


# Operations whose result is not finite where one of so many first operands is not.
_CARRIES: Final = {"add": 2, "subtract": 2, "multiply": 2, "divide": 1, "square": 1, "sqrt": 1}


def has_suspects(op: str, code: str) -> bool:
    """Whether there is a test by which lanes of an operation raised nothing (`suspects`)."""
    if code[0] in "iu":
        return op == "cast" or op in _INTEGER_DIVISIONS
    hidden = op.startswith("logaddexp") or (is_complex(code) and op in ("divide", "reciprocal"))
    return (is_float(code) or is_complex(code)) and not hidden


def suspects(b: Builder, op: str, args: Sequence[AnyValue], result: AnyValue) -> Value:
    """Lanes without which an operation that has such a test raised nothing, by one or two instructions.

    Numbers that come out finite raised nothing, with few exceptions.
    """
    if op in _INTEGER_DIVISIONS and result.code[0] in "iu":
        divisor = args[-1]
        assert isinstance(divisor, Value)
        return b.of_number(divisor, "suspect", lambda y: _suspect_divisor(b, y))
    if op == "cast" and result.code[0] in "iu":
        # Within these limits every conversion fits that NumPy makes on the way.
        limit = 2.0**63 if itemsize(result.code) == 8 else 2.0**31
        sizes = [b.intrinsic("fabs", [widen(b, part) if part.code == "f2" else part]) for part in _parts(args)]
        return b.not_(b.quiet("olt", sizes[0], b.like(sizes[0], limit)))
    return _any(b, _not_finite, [result])


def _suspect_divisor(b: Builder, y: Value) -> Value:
    """0, and -1, by which the smallest number has no quotient."""
    zero = b.compare("eq", y, b.like(y, 0))
    return b.or_(zero, b.compare("eq", y, b.like(y, -1))) if y.code[0] == "i" else zero


def carried(op: str, args: Sequence[AnyValue], code: str) -> int:
    """How many first operands of a real operation are finite wherever its result is."""
    return _CARRIES.get(op, 0) if is_float(code) and all([a.code == code for a in args]) else 0


def leaves_no_mark(op: str, codes: Sequence[str]) -> bool:
    """Whether an operation can raise an error of which the CPU's status register says nothing."""
    if any(is_complex(code) for code in codes):
        return False
    if is_float(codes[0]):
        # Integer work on the bits; differences that float32 cannot hold are formed in double.
        return op in ("nextafter", "spacing") or (op.startswith("logaddexp") and codes[0] == "f4")
    return op in _INTEGER_DIVISIONS


@contextmanager
def observed(b: Builder, note: Note) -> Iterator[None]:
    """Looks at every instruction emitted meanwhile that can raise."""

    def look(instruction: str, arguments: Sequence[Value], result: Value) -> None:
        b.observer = None
        for bit, mask in part_errors(b, instruction, arguments, result):
            note(bit, mask)
        b.observer = look

    b.observer = look
    try:
        yield
    finally:
        b.observer = None


def part_errors(b: Builder, instruction: str, args: Sequence[Value], result: Value) -> list[tuple[int, Value]]:
    """What one instruction raised, by IEEE 754."""
    if instruction in ("fptosi", "fptoui"):
        return [(INVALID, _out_of_range(b, args[0], result.code, signed=instruction == "fptosi"))]
    if instruction == "fptrunc":
        return [(OVERFLOW, b.and_(isinf(b, result), isfinite(b, args[0])))]
    if instruction == "fcmp":
        return [(INVALID, _any(b, isnan, args))]
    invalid = (INVALID, b.and_(isnan(b, result), b.not_(_any(b, isnan, args))))
    if instruction in ("sqrt", "frem"):
        return [invalid]
    infinite = b.and_(isinf(b, result), b.not_(_any(b, _not_finite, args)))
    if instruction != "fdiv":
        return [invalid, (OVERFLOW, infinite)]
    pole = b.compare("oeq", args[1], b.like(args[1], 0.0))
    return [invalid, (DIVIDE, b.and_(infinite, pole)), (OVERFLOW, b.and_(infinite, b.not_(pole)))]


def _out_of_range(b: Builder, value: Value, code: str, *, signed: bool) -> Value:
    limit = 2.0 ** (8 * itemsize(code) - (1 if signed else 0))
    whole = b.intrinsic("trunc", [value])
    low = -limit if signed else 0.0
    fits = b.and_(b.compare("oge", whole, b.like(value, low)), b.compare("olt", whole, b.like(value, limit)))
    return b.not_(fits)


def _not_finite(b: Builder, x: Value) -> Value:
    if not is_float(x.code):
        return b.const("b1", False, x.lanes)
    if x.code == "f2":
        bits = b.bitcast(x, "u2")
        return b.compare("eq", b.and_(bits, b.like(bits, 0x7C00)), b.like(bits, 0x7C00))
    return b.compare("ueq", b.intrinsic("fabs", [x]), b.like(x, float("inf")))


def _parts(values: Sequence[AnyValue]) -> list[Value]:
    found: list[Value] = []
    for value in values:
        found += [value.re, value.im] if isinstance(value, Complex) else [value]
    return found


def _any(b: Builder, test: Callable[[Builder, Value], Value], values: Sequence[AnyValue]) -> Value:
    """Per lane: is it true of any part of any value."""
    parts = _parts(values)
    found = test(b, parts[0])
    for part in parts[1:]:
        found = b.or_(found, test(b, part))
    return found


def result_errors(b: Builder, op: str, args: Sequence[AnyValue], result: AnyValue) -> list[tuple[int, Value]]:
    """What an operation raised, by its arguments and result."""
    if op in _ORDERINGS:
        return _ordering(b, args)
    if not (is_float(result.code) or is_complex(result.code)):
        return _integer_errors(b, op, [a for a in args if isinstance(a, Value)])
    if op in _RULES and isinstance(result, Value):
        rule = _float_power if op == "power" and result.code == "f2" else _RULES[op]
        return rule(b, [a for a in args if isinstance(a, Value)], result)
    nan, infinite = _any(b, isnan, [result]), _any(b, isinf, [result])
    invalid = b.and_(nan, b.not_(_any(b, isnan, args)))
    limit = b.and_(infinite, b.not_(_any(b, _not_finite, args)))
    return [(INVALID, invalid), (DIVIDE if op in _POLES else OVERFLOW, limit)]


def _ordering(b: Builder, args: Sequence[AnyValue]) -> list[tuple[int, Value]]:
    """Complex numbers: real parts are always compared, imaginary parts where those are equal."""
    x, y = args
    assert isinstance(x, Complex)
    assert isinstance(y, Complex)
    tied = b.and_(b.compare("oeq", x.re, y.re), b.compare("uno", x.im, y.im))
    return [(INVALID, b.or_(b.compare("uno", x.re, y.re), tied))]


def zero_divisor(b: Builder, op: str, args: Sequence[AnyValue]) -> tuple[Value, list[tuple[int, Value]]] | None:
    """Lanes of a complex quotient in which the parts of Smith's algorithm do not count, and what these lanes raise."""
    if op != "divide" or not isinstance(args[0], Complex):
        return None
    x, y = args
    assert isinstance(x, Complex)
    assert isinstance(y, Complex)
    zero = b.like(y.re, 0.0)
    none = b.and_(b.compare("oeq", y.re, zero), b.compare("oeq", y.im, zero))
    zeros = [b.compare("oeq", part, zero) for part in (x.re, x.im)]
    poles = [b.and_(isfinite(b, part), b.not_(is_zero)) for part, is_zero in zip((x.re, x.im), zeros, strict=True)]
    return none, [(INVALID, b.and_(none, b.or_(*zeros))), (DIVIDE, b.and_(none, b.or_(*poles)))]


def _integer_errors(b: Builder, op: str, args: Sequence[Value]) -> list[tuple[int, Value]]:
    divisor = args[-1]
    by_zero = b.compare("eq", divisor, b.like(divisor, 0))
    if op == "reciprocal":
        # 1.0 / 0 is an infinity that fits no integer.
        return [(DIVIDE, by_zero), (INVALID, by_zero)]
    if op != "floor_divide" or divisor.code[0] != "i":
        return [(DIVIDE, by_zero)]
    smallest = b.compare("eq", args[0], b.like(divisor, -(1 << (8 * itemsize(divisor.code) - 1))))
    return [(DIVIDE, by_zero), (OVERFLOW, b.and_(smallest, b.compare("eq", divisor, b.like(divisor, -1))))]


def _quotient(b: Builder, args: Sequence[Value], result: Value) -> list[tuple[int, Value]]:
    """floor_divide: its parts raise in lanes that take another way. Of an infinite quotient the floor is subtracted."""
    x, y = (widen(b, a) if a.code == "f2" else a for a in args)
    infinite = b.and_(isinf(b, result), isfinite(b, x))
    pole = b.compare("oeq", y, b.like(y, 0.0))
    limit = b.and_(infinite, b.not_(pole))
    invalid = b.and_(isnan(b, result), b.compare("ord", x, y))
    if args[0].code != "f2":
        invalid = b.or_(invalid, limit)
    return [(INVALID, invalid), (DIVIDE, b.and_(infinite, pole)), (OVERFLOW, limit)]


def _float_power(b: Builder, args: Sequence[Value], result: Value) -> list[tuple[int, Value]]:
    """By C's pow, to which 0**-inf is no pole; to the vector loops of `power` it is."""
    base, exponent = args
    return [
        (bit, b.and_(mask, isfinite(b, exponent)) if bit == DIVIDE else mask)
        for bit, mask in _power(b, (base, exponent), result)
    ]


def _power(b: Builder, args: Sequence[Value], result: Value) -> list[tuple[int, Value]]:
    base, exponent = args
    pole = b.and_(isinf(b, result), b.not_(truth(b, base)))
    limit = b.and_(isinf(b, result), b.and_(isfinite(b, base), isfinite(b, exponent)))
    return [
        (INVALID, b.and_(isnan(b, result), b.not_(_any(b, isnan, args)))),
        (DIVIDE, pole),
        (OVERFLOW, b.and_(limit, b.not_(pole))),
    ]


def _log_add_exp(b: Builder, args: Sequence[Value], result: Value) -> list[tuple[int, Value]]:
    """NumPy's loop compares before it computes, which raises for NaN arguments too, and forms x - y in its dtype."""
    x, y = (widen(b, a) if a.code == "f2" else a for a in args)
    finite = b.and_(isfinite(b, x), isfinite(b, y))
    limit = b.or_(isinf(b, result), isinf(b, b.sub(x, y)))
    return [(INVALID, isnan(b, result)), (OVERFLOW, b.and_(limit, finite))]


def _neighbour(b: Builder, args: Sequence[Value], result: Value) -> list[tuple[int, Value]]:
    return [(OVERFLOW, b.and_(isinf(b, result), isfinite(b, args[0])))]


def _spacing(b: Builder, args: Sequence[Value], result: Value) -> list[tuple[int, Value]]:
    found = _neighbour(b, args, result)
    # The half float routine refuses what is not finite, the C library's neighbours do not.
    return [*found, (INVALID, _not_finite(b, args[0]))] if args[0].code == "f2" else found


_RULES: dict[str, Callable[[Builder, Sequence[Value], Value], list[tuple[int, Value]]]] = {
    "floor_divide": _quotient,
    "power": _power,
    "float_power": _float_power,
    "logaddexp": _log_add_exp,
    "logaddexp2": _log_add_exp,
    "nextafter": _neighbour,
    "spacing": _spacing,
}
