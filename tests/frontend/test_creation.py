"""Holds new arrays to NumPy bit for bit, small and recorded, and their laziness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend.array import ndarray
from tests.frontend.agreement import MODES, Program, agree

DTYPES = ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
M = numpy.arange(12.0).reshape(3, 4)

PROGRAMS: dict[str, Program] = {
    "zeros": lambda np: (
        np.zeros(3),
        np.zeros((2, 3), "i4"),
        np.zeros((), bool),
        np.zeros([2, 2], order="F"),
    ),
    "ones": lambda np: (np.ones((2, 0)), np.ones(4, complex), np.ones((3, 2), "u1", "F")),
    "full": lambda np: (
        np.full(3, 7),
        np.full((2, 2), 1.5, "i4"),
        np.full((2, 3), [1, 2, 3]),
        np.full(2, numpy.float32(3)),
    ),
    "full-wraps": lambda np: np.full(5000, numpy.int64(300), "u1"),
    "full-refused": lambda np: np.full(5000, 300, "u1"),
    "empty": lambda np: (np.empty((2, 3)).shape, np.empty(5, "i2").dtype, np.empty(0)),
    "negative": lambda np: np.zeros(-1),
    "shape-refused": lambda np: np.zeros("a"),
    "shape-float": lambda np: np.ones(2.5),
    "dtype-refused": lambda np: np.zeros(3, "nothing"),
    "objects": lambda np: (
        np.zeros(2, object),
        np.full(2, "ab"),
        np.zeros(2, "S3"),
    ),
    "longdouble": lambda np: np.zeros(5000, numpy.longdouble),
    "like": lambda np: (
        np.zeros_like(np.data(M)),
        np.ones_like(np.data(M), int),
        np.full_like(np.data(M), 2.5),
    ),
    "like-shape": lambda np: (
        np.zeros_like(np.data(M), shape=(2, 2)),
        np.full_like(np.data(M), [1, 2, 3, 4], "i2"),
    ),
    "like-lists": lambda np: (np.zeros_like([1, 2]), np.empty_like([1.5]).dtype, np.ones_like(3)),
    "like-strides": lambda np: (
        np.zeros_like(np.data(M).T).strides,
        np.ones_like(np.data(M).T, order="C").strides,
    ),
    "eye": lambda np: (
        np.eye(3),
        np.eye(3, 4, 1, "i4"),
        np.eye(4, k=-2),
        np.eye(3, order="F"),
        np.identity(2),
    ),
    "eye-large": lambda np: (np.eye(70), np.eye(70, 80, -3, bool), np.eye(70, 60, 100)),
    "tri": lambda np: (
        np.tri(3),
        np.tri(70, 75, 2, "i2"),
        np.tril(np.data(M), -1),
        np.triu(np.data(M).astype(int), 1),
    ),
    "tri-stack": lambda np: (np.tril(np.data(M)[None]), np.triu(np.data(M)[None], 1)),
    "diag": lambda np: (
        np.diag(np.data(M)[0]),
        np.diag(np.data(M), 1),
        np.diag([1, 2], -1),
        np.diagflat(np.data(M)[:2]),
    ),
    "indices": lambda np: (
        np.indices((2, 3)),
        np.indices((70, 80)),
        np.indices((70, 80), "f4"),
        np.indices((2, 3), sparse=True),
    ),
    "meshgrid": lambda np: (
        np.meshgrid([1, 2], [3, 4, 5]),
        np.meshgrid(np.arange(80), np.arange(70.0), indexing="ij"),
    ),
    "meshgrid-sparse": lambda np: np.meshgrid(np.data([1, 2]), np.data([3, 4, 5]), sparse=True),
    "fromfunction": lambda np: np.fromfunction(lambda i, j: i * 10 + j, (3, 4)),
    "vander": lambda np: (np.vander(np.data([1.0, 2, 3])), np.vander([1, 2], 3, increasing=True)),
    "array": lambda np: (
        np.array([1, 2]),
        np.array([[1.5]], "f4"),
        np.array(3, ndmin=2),
        np.array([np.data(M)[0], np.data(M)[1]]),
    ),
    "array-again": lambda np: (
        np.array(np.data(M), "i4"),
        np.array(np.data(M), ndmin=3),
        np.array(np.data(M), order="F").strides,
    ),
    "array-no-copy": lambda np: np.array(np.data(M), "i4", copy=False),
    "array-ragged": lambda np: np.array([[1], [1, 2]]),
    "asarray": lambda np: (
        np.asarray([1, 2.5]),
        np.asarray(np.data(M), "f4"),
        np.asarray(3),
        np.asanyarray((1, 2)),
    ),
    "contiguous": lambda np: (
        np.ascontiguousarray(np.data(M).T).strides,
        np.asfortranarray(np.data(M)).strides,
        np.ascontiguousarray(3),
    ),
    "copy": lambda np: (np.copy(np.data(M)), np.copy(np.data(M).T).strides, np.copy([1, 2])),
    "from": lambda np: (
        np.frombuffer(b"abcd", "u1"),
        np.fromiter(range(5), int),
        np.fromstring("1 2", sep=" "),
    ),
    "chkfinite": lambda np: np.asarray_chkfinite(np.data([1.0, numpy.inf])),
    "require": lambda np: np.require(np.data(M).T, "f4", "C"),
    "mgrid": lambda np: (
        np.mgrid[0:3, 0:2],
        np.ogrid[0:3],
        np.r_[1:4, np.data([7, 8])],
        np.c_[np.data([1, 2]), np.data([3, 4])],
    ),
    "nothing": lambda np: np.zeros(),
    "linspace-many": lambda np: np.linspace([0, 1], [1, 5], 6),
    "linspace-step": lambda np: (
        np.linspace(2, 2, 5000),
        np.linspace(0, 5e-324, 5000),
        np.linspace(0, 1, 5000, retstep=True),
    ),
    "linspace-options": lambda np: (
        np.linspace(0, 10, 5000, False),
        np.linspace(0, 10, 5000, dtype=int),
        np.linspace(0, 1j, 5000),
    ),
    "linspace-axis": lambda np: np.linspace([0, 1.0], [3, 2], 5000, axis=1),
    "linspace-lists": lambda np: np.linspace(np.data([0.0, 1]), 5, 3),
    "linspace-refused": lambda np: np.linspace(0, 1, -1),
    "linspace-few": lambda np: (np.linspace(0, 1, 0), np.linspace(0, 1, 1), np.linspace(0, 1, 2)),
    "linspace-float32": lambda np: np.linspace(0, 1, 5000, dtype="f4"),
    "windows": lambda np: (np.bartlett(5), np.tri(2)),
}


@MODES
@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_agree_with_numpy(name: str, eager_below: int) -> None:
    agree(PROGRAMS[name], eager_below)


RANGES: list[tuple[Any, ...]] = [
    (10,),
    (5000,),
    (0,),
    (-3,),
    (3, 5000),
    (5000, 3),
    (0, 20000, 3),
    (20000, 0, -3),
    (0.5, 5000.0),
    (0, 500, 0.1),
    (1e16, 1e16 + 30000, 3),
    (0.1, 600, 0.1),
    (-1.0, 1.0, 1e-4),
    (0, 1, 1e-4),
    (numpy.float32(0), 5000),
    (numpy.int8(0), 5000),
    (5000.5,),
    (0, 5000, 0.7),
    (True, 5000),
    (1, 5000, numpy.float64(0.5)),
    (0, 5000, 0),
    (0, numpy.inf),
    (0, numpy.nan),
    (0, 5000j, 1),
    (2**62, 2**62 + 5000),
    (0, -5000, -1),
    ("a",),
    (),
]


@MODES
@pytest.mark.parametrize("bounds", RANGES, ids=str)
def test_ranges_agree_with_numpy(bounds: tuple[Any, ...], eager_below: int) -> None:
    agree(lambda np: np.arange(*bounds), eager_below)


@MODES
@pytest.mark.parametrize("dtype", DTYPES)
def test_ranges_of_a_dtype_agree_with_numpy(dtype: str, eager_below: int) -> None:
    for bounds in ((6000,), (0, 2000, 0.3), (-7, 9000, 2), (0.7, 5000, 1.1), (100, -9000, -2)):
        agree(lambda np, bounds=bounds: np.arange(*bounds, dtype=dtype), eager_below)
    agree(lambda np: np.arange(start=1, stop=5000, dtype=dtype), eager_below)


@MODES
def test_random_linspaces_agree_with_numpy(eager_below: int) -> None:
    rng = numpy.random.default_rng(2)
    for _ in range(40):
        start, stop = rng.normal(size=2) * 10.0 ** rng.integers(-300, 300)
        num = int(rng.integers(4000, 6000))
        endpoint = bool(rng.integers(2))
        agree(lambda np, args=(start, stop, num, endpoint): np.linspace(*args), eager_below)


def test_powers_are_close_to_numpy() -> None:
    for eager_below in (4096, 0):
        with lazyarray.config.set(eager_below=eager_below):
            for name, args in (
                ("logspace", (0, 3, 50)),
                ("geomspace", (1, 1000, 50)),
                ("geomspace", (-1, -8, 7)),
            ):
                ours = numpy.asarray(getattr(lazyarray, name)(*args))
                numpy.testing.assert_allclose(ours, getattr(numpy, name)(*args), rtol=1e-15)


ASKED: dict[str, Callable[[Any], Any]] = {
    "an extent": lambda maker: maker(9000),
    "an extent of NumPy's": lambda maker: maker(numpy.int64(9000)),
    "extents": lambda maker: maker((90, 100)),
    "a list": lambda maker: maker([90, 100]),
    "a dtype": lambda maker: maker((90, 100), "f4"),
    "a dtype by name": lambda maker: maker(9000, dtype=int),
    "a dtype of NumPy's": lambda maker: maker(9000, dtype=numpy.dtype("c8")),
    "another byte order": lambda maker: maker(9000, ">f8"),
    "an order": lambda maker: maker((90, 100), order="F"),
    "a dtype and an order": lambda maker: maker((90, 100), bool, "F"),
    "no extent": lambda maker: maker(9000.0),
    "no extents": lambda maker: maker((90.0, 100)),
    "truth": lambda maker: maker((9000, True)),
    "no dtype": lambda maker: maker(9000, 1.0),
}


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_new_arrays_are_numpys_each_time(name: str) -> None:
    def told(space: Any, asked: Callable[[Any], Any]) -> Any:
        try:
            made = asked(getattr(space, name))
        except (TypeError, ValueError) as error:
            return type(error), str(error)
        made[:1] = 5  # nobody else's
        values = numpy.asarray(made).tobytes() if name != "empty" else None
        return made.shape, made.dtype, made.strides, made.flags.f_contiguous, values

    for _ in range(3):  # found out, noted, and made again
        for asked in ASKED.values():
            assert told(lazyarray, asked) == told(numpy, asked)


FORMS = """
np.zeros([4, 3]) | np.zeros([4, 3], int) | np.zeros([4, 3], dtype="f4") | np.zeros(shape=(3, 2)) | np.zeros(shape=[3])
np.zeros(dtype=int, shape=3) | np.zeros((3, 2), order="F") | np.zeros([], bool) | np.zeros([2, True])
np.zeros([2.0])
np.zeros([-1]) | np.zeros(-1) | np.zeros([[2, 3]]) | np.zeros([2, "a"]) | np.zeros(shape=2.5) | np.zeros(3, shape=3)
np.zeros() | np.zeros(3, kind=2) | np.zeros([3], float, "C", 1) | np.zeros(3, order="Q") | np.zeros([N, 2])
np.zeros(N)
np.ones([2, 3]) | np.ones([2, 3], dtype=int) | np.ones(shape=3, dtype="c8") | np.ones([1 << 40, 1 << 40])
np.full([2, 2], 0.5) | np.full(3, fill_value=1.5) | np.full([3], X) | np.full(shape=3, fill_value=2) | np.full(3)
np.full([2, 2], 7, float) | np.full((2, 2), 1.5, dtype=int) | np.full(3, [1, 2, 3]) | np.full(3, [1, 2])
np.empty([0, 3]) | np.empty([2], dtype=object) | np.empty(shape=(0,), dtype=float)
np.eye(3, 4) | np.eye(3, k=1) | np.eye(3, M=2) | np.eye(3, dtype=int) | np.eye(2, 3, -1) | np.eye(3, M=None)
np.eye(3, 2.0)
np.eye(3, order="F") | np.eye(-1) | np.eye(3, 0) | np.eye(3.0) | np.eye(N=3) | np.eye(3, kind=2) | np.eye(N, 2)
np.eye(3, k=N)
np.identity(3, int) | np.identity(3, dtype=bool) | np.identity(3, M=2) | np.tri(3, 4) | np.tri(3, k=1)
np.tri(3, 4, 1, int)
np.arange(5, dtype=float) | np.arange(1, 5, dtype="i2") | np.arange(0.5, 3, dtype=int) | np.arange(3, dtype=bool)
np.arange(4, dtype="f2") | np.arange(5, dtype=str) | np.arange(2, 9, 3, dtype=complex) | np.arange(5, like=None)
np.linspace(0, 1, num=5) | np.linspace(0, 1, 5, endpoint=False) | np.linspace(0, 1, 3, retstep=True)
np.linspace(0, 9, num=4, dtype=int)
np.linspace(0, 1, num=2.0) | np.linspace(0, 1, num=-1) | np.linspace(0, 1, num=0) | np.linspace(0, 1, 5, axis=0)
np.linspace(1, 2, num=N)
np.zeros_like([1, 2]) | np.ones_like([[1.5], [2.5]]) | np.zeros_like([X, X]) | np.full_like([1, 2], 7)
np.empty_like([]).shape
np.zeros_like(X, dtype=int) | np.zeros_like([1.5], dtype="i4") | np.zeros_like([[1], [2, 3]])
np.array([1, 2], dtype="f4") | np.array([1, 2], float) | np.array([X, X], float) | np.array([None, 1], dtype=object)
np.array([X], dtype=object)[0].shape | np.array([1.5], copy=False) | np.array([1.5], copy=True)
np.array((1, 2), dtype=bool)
np.array([1e300], dtype="f4") | np.array(["a"], float) | np.array([300], dtype="u1")
np.asarray([1, 2], dtype=complex)
np.asarray([1.5], int) | np.asarray(X, dtype=int) | np.asarray([X, 1.0], "f4") | np.array([[1], [2, 3]], float)
np.array(range(4)) | np.array(range(3), dtype=float) | np.asarray(range(2), "i2") | np.array(range(0))
np.array(range(1), 2) | np.array(X, copy=True) | np.array(X, copy=False) | np.array(X, copy=None)
np.array(X, copy=2) | np.asarray(X, copy=True)
np.ascontiguousarray(X, copy=True) | np.ascontiguousarray([1, 2], dtype=float)
np.asfortranarray([[1, 2]], dtype=float) | np.asanyarray([1], copy=True)
np.diag(X, 1) | np.diag([1, 2, 3]) | np.diag([1, 2], -2) | np.diag([[1, 2], [3, 4]]) | np.diag([[1, 2], [3, 4]], 1)
np.diag([], 1)
np.diag(X, 1.0) | np.diag(X, True) | np.diag([[[1]]]) | np.diagflat([[1, 2]], 1) | np.diag(X, 1 << 40)
np.meshgrid(X, 2)
np.outer([1, 2], X) | np.outer([[1, 2], [3, 4]], 2) | np.kron([[1, 2]], X) | np.kron(X, 3)
np.shape([1, 2]) | np.shape([[1], [2]]) | np.shape(3) | np.shape(X) | np.shape([[1], [2, 3]]) | np.ndim([X])
np.ndim(2.5)
np.size([1, 2]) | np.size([[1, 2]], 1) | np.size(X, axis=0) | np.size([1], 3) | np.shape(None) | np.ndim("a")
np.power(2, 3) | np.power(2, -1) | np.power(0, 0) | np.power(3, 50) | np.power(True, 2) | np.power(2, 3, dtype=float)
TEXT == "a" | TEXT != "b" | "a" == TEXT | TEXT < "b" | TEXT == b"a" | X == "a" | TEXT + "c"
"""


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("form", [form.strip() for line in FORMS.strip().splitlines() for form in line.split(" | ")])
def test_however_it_is_asked_for_a_small_array_is_numpys(form: str) -> None:
    def told(space: Any) -> Any:
        names = {"np": space, "N": numpy.int64(3), "X": space.array([0.5, 1.5]), "TEXT": space.array(["a", "b"])}
        try:
            made = eval(form, names)
        except Exception as error:
            return type(error), str(error)
        parts = made if type(made) in (tuple, list) else [made]
        return type(made) is type(parts), [described(part) for part in parts]

    def described(part: Any) -> Any:
        if type(part) not in (ndarray, numpy.ndarray):
            return type(part), part
        held = numpy.asarray(part)
        return held.shape, held.dtype, held.strides, held.flags.writeable, held.tolist()

    assert told(lazyarray) == told(numpy)


def test_lists_of_extents_are_large_arrays_too() -> None:
    with lazyarray.record_runs() as runs:
        made = [getattr(lazyarray, name)([10**6, 10**5]) for name in ("zeros", "ones", "empty")]
        made.append(lazyarray.full([10**6, 10**5], 0.5))
    assert [one.shape for one in made] == [(10**6, 10**5)] * 4
    assert not runs.evaluations


def test_constants_take_no_memory_until_needed() -> None:
    with lazyarray.record_runs() as runs:
        x = lazyarray.zeros((10**6, 10**5))
        y = lazyarray.arange(10**11) + lazyarray.ones(10**11)
        z = lazyarray.empty((10**6, 10**5)).T
        assert x.shape == (10**6, 10**5)
        assert (y.dtype, z.shape) == (numpy.dtype(float), (10**5, 10**6))
        del x, y, z
    assert not runs.kernels
    assert not runs.evaluations


def test_asarray_aliases_memory_of_numpy() -> None:
    memory = numpy.zeros(3)
    array = lazyarray.asarray(memory)
    assert type(array) is ndarray
    array[1] = 5
    memory[2] = 7
    assert array.tolist() == [0, 5, 7]
    assert memory[1] == 5
    assert lazyarray.asarray(array) is array
    copied = lazyarray.array(memory)
    copied[0] = 1
    assert memory[0] == 0


def _lists(np: Any) -> dict[str, Any]:
    a, m, c = np.arange(3.0), np.arange(6.0).reshape(2, 3), np.array([1 + 2j, 3, 4])
    return {
        "nothing": [], "a row of nothing": [[]], "truths": [True, False], "truths and integers": [True, 2],
        "truths and floats": [True, 0.5], "rows of truths": [[True], [False]], "a float": 3.0, "an integer": 3,
        "a truth": True, "a complex number": 2j, "a long integer": 2**70, "NumPy's float": numpy.float64(2.5),
        "NumPy's floats": [numpy.float64(2.5), 1, 0.5], "a float and a long integer": [numpy.float64(1.0), 2**70],
        "of float32": [numpy.float32(1.5), 2.0], "arrays": [a, a + 1], "a tuple of them": (a, a * 2),
        "matrices": [m, m], "transposed": [m.T, m.T], "every second": [a[::2], a[::2]], "complex": [c, c],
        "of two lengths": [m, m[:, :1]], "arrays and lists": [a, [1, 2, 3]], "no elements": [a[:0], a[:0]],
        "of no axes": [np.array(1.0), np.array(2.0)], "one": [a], "truths as arrays": [a > 1, a < 1],
        "of two dtypes": [a, a.astype("i4")], "in rows": [[a, a], [a, a]], "words": ["a", "bc"], "none": None,
    }  # fmt: skip


@pytest.mark.parametrize("name", _lists(numpy))
@pytest.mark.parametrize("maker", ["array", "asarray", "ascontiguousarray", "asfortranarray", "asanyarray"])
def test_what_arrays_are_made_of(maker: str, name: str) -> None:
    def told(np: Any) -> Any:
        try:
            found = getattr(np, maker)(_lists(np)[name])
        except Exception as error:
            return type(error), str(error)
        assert isinstance(found, np.ndarray)
        flags = found.flags
        layout = (flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.owndata)
        return found.dtype, found.shape, found.strides, layout, found.tolist()

    assert told(lazyarray) == told(numpy)


def test_an_array_of_arrays_is_a_copy() -> None:
    a = lazyarray.arange(3.0)
    found = lazyarray.array([a, a])
    found[0] = 7.0
    a[1] = 9.0
    assert a.tolist() == [0.0, 9.0, 2.0]
    assert found.tolist() == [[7.0, 7.0, 7.0], [0.0, 1.0, 2.0]]


@pytest.mark.parametrize("name", ["array", "asarray", "stack"])
@pytest.mark.parametrize("count", [3, 70, 300])
def test_lists_of_rows_are_one_array(count: int, name: str) -> None:
    a = numpy.random.default_rng(1).normal(size=(count, 300))
    for theirs in (a, a[:, :4]):
        ours = lazyarray.array(theirs)
        rows = list(ours)
        have = getattr(lazyarray, name)(rows)
        assert type(have) is ndarray
        numpy.testing.assert_array_equal(numpy.asarray(have), getattr(numpy, name)(list(theirs)))
        have[0, 0] = 100.0
        assert float(ours[0, 0]) == theirs[0, 0]
        rows[1][:] = -1.0
        assert float(have[1, 1]) == theirs[1, 1]
