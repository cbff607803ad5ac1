"""Long draws of uniform numbers are NumPy's, and leave its generators as it leaves them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.frontend import draws
from lazyarray.frontend.draws import LEAST

PART = 8192  # numbers of one part (`native/streams.pxd`)


def pair(seed: int = 3) -> tuple[Any, Any]:
    return np.random.default_rng(seed), numpy.random.default_rng(seed)


def state(generator: Any) -> Any:
    return generator.bit_generator.state


@pytest.mark.parametrize(
    "size", [LEAST - 1, LEAST, LEAST + 1, 5 * PART - 1, 5 * PART + 3, (300, 7, 41), (LEAST, 0), (1, LEAST)]
)
def test_numbers_and_state_are_numpys(size: Any) -> None:
    ours, theirs = pair()
    for _ in range(2):
        assert numpy.array_equal(numpy.asarray(ours.random(size)), theirs.random(size))
        assert state(ours) == state(theirs)
        assert numpy.array_equal(numpy.asarray(ours.uniform(-0.3, 7, size)), theirs.uniform(-0.3, 7, size))
        assert state(ours) == state(theirs)


def test_half_a_word_that_is_left_stays_for_who_asks_for_it() -> None:
    ours, theirs = pair()
    assert ours.integers(0, 9, 3, dtype="u4").tolist() == theirs.integers(0, 9, 3, dtype="u4").tolist()
    assert state(theirs)["has_uint32"]
    assert numpy.array_equal(numpy.asarray(ours.random(LEAST)), theirs.random(LEAST))
    assert state(ours) == state(theirs)
    assert ours.integers(0, 9, 3, dtype="u4").tolist() == theirs.integers(0, 9, 3, dtype="u4").tolist()


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_every_bit_generator_gives_numpys_numbers(kind: str) -> None:
    ours = np.random.Generator(getattr(np.random, kind)(5))
    theirs = numpy.random.Generator(getattr(numpy.random, kind)(5))
    assert numpy.array_equal(numpy.asarray(ours.random(LEAST)), theirs.random(LEAST))
    assert numpy.array_equal(numpy.asarray(ours.random(3)), theirs.random(3))


def test_copies_of_a_generator_go_on_where_it_was() -> None:
    ours, theirs = pair()
    ours.random(LEAST), theirs.random(LEAST)
    for copied in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert numpy.array_equal(numpy.asarray(copied.random(LEAST)), copy.deepcopy(theirs).random(LEAST))


@pytest.mark.parametrize(
    "call",
    [
        lambda r: r.random(LEAST, dtype="f4"),
        lambda r: r.random(LEAST, numpy.float32),
        lambda r: r.random(dtype=float, size=LEAST),
        lambda r: r.random((LEAST, -1)),
        lambda r: r.random(2.5),
        lambda r: r.random(size=LEAST, nothing=1),
        lambda r: r.uniform(0.0, float("inf"), LEAST),
        lambda r: r.uniform(-1e308, 1e308, LEAST),
        lambda r: r.uniform(10**400, 1, LEAST),
        lambda r: r.uniform(2.0, 1.0, LEAST),
        lambda r: r.uniform(True, 2, LEAST),
        lambda r: r.uniform([0.0, 1.0], 2, (LEAST, 2)),
        lambda r: r.uniform(size=(LEAST,)),
        lambda r: r.uniform(0.0, 1.0, size=None),
    ],
)
def test_what_takes_thought_is_numpys(call: Any) -> None:
    def told(generator: Any) -> Any:
        try:
            return numpy.asarray(call(generator))
        except Exception as error:
            return type(error), str(error)

    ours, theirs = map(told, pair())
    assert type(ours) is type(theirs)
    if isinstance(ours, numpy.ndarray):
        assert ours.dtype == theirs.dtype
        assert numpy.array_equal(ours, theirs)
    else:
        assert ours == theirs


def test_a_draw_takes_one_step_for_each_number() -> None:
    ours, known = np.random.default_rng(3), numpy.random.PCG64(3)
    for count in (LEAST, LEAST + 1, LEAST + 1000, 123_457):
        ours.random(count)
        known.advance(count)
        assert state(ours) == known.state


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_of_threads_changes_nothing(threads: int) -> None:
    with np.config.set(num_threads=threads, eager_below=0):
        np.evaluate(np.ones(3) + 1.0)  # the backend is there
        ours, theirs = pair(8)
        assert numpy.array_equal(numpy.asarray(ours.random(10 * PART + 1)), theirs.random(10 * PART + 1))


def test_numpy_draws_only_where_there_is_no_c() -> None:
    in_c = type(draws.random).__name__ == "cython_function_or_method"
    assert (draws.random(pair()[0], LEAST) is not None) == in_c
    assert draws.random(pair()[0], LEAST - 1) is None


@pytest.mark.parametrize(
    "draw",
    [
        lambda np, rng: rng.random(),
        lambda np, rng: rng.random(5),
        lambda np, rng: rng.normal(2.0, 3.0, size=(2, 3)),
        lambda np, rng: rng.integers(0, np.array([5, 9, 30])),
        lambda np, rng: rng.choice(20),
        lambda np, rng: rng.choice(20, 3),
        lambda np, rng: rng.choice(np.arange(20)),
        lambda np, rng: rng.choice(np.arange(20), 7),
        lambda np, rng: rng.choice(np.arange(20.0), (2, 3), replace=False),
        lambda np, rng: rng.choice(["a", "b"], 4, p=np.array([0.25, 0.75])),
        lambda np, rng: rng.permutation(np.arange(9)),
        lambda np, rng: rng.permutation(9),
        lambda np, rng: rng.permuted(np.arange(12).reshape(3, 4), axis=1),
        lambda np, rng: rng.multivariate_normal(np.zeros(2), np.eye(2), 3),
    ],
)
def test_methods_go_on_where_others_stopped(draw: Any) -> None:
    ours, theirs = pair(11)
    for _ in range(2):
        got, want = draw(np, ours), draw(numpy, theirs)
        assert type(got) is (np.ndarray if isinstance(want, numpy.ndarray) else type(want))
        numpy.testing.assert_array_equal(numpy.asarray(got), want)
    assert ours.random() == theirs.random()


def test_a_generator_that_a_program_derives_has_its_own_methods_called() -> None:
    class Loaded(np.random.Generator):  # type: ignore[misc, name-defined]
        def integers(self, *args: Any, **options: Any) -> Any:
            return numpy.zeros(options.get("size") or args[2], int)

    assert list(Loaded(np.random.PCG64(1)).choice(np.arange(5) + 3, 4)) == [3, 3, 3, 3]


CALLS = {
    "one": lambda rng: rng.random(),
    "few": lambda rng: rng.random(3),
    "a shape": lambda rng: rng.random((2, 3)),
    "named": lambda rng: rng.normal(1.0, 2.0, size=4),
    "of float32": lambda rng: rng.random(3, dtype=numpy.float32),
    "an integer": lambda rng: rng.integers(5),
    "large bounds": lambda rng: rng.integers(0, 10**12, 3),
    "integers of a dtype": lambda rng: rng.integers(0, 100, size=(2, 2), dtype="u1"),
    "of arrays": lambda rng: rng.normal(rng.random(3), 1.0),
    "chosen": lambda rng: rng.choice(7, 3),
    "moved": lambda rng: rng.permutation(5),
    "of lists": lambda rng: rng.multinomial(4, [0.25, 0.75]),
    "many": lambda rng: rng.standard_normal(40_000),
    "too negative": lambda rng: rng.random(-1),
    "too many": lambda rng: rng.random(1, 2, 3, 4),
    "no number": lambda rng: rng.random("a"),
    "bad bounds": lambda rng: rng.integers(5, 3),
    "an unknown name": lambda rng: rng.normal(mean=3),
    "bytes": lambda rng: rng.bytes(5),
}


@pytest.mark.parametrize("name", CALLS)
def test_draws_are_numpys_in_kind_value_and_error(name: str) -> None:
    def told(rng: Any) -> Any:
        try:
            found = CALLS[name](rng)
        except Exception as error:
            return type(error), str(error)
        kind = type(found)
        return "array" if kind in (numpy.ndarray, np.ndarray) else kind, numpy.asarray(found).tolist(), state(rng)

    ours, theirs = pair()
    assert type(ours) is np.random.Generator
    for _ in range(2):
        assert told(ours) == told(theirs)


def test_methods_of_generators_are_bound_named_and_pickled() -> None:
    ours, theirs = pair()
    draw, expected = ours.random, theirs.random
    assert draw.__name__ == expected.__name__
    assert numpy.array_equal(numpy.asarray(draw(3)), expected(3))
    again = pickle.loads(pickle.dumps(draw))
    assert numpy.array_equal(numpy.asarray(again(3)), expected(3))
    ours, theirs = pair()
    assert np.random.Generator.random(ours) == theirs.random()
