"""Operations on small arrays are NumPy's, wherever they lie: values to the bit, dtypes, layouts, warnings, errors."""

import operator
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
import pytest

import lazyarray as np
from tests.frontend.agreement import agree

OPERATORS = (
    "add sub mul truediv floordiv mod lt le eq ne gt ge and_ or_ xor lshift rshift "
    "iadd isub imul itruediv ifloordiv imod"
).split()
SIGNS = ("neg", "pos", "abs", "invert")
# Not `fmax`: of zeros of both signs NumPy takes either, depending on where memory lies.
FUNCTIONS = "add maximum minimum arctan2 hypot copysign nextafter logical_and heaviside power".split()
ALONE = (
    "sqrt square reciprocal sign isnan isfinite signbit floor rint conjugate exp log sin absolute logical_not".split()
)
CODES = "?bhilBHILefdFD"
SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.5, 1e308, -1e308, 5e-324, float("inf"), float("-inf"), float("nan"), 3.0)


def values(code: str, shape: tuple[int, ...]) -> Any:
    """NumPy's array of values that raise what can be raised."""
    size = int(numpy.prod(shape))
    with numpy.errstate(all="ignore"):
        if code in "fdeFD":
            found = numpy.resize(numpy.array(SPECIAL), size).astype(code)
        else:
            found = numpy.resize(numpy.array([0, 1, 2, 3, 100, 7, 0, 1]), size).astype(code)
    return found.reshape(shape)


LAYOUTS = {
    "a vector": lambda code: values(code, (11,)),
    "every second element": lambda code: values(code, (22,))[::2],
    "backwards": lambda code: values(code, (11,))[::-1],
    "a matrix": lambda code: values(code, (3, 4)),
    "inside of a matrix": lambda code: values(code, (5, 6))[1:-1, 1:-1],
    "transposed": lambda code: values(code, (4, 3)).T,
    "a column": lambda code: values(code, (4, 3))[:, 1],
    "three axes": lambda code: values(code, (2, 3, 4)),
    "axes swapped": lambda code: values(code, (2, 4, 3)).swapaxes(1, 2),
    "one element": lambda code: values(code, (1,)),
    "no elements": lambda code: values(code, (0, 3)),
    "thin": lambda code: values(code, (4, 1)),
}
PAIRS = [
    *[(name, name) for name in LAYOUTS],
    ("a matrix", "inside of a matrix"), ("inside of a matrix", "transposed"), ("thin", "a vector"),
    ("a matrix", "thin"), ("three axes", "a matrix"), ("a column", "thin"), ("a vector", "one element"),
    ("a vector", "a matrix"), ("no elements", "a vector"), ("every second element", "backwards"),
]  # fmt: skip


