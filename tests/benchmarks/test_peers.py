"""Holds that the programs measured beside other compilers give NumPy's results, and that a wrong result is found."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks import peer_sides, peers
from benchmarks.peer_workloads import CASES, Case
from benchmarks.workloads import black_scholes

SMALL = [case for case in CASES if case.elements <= 102_400]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: f"{case.name}, {case.size}")
def test_the_program_gives_numpys_results(case: Case) -> None:
    inputs = case.make_inputs(np.random.default_rng(1))
    expected = [np.array(result) for result in case.run(np, *(array.copy() for array in inputs))]
    got = peer_sides.make_lazyarray(case, inputs)()
    assert peers.find_difference(expected, got) is None


def test_numba_gets_the_program_with_numpy_by_name() -> None:
    bound: list[Callable[..., Any]] = []

    def bind(function: Callable[..., Any]) -> Callable[..., Any]:
        bound.append(peer_sides.bind_module(function, bind))
        return bound[-1]

    inputs = np.full(3, 20.0), np.full(3, 30.0), np.ones(3)
    for want, have in zip(black_scholes(np, *inputs), bind(black_scholes)(*inputs), strict=True):
        assert np.array_equal(want, have)
    assert {function.__name__ for function in bound} == {"normal_cdf", "black_scholes"}


@pytest.mark.parametrize(
    "have",
    [np.array([1.0, 2.001]), np.array([1.0, np.nan]), np.array([1.0, 2.0], np.float32), np.ones((1, 2))],
)
def test_other_results_of_a_peer_are_found(have: np.ndarray[Any, Any]) -> None:
    assert peers.find_difference([np.array([1.0, 2.0])], [have]) is not None
    assert peers.find_difference([np.array([1.0, 2.0])], [np.array([1.0, 2.0 + 1e-14])]) is None
