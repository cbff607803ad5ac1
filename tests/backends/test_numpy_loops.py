"""numerics="numpy": kernels give NumPy's bits, of every transcendental ufunc, dtype and layout, and stay fused."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy
import pytest

import lazyarray as np
from lazyarray.ir.ops import OPS

View: TypeAlias = Callable[[Any], Any]

NAMES = [name for name, op in OPS.items() if op.transcendental]
CODES = ("f2", "f4", "f8", "c8", "c16")
SIZE = 3001  # some blocks, and an odd rest


def has_loop(name: str, code: str) -> bool:
    letter = numpy.dtype(code).char
    ufunc = getattr(numpy, name)
    return f"{letter * ufunc.nin}->{letter}" in ufunc.types


CASES = [(name, code) for name in NAMES for code in CODES if has_loop(name, code)]


@pytest.fixture(autouse=True)
def exact() -> Iterator[None]:
    with np.config.set(numerics="numpy", eager_below=0, num_threads=1):
        yield


def values(code: str, size: int, seed: int) -> Any:
    """Numbers of the whole range and of the ranges where functions vary, with the special ones."""
    dtype = numpy.dtype(code)
    if dtype.kind == "c":
        part = f"f{dtype.itemsize // 2}"
        made = numpy.empty(size, dtype)
        made.real, made.imag = values(part, size, seed), values(part, size, seed + 1)
        return made
    random = numpy.random.default_rng(seed)
    bits = random.integers(0, 256, size * dtype.itemsize, dtype=numpy.uint8).view(dtype)
    with numpy.errstate(all="ignore"):
        made = numpy.where(random.random(size) < 0.4, bits, (random.normal(0, 3, size)).astype(dtype))
        special = numpy.array([0.0, -0.0, 1, -1, 0.5, 2, numpy.inf, -numpy.inf, numpy.nan, 1e-45, 5e-324]).astype(dtype)
    made[random.permutation(size)[: len(special)]] = special[:size]
    return made


def operands(name: str, code: str, shape: tuple[int, ...]) -> list[Any]:
    size = int(numpy.prod(shape))
    return [values(code, size, 7 + 10 * k).reshape(shape) for k in range(getattr(numpy, name).nin)]


def same_bits(ours: Any, theirs: Any) -> bool:
    ours, theirs = numpy.ascontiguousarray(ours), numpy.ascontiguousarray(theirs)
    return ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()


def check(name: str, xs: Sequence[Any], *views: View) -> None:
    """The same call of both on arguments that lie alike: views of our arrays, and of NumPy's."""
    views = views or (lambda x: x,)
    for view in itertools.product(views, repeat=len(xs)) if len(views) > 1 else [views * len(xs)]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lazy = [v(np.array(x)) if numpy.ndim(x) else x for v, x in zip(view, xs, strict=True)]
            ours = getattr(np, name)(*lazy)
            theirs = getattr(numpy, name)(*[v(x) if numpy.ndim(x) else x for v, x in zip(view, xs, strict=True)])
            assert same_bits(ours, theirs)


@pytest.mark.parametrize(("name", "code"), CASES)
def test_contiguous_operands_of_any_length(name: str, code: str) -> None:
    for size in (1, 7, SIZE):
        check(name, operands(name, code, (size,)))


@pytest.mark.parametrize(("name", "code"), CASES)
def test_spaced_and_reversed_operands(name: str, code: str) -> None:
    xs = operands(name, code, (2 * SIZE,))
    check(name, xs, lambda x: x[::2], lambda x: x[SIZE - 1 :: -1])


@pytest.mark.parametrize(("name", "code"), CASES)
def test_two_axes(name: str, code: str) -> None:
    xs = operands(name, code, (61, 53))
    for view in (lambda x: x.T, lambda x: x[:, ::2], lambda x: x[::-1, ::-1], lambda x: x[:, ::-1], lambda x: x[:, :1]):
        check(name, xs, view)


@pytest.mark.parametrize(("name", "code"), [c for c in CASES if getattr(numpy, c[0]).nin == 2])
def test_one_number_and_broadcast_operands(name: str, code: str) -> None:
    x, y = operands(name, code, (61, 53))
    scalar = x.dtype.type
    y[:, 0] = numpy.resize([2.0, 0.5, 1.0, 3.0], 61)
    for one in (2.0, 0.5, 3.0, -1.5, 0.0):
        number = scalar(one)
        for first, second in ((x, number), (number, x), (x.ravel(), number), (x, numpy.full(53, number))):
            check(name, (first, second))
    for other in (y[:, :1], y[0], y[:1, :1], y[0, :1]):
        check(name, (x, other))
        check(name, (other, x))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("name", "code"), CASES)
def test_a_chain_is_one_kernel(name: str, code: str, threads: int) -> None:
    """Its other operations have NumPy's bits anyway; at two threads it is several tasks."""
    xs = operands(name, code, (40_001,))
    one = numpy.dtype(code).type(1.5)

    def chain(m: Any, xs: list[Any]) -> Any:
        f = getattr(m, name)
        inner = f(*[x * one for x in xs])
        return f(*[inner + x for x in xs]) * inner - xs[0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lazy = [np.array(x) for x in xs]
        with np.config.set(num_threads=threads), np.record_runs() as runs:
            ours = numpy.asarray(chain(np, lazy))
        theirs = chain(numpy, xs)
    assert len(runs.kernels) == 1
    assert runs.kernels[0].ops.count(f"numpy.{name}") == 2
    assert numpy.array_equal(ours, theirs, equal_nan=True)
