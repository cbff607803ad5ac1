"""Functions of small arrays: NumPy's own results at once, arrays lazyarray's, with nothing recorded or evaluated."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.frontend.small import small_call, small_items

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "concatenate": lambda m, a, b: m.concatenate((a, b)),
    "stack": lambda m, a, b: m.stack([a, b], axis=1),
    "block": lambda m, a, b: m.block([[a, b], [b, a]]),
    "where": lambda m, a, b: m.where(a > 1, a, b),
    "linspace": lambda m, a, b: m.linspace(0, 1, 5),
    "norm": lambda m, a, b: m.linalg.norm(a),
    "meshgrid": lambda m, a, b: m.meshgrid(a, b),
    "divmod": lambda m, a, b: m.divmod(a, b),
    "unique": lambda m, a, b: m.unique(a, return_counts=True),
    "einsum": lambda m, a, b: m.einsum("i,i->", a, b),
    "shape": lambda m, a, b: m.shape(a),
    "searchsorted": lambda m, a, b: m.searchsorted(a, 1.5, side="right"),
    "outer": lambda m, a, b: m.subtract.outer(a, b),
    "outer of integers": lambda m, a, b: m.equal.outer(a.astype(int), b.astype(int)),
    "swap": lambda m, a, b: _swapped(a, [0, 2], [2, 0]),
    "swap of rows": lambda m, a, b: _swapped(m.outer(a, b), [0, 1], [1, 0]),
    "list of truths": lambda m, a, b: _swapped(a, [True, False, True], [False, True, True]),
    "one number to a list": lambda m, a, b: _put(a, [0, -1], 7.5),
    "nested list": lambda m, a, b: _put(a, [[0, 1], [1, 2]], b[:2]),
}


def _put(a: Any, key: Any, value: Any) -> Any:
    a = a.copy()
    a[key] = value
    return a


def _swapped(a: Any, to: Any, of: Any) -> Any:
    return _put(a, to, a[of])


def settled(found: Any, kind: type) -> Any:
    """A result with its arrays as NumPy's, each of which was `kind`."""
    if isinstance(found, np.ndarray) or type(found).__module__.startswith("lazyarray"):
        assert type(found) is kind or not isinstance(found, np.ndarray)
        return np.asarray(found)
    if isinstance(found, tuple | list):
        return [settled(item, kind) for item in found]
    return found