def outcome(function: Any, *args: Any) -> Any:
    """What a call gives: the result and what is said, or the error."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = function(*args)
        except Exception as error:
            return type(error), str(error).replace("lazyarray", "numpy")
    found = found if isinstance(found, numpy.ndarray | numpy.generic) else numpy.asarray(found)
    bits = repr(found.tolist()).encode() if found.dtype.hasobject else found.tobytes()
    return found.dtype, found.shape, found.strides, bits, [(w.category, str(w.message)) for w in said]


def given(array: Any) -> Any:
    """lazyarray's view of NumPy's memory, in the same layout."""
    return np.asarray(array)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_on_two_arrays(name: str, code: str) -> None:
    function = getattr(operator, name)
    for first, second in PAIRS:
        a, b = LAYOUTS[first](code), LAYOUTS[second](code)
        expected = outcome(function, a.copy(order="K"), b)
        own = np.asarray(a.copy(order="K"))
        assert outcome(function, own, given(b)) == expected, (first, second)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", [name for name in OPERATORS if not name.startswith("i")])
def test_operators_beside_numpys_own_arrays(name: str, code: str) -> None:
    function = getattr(operator, name)
    for first, second in PAIRS:
        a, b = LAYOUTS[first](code), LAYOUTS[second](code)
        expected = outcome(function, a, b)
        assert outcome(function, given(a), b) == expected, (first, second)
        assert outcome(function, a, given(b)) == expected, (first, second)


@pytest.mark.parametrize("name", ["add", "lt"])
def test_results_are_lazyarrays_whoever_made_one_of_the_operands(name: str) -> None:
    function, a = getattr(operator, name), values("d", (5,))
    assert {type(function(given(a), a)), type(function(a, given(a))), type(np.add(a, a)), type(np.exp(a * 0))} == {
        np.ndarray
    }


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", [*FUNCTIONS, *ALONE])
def test_functions_of_numpys_own_arrays(name: str, code: str) -> None:
    for first, second in PAIRS:
        args = (LAYOUTS[first](code), LAYOUTS[second](code))[: getattr(numpy, name).nin]
        expected = outcome(getattr(np, name), *map(given, args))
        assert outcome(getattr(np, name), *args) == expected, (first, second)
        assert outcome(getattr(np, name), args[0], *map(given, args[1:])) == expected, (first, second)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_with_numbers(name: str, code: str) -> None:
    function = getattr(operator, name)
    numbers = (2, 0, -1, 3.0, 0.5, -0.0, 1e300, 1e39, 1e-40, float("nan"), 2**40, 2**70, True, 1j,
               127, 128, -128, 255, 256, 32768, 65535, 2**31, -(2**31), 2**32 - 1, 2**24 + 1, 2**63, 2**64 - 1,
               numpy.float64(1.5), numpy.float32(1.5), numpy.int64(3), numpy.int8(2), numpy.bool_(True))  # fmt: skip
    for layout in ("a vector", "inside of a matrix", "backwards", "transposed"):
        for number in numbers:
            a = LAYOUTS[layout](code)
            expected = outcome(function, a.copy(order="K"), number)
            assert outcome(function, np.asarray(a.copy(order="K")), number) == expected, (layout, number)
            if not name.startswith("i"):
                assert outcome(function, number, given(a)) == outcome(function, number, a), (layout, number)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", [*SIGNS, *ALONE])
def test_operations_on_one_array(name: str, code: str) -> None:
    for layout, make in LAYOUTS.items():
        a = make(code)
        function = getattr(operator, name) if name in SIGNS else getattr(numpy, name)
        own = function if name in SIGNS else getattr(np, name)
        expected, found = outcome(function, a), outcome(own, given(a))
        if name in ("exp", "log", "sin") and len(expected) > 2:  # other bits, within an ulp
            expected, found = (*expected[:3], *expected[4:]), (*found[:3], *found[4:])
        assert found == expected, layout


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_two_arrays(name: str, code: str) -> None:
    for first, second in PAIRS:
        a, b = LAYOUTS[first](code), LAYOUTS[second](code)
        expected = outcome(getattr(numpy, name), a, b)
        found = outcome(getattr(np, name), given(a), given(b))
        if name in ("arctan2", "power", "hypot") and len(expected) > 2:  # other bits, within an ulp; and of complex
            last = 4 if code in "FD" else 5  # powers, which overflow within, other warnings
            expected, found = (*expected[:3], *expected[4:last]), (*found[:3], *found[4:last])
        assert found == expected, (first, second)


LISTS = (
    [1, 2, 3], (2.5,), [0.5, 1, -0.0], [[1.0], [2.0], [0.0]], ((1, 2, 3),) * 3, [], [[]], [True, False, True],
    [1.5, 2j, 0], [2**40, 1, 0], [2**63, 1, 2], [2**70, 1, 2], [float("nan"), float("inf"), -1e308], [1, 2],
    [numpy.float64(1.5), 2, 0], [numpy.float32(1.5), numpy.int8(2), 1], [[1, 2], [3]], [1, "two", 3], ["a", "b", "c"],
    [None, 1, 2], [b"a"] * 3, [numpy.ones(3), [1.0, 2.0, 3.0], (0, 0, 0)], range(3), [range(3)], [[[1, 2, 3]]],
    [numpy.float64(2.0)] * 3, list(range(100)),
)  # fmt: skip


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_with_lists(name: str, code: str) -> None:
    function = getattr(operator, name)
    for items in LISTS:
        a = values(code, (3, 3))[1:]
        for array in (a, a[0], a[:, ::2], a[:, :1]):
            expected = outcome(function, array.copy(order="K"), items)
            assert outcome(function, np.asarray(array.copy(order="K")), items) == expected, (items, array.shape)
            if not name.startswith("i"):
                assert outcome(function, items, given(array)) == outcome(function, items, array), (items, array.shape)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_lists_and_numbers(name: str) -> None:
    a = values("d", (3, 3))[1]
    numbers = (0.5, 2, -3.0, True, 1j, 2**70, float("nan"), *[numpy.dtype(code).type(2) for code in CODES])
    pairs = [(a, items) for items in LISTS] + [(items, a) for items in LISTS] + [(items, items) for items in LISTS]
    pairs += [(x, y) for x in numbers for y in numbers] + [([1.0, 2.0], y) for y in numbers]
    for x, y in pairs:
        if name == "power" and str(2**70) in f"{x} {y}":
            continue  # an integer of that power takes forever
        ours = [given(item) if item is a else item for item in (x, y)]
        expected, found = outcome(getattr(numpy, name), x, y), outcome(getattr(np, name), *ours)
        if name in ("arctan2", "power", "hypot") and len(expected) > 2:  # as above
            last = 4 if expected[0].kind == "c" else 5
            expected, found = (*expected[:3], *expected[4:last]), (*found[:3], *found[4:last])
        assert found == expected, (x, y)


def test_lists_of_arrays_are_operands() -> None:
    theirs, own = numpy.arange(3.0), np.arange(3.0)
    assert outcome(operator.add, own, [own, own * 2]) == outcome(operator.add, theirs, [theirs, theirs * 2])
    assert outcome(np.maximum, [own, own * 2], own) == outcome(numpy.maximum, [theirs, theirs * 2], theirs)


def test_what_a_long_array_and_a_list_are_broadcast_to_is_recorded() -> None:
    column = np.ones((60_000, 1))
    found = column + [1.0] * 60
    assert found.shape == (60_000, 60)
    assert numpy.asarray(found).sum() == 2.0 * 3_600_000


def test_rows_of_a_small_array_share_its_memory() -> None:
    own = np.zeros((3, 2))
    for number, row in enumerate(own):
        assert type(row) is np.ndarray
        row += number
    assert own.tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(np.array(1.0))


@pytest.mark.parametrize("name", ["iadd", "imul", "isub"])
def test_augmented_assignments_to_memory_that_they_read(name: str) -> None:
    function = getattr(operator, name)
    cases = (
        lambda x: (x[1:], x[:-1]), lambda x: (x[:-1], x[1:]), lambda x: (x, x[::-1]), lambda x: (x[::2], x[1::2]),
        lambda x: (x, x), lambda x: (x[::-1], x[::-1]), lambda x: (x[:4], x[2:6]), lambda x: (x, x[3:4]),
    )  # fmt: skip
    for case in cases:
        theirs = numpy.arange(10.0) + 1
        own = np.arange(10.0) + 1
        function(*case(theirs))
        function(*case(own))
        assert numpy.array_equal(numpy.asarray(own), theirs)


@pytest.mark.parametrize("which", [0, 1])
def test_arrays_that_were_broadcast_are_written_with_a_warning(which: int) -> None:
    def written(package: Any) -> Any:
        both = package.broadcast_arrays(package.arange(2), package.arange(4).reshape(2, 2))
        return outcome(operator.iadd, both[which], 1)

    assert written(np) == written(numpy)


def test_elements_of_such_arrays_too() -> None:
    def written(package: Any) -> Any:
        row = package.broadcast_arrays(package.arange(2), package.arange(4).reshape(2, 2))[1]

        def put() -> Any:
            row[0, 1] = 7
            return row

        return outcome(put)

    assert written(np) == written(numpy)


def test_memory_whose_elements_share_places_is_written_as_numpy_does() -> None:
    def written(package: Any) -> list[float]:
        x = package.arange(6.0)
        view = package.lib.stride_tricks.as_strided(x, (4, 3), (8, 8))
        view += 1.0
        view *= 2.0
        return x.tolist()  # type: ignore[no-any-return]

    assert written(np) == written(numpy)


def test_what_is_not_writeable_is_not_written() -> None:
    x = np.arange(4.0)
    x.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        x += 1.0
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("state", ["ignore", "raise", "print", "call", "log"])
def test_error_states_are_obeyed(state: Any, capsys: Any) -> None:
    def told(package: Any) -> tuple[Any, list[Any]]:
        calls: list[Any] = []

        class Log:
            def write(self, text: str) -> None:
                calls.append(text)

        handler: Any = Log() if state == "log" else lambda kind, flag: calls.append((kind, flag))
        with package.errstate(all=state, call=handler if state in ("call", "log") else None):
            found = outcome(operator.truediv, package.asarray(numpy.array([1.0, 0.0, -1.0])), 0.0)
        return found, [*calls, capsys.readouterr().out]

    assert told(np) == told(numpy)


def test_flags_that_were_raised_before_are_not_told() -> None:
    with numpy.errstate(all="ignore"):
        numpy.array([1.0]) / 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (np.ones(3) + np.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_dtypes_of_others_have_no_loops_of_numpys() -> None:
    tests = pytest.importorskip("numpy._core._multiarray_umath")
    dtype = tests._get_sfloat_dtype()(1.0)
    x = numpy.array([1.0, 2.0, 3.0]).view(dtype)
    expected = (x * x).view(numpy.float64).tolist()
    assert numpy.asarray(np.asarray(x) * np.asarray(x)).view(numpy.float64).tolist() == expected


def test_a_ufunc_of_others_is_called_with_their_loops() -> None:
    twice = numpy.frompyfunc(lambda x: x * 2, 1, 1)
    assert twice(np.arange(3)).tolist() == [0, 2, 4]


VECTORS = [
    ((7,), (7,)), ((1,), (1,)), ((4, 7), (7,)), ((7,), (7, 3)), ((4, 7), (7, 3)), ((1, 7), (7, 1)), ((4, 1), (1, 3)),
    ((1, 1), (1, 1)), ((0,), (0,)), ((3, 0), (0, 2)), ((2, 3, 4), (4, 2)), ((7,), (6,)), ((20, 30), (30, 40)),
]  # fmt: skip
MEMORY = {
    "as it is": lambda x: x,
    "transposed": lambda x: x.T.copy().T,
    "backwards": lambda x: x[::-1].copy()[::-1],
    "every second": lambda x: x.repeat(2, axis=-1)[..., ::2],
    "a column of it": lambda x: numpy.stack((x, x), axis=-1)[..., 0],
}


@pytest.mark.parametrize("code", "lfdFDe")
@pytest.mark.parametrize("place", MEMORY)
def test_products(code: str, place: str) -> None:
    for first, second in VECTORS:
        rng = numpy.random.default_rng(1)
        a = MEMORY[place]((rng.standard_normal(first) * 9).astype(code))
        b = MEMORY[place]((rng.standard_normal(second) * 9).astype(code))
        for x, y in ((a, b), (a, b.real.astype("f4")), (a * 0, b)):
            assert outcome(operator.matmul, np.asarray(x), np.asarray(y)) == outcome(operator.matmul, x, y), (x, y)
            assert outcome(np.dot, np.asarray(x), np.asarray(y)) == outcome(numpy.dot, x, y), (x, y)
            own = outcome(lambda p, q: p.dot(q), np.asarray(x), np.asarray(y))
            assert own == outcome(lambda p, q: p.dot(q), x, y), (x, y)


def test_products_that_overflow_are_told() -> None:
    x = numpy.array([1e308, 1e308, numpy.inf])
    y = numpy.array([10.0, 10.0, 0.0])
    for function, own in ((numpy.dot, np.dot), (operator.matmul, operator.matmul)):
        assert outcome(own, np.asarray(x), np.asarray(y)) == outcome(function, x, y)


@pytest.mark.parametrize("code", CODES)
def test_functions_that_call_a_method(code: str) -> None:
    for layout in ("a vector", "every second element", "backwards", "a matrix", "no elements"):
        assert outcome(np.flip, given(LAYOUTS[layout](code))) == outcome(numpy.flip, LAYOUTS[layout](code))
    names = "sum prod max min amax amin any all argmax argmin cumsum cumprod ravel trace mean".split()
    for layout in ("a vector", "a matrix", "inside of a matrix", "transposed", "no elements"):
        a = LAYOUTS[layout](code)
        for name in names:
            for args in ((), (0,), (None,), (5,)):
                found = outcome(getattr(np, name), given(a), *args)
                assert found == outcome(getattr(numpy, name), a, *args), (layout, name, args)
            if name not in ("ravel", "trace"):
                found = outcome(partial(getattr(np, name), axis=-1), given(a))
                assert found == outcome(partial(getattr(numpy, name), axis=-1), a), (layout, name)


@pytest.mark.parametrize("shape", [(3, 2), (1, 4), (0, 3), (2, 1, 3), (2, 0)])
def test_rows_come_one_after_another_as_views(shape: tuple[int, ...]) -> None:
    theirs = numpy.arange(float(numpy.prod(shape))).reshape(shape)
    ours = np.array(theirs)
    rows = iter(ours)
    assert iter(rows) is rows
    assert operator.length_hint(rows) == operator.length_hint(iter(theirs)) == shape[0]
    seen = []
    for row, their_row in zip(rows, theirs, strict=True):
        assert type(row) is np.ndarray
        assert row.tolist() == their_row.tolist()
        assert row.base is ours or row.base is ours.base
        row[...] = -1.0
        seen.append(row)
    assert operator.length_hint(rows) == 0
    assert next(rows, None) is None
    assert ours.tolist() == numpy.full(shape, -1.0).tolist()
    assert [row.tolist() for row in seen] == [row.tolist() for row in numpy.full(shape, -1.0)]


def test_the_end_of_rows_stays_the_end() -> None:
    rows = iter(np.ones((2, 2)))
    assert len(list(rows)) == 2
    assert list(rows) == []


@pytest.mark.parametrize("code", ["?", "b", "u2", "i8", "e", "f", "d", "F", "D", "M8[s]", "S3", "O"])
@pytest.mark.parametrize("call", ["item(1)", "item(-1)", "item(3)", "item(1, 0)", "item()", "item(True)", "tobytes()",
                                  "tobytes('F')", "fill(1)", "fill(2.5)", "fill(300)", "fill(-1)", "fill(10**30)",
                                  "fill('a')", "fill(None)", "fill()", "fill(1, 2)"])  # fmt: skip
@pytest.mark.parametrize("step", [1, -1])
def test_elements_bytes_and_fills_are_numpys(code: str, call: str, step: int) -> None:
    given = numpy.array([1, 0, 1], code)

    def outcome(array: Any) -> tuple[Any, ...]:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                found = eval(f"array.{call}")
                result: tuple[Any, ...] = (type(found), repr(found))
            except Exception as error:
                result = (type(error), str(error))
        return (*result, [(w.category, str(w.message)) for w in told], repr(array.tolist()))

    assert outcome(np.asarray(given.copy())[::step]) == outcome(given.copy()[::step])


def test_what_is_read_only_is_not_filled() -> None:
    ours = np.arange(3.0)
    ours.flags.writeable = False
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        ours.fill(1.0)


def test_an_array_is_what_asarray_makes_of_it() -> None:
    a, large = np.arange(3.0), np.arange(1e6)
    view = a[1:]
    for array in (a, large, view, large[5:]):
        assert np.asarray(array) is array
        assert np.asanyarray(array) is array
    assert np.asarray(a, "f4") is not a
    assert np.asarray(a, dtype=float) is a


MUCH_OF_LITTLE: dict[str, Callable[[Any, Any], Any]] = {
    "tri": lambda np, v: np.tri(4),
    "diag": lambda np, v: np.diag(v),
    "diag of a matrix": lambda np, v: np.diag(np.outer(v, v)),
    "diagflat": lambda np, v: np.diagflat(v),
    "meshgrid": lambda np, v: np.meshgrid(v, v, v),
    "outer": lambda np, v: np.outer(v, v),
    "kron": lambda np, v: np.kron(v, v),
    "linspace": lambda np, v: (np.linspace(0, 1), np.linspace(0, 1, 7)),
    "indices": lambda np, v: np.indices((3, 4)),
    "divmod": lambda np, v: (divmod(v, v), np.divmod(v, 2), divmod(v, 0.75)),
    "modf": lambda np, v: np.modf(v),
    "frexp": lambda np, v: np.frexp(v),
}


@pytest.mark.parametrize("size", [3, 300])  # of 300 some results are large
@pytest.mark.parametrize("name", MUCH_OF_LITTLE)
def test_functions_that_make_much_of_little(name: str, size: int) -> None:
    values = numpy.linspace(0.5, 7.25, size if name != "meshgrid" else min(size, 50))
    code = MUCH_OF_LITTLE[name]
    agree(lambda np: code(np, np.data(values)), 1 << 16)


@pytest.mark.parametrize("text", ["a", "2020-01-01", "", "1"])
@pytest.mark.parametrize("name", "eq ne lt ge add mul mod sub pow and_".split())
@pytest.mark.parametrize("code", ["U2", "S2", "i8", "f8", "?", "M8[D]", "O"])
def test_operators_with_text(code: str, name: str, text: str) -> None:
    words = ["2020-01-01", "2021-01-01"] if code[0] == "M" else ["a", "bb"] if code[0] in "US" else [1, 0]
    theirs = numpy.array(words).astype(code)
    function = getattr(operator, name)
    for sides in (lambda x: function(x, text), lambda x: function(text, x)):
        told = []
        for array in (theirs, np.array(theirs)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    found = numpy.asarray(sides(array))
                    outcome: Any = found.dtype, found.shape, found.tolist()
                except (TypeError, ValueError) as error:
                    outcome = type(error), str(error).replace("lazyarray", "numpy")
            told.append((outcome, [(str(w.message), w.category, w.filename) for w in caught]))
        assert told[0] == told[1]
