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
}


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