@pytest.mark.parametrize("name", CALLS)
def test_results_are_numpys_with_nothing_recorded(name: str) -> None:
    a, b = np.array([3.0, 1.0, 2.0]), np.array([0.5, 2.0, 1.0])
    want = CALLS[name](np, a, b)
    lazy = la.array(a), la.array(b)
    with la.record_runs() as runs:
        got = CALLS[name](la, *lazy)
        assert not runs.evaluations
        assert not runs.kernels
    for ours, theirs in zip(
        [settled(got, la.ndarray)] if not isinstance(want, tuple | list) else settled(got, la.ndarray),
        [want] if not isinstance(want, tuple | list) else want,
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype


@pytest.mark.parametrize("key", [[0, 3], [0.5], [[0], [1, 2]], ["a"], [0, None], [True]])
def test_lists_that_are_no_keys_are_refused_as_by_numpy(key: Any) -> None:
    texts = []
    for m in (np, la):
        a = m.array([1.0, 2.0, 3.0])
        with pytest.raises((IndexError, ValueError, TypeError)) as raised:
            a[key] = m.array([9.0, 8.0, 7.0, 6.0])
        assert a.tolist() == [1.0, 2.0, 3.0]
        texts.append((type(raised.value), str(raised.value)))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16", "?"])
@pytest.mark.parametrize("exponent", [3, 2, 1, 0, -1, -2, 1.5, 0.5, 2.0, -0.5, 1e3, float("nan"), 2**70, True])
def test_powers_with_numbers_are_those_of_arrays(dtype: str, exponent: Any) -> None:
    outcomes = []
    for m in (np, la):
        base = m.array([1, 2, 3]).astype(dtype)
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(base**exponent)
        except Exception as error:
            outcomes.append((type(error), str(error)))
        else:
            outcomes.append((found.dtype, found))
    (kind, want), (got_kind, got) = outcomes
    assert kind == got_kind
    if isinstance(want, str):
        assert want == got
    else:
        np.testing.assert_allclose(got, want, rtol=1e-15 if dtype != "f4" else 1e-6)


def test_a_power_has_the_bits_of_compiled_kernels() -> None:
    x = np.linspace(0.1, 9.0, 500)
    small = la.array(x)
    with la.config.set(eager_below=0):
        recorded = la.asarray(x.copy()) + 0.0
        for exponent in (1.5, -2.5, 3, 0.3):
            with la.config.set(eager_below=4096):
                at_once = np.asarray(small**exponent), np.asarray(la.power(small, exponent))
            compiled = np.asarray(recorded**exponent)
            assert [a.tobytes() for a in at_once] == [compiled.tobytes()] * 2


def test_what_is_not_small_and_plain_is_refused_before_anything_happens() -> None:
    large, small = la.arange(1 << 17), la.arange(5.0)
    pending = la.arange(1 << 17) * 2.0
    calls: list[Any] = []

    def source(*args: Any, **kwargs: Any) -> Any:
        calls.append((args, kwargs))

    class Own:
        pass

    refused = small_call(source, (large,), {})
    for args in ((pending,), (Own(),), ([small, [large]],), ({},)):
        assert small_call(source, args, {}) is refused
    assert small_call(source, (small,), {"like": Own()}) is refused
    assert not calls


def test_lists_and_tuples_stay_what_they_are() -> None:
    a = la.arange(3.0)
    assert type(small_items([a, (a, 1)])) is list
    assert type(small_items((a, [a]))) is tuple
    unchanged = (1, "axis", None, 2.5)
    assert small_items(unchanged) is unchanged


def test_an_out_is_the_result() -> None:
    a, out = la.arange(3.0), la.zeros(3)
    assert la.cumsum(a, out=out) is out
    assert la.clip(a, 0.0, 1.0, out=out) is out
    np.testing.assert_array_equal(np.asarray(out), [0.0, 1.0, 1.0])


def test_an_argument_that_comes_back_is_the_argument() -> None:
    a = la.arange(3.0)
    assert la.asarray(a) is a
    assert la.ascontiguousarray(a) is a
    assert la.atleast_1d(a) is a


def test_a_new_array_holds_nothing_of_an_earlier_one() -> None:
    """Handles of dead arrays are used again: no field, weak reference or attribute may survive."""
    freed = []
    for i in range(300):
        a = la.arange(float(i + 1))
        freed.append(weakref.ref(a))
    assert all(reference() is None for reference in freed[:-1])
    arrays = [la.full(3, float(i)) for i in range(300)]
    assert all(reference() is None for reference in freed[:-1])
    assert [float(array.sum()) for array in arrays] == [3.0 * i for i in range(300)]
    called = []
    watched = weakref.ref(arrays[7], called.append)
    del arrays
    gc.collect()
    assert called == [watched]


def test_dead_arrays_free_their_memory() -> None:
    import tracemalloc

    for _ in range(10):
        la.arange(1000.0) + 1.0
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(2000):
        la.arange(1000.0) + 1.0
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 100_000


def test_arrays_in_cycles_are_collected() -> None:
    class Sub(la.ndarray):  # type: ignore[misc]
        itself: Any

    for _ in range(3):
        array = la.arange(3.0).view(Sub)
        array.itself = array
        gone = weakref.ref(array)
        del array
        gc.collect()
        assert gone() is None


def test_references_to_the_class_do_not_pile_up() -> None:
    before = sys.getrefcount(la.ndarray)
    for _ in range(1000):
        la.arange(3.0)
    assert sys.getrefcount(la.ndarray) - before < 300


@pytest.mark.parametrize("code", ["c8", "c16"])
@pytest.mark.parametrize(
    "shapes", [((1,), (1,)), ((1, 1), (1, 1)), ((1, 1), (1,)), ((1,), ()), ((), (1, 1)), ((1,), None)]
)
def test_products_of_one_complex_number_have_numpys_bits(code: str, shapes: Any) -> None:
    draw = np.random.default_rng(7).standard_normal
    for _ in range(200):
        drawn = [draw() + 1j * draw() for _ in shapes]
        a, b = (z if shape is None else np.full(shape, z, code) for z, shape in zip(drawn, shapes, strict=True))
        x, y = (la.array(each) if isinstance(each, np.ndarray) else each for each in (a, b))
        assert np.asarray(x * y).tobytes() == np.asarray(a * b).tobytes()
        assert np.asarray(y * x).tobytes() == np.asarray(b * a).tobytes()
        if np.shape(a) == np.broadcast_shapes(np.shape(a), np.shape(b)) != ():
            a *= b
            x *= y
            assert np.asarray(x).tobytes() == a.tobytes()


@pytest.mark.parametrize("code", ["c8", "c16"])
@pytest.mark.parametrize("key", [np.s_[..., ::-2], np.s_[..., ::-1], np.s_[::-1], np.s_[::-1, ::-1], np.s_[::-1, ::2]])
def test_products_of_complex_numbers_that_lie_backwards_have_numpys_bits(code: str, key: Any) -> None:
    draw = np.random.default_rng(7).standard_normal
    for shape in ((4, 4), (3, 5), (1, 9), (2, 16)):
        for _ in range(20):
            a = np.asarray(draw(shape) * (1.0 + 1.0j), code)
            x = la.array(a)
            assert np.asarray(x[key] * x[key]).tobytes() == np.asarray(a[key] * a[key]).tobytes()
            a[key] *= a[key]
            x[key] *= x[key]
            assert np.asarray(x).tobytes() == a.tobytes()
