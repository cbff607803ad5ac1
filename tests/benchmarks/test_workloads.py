"""Holds that the benchmarks' workloads give NumPy's results, at small sizes, and that comparing can fail."""

import numpy as np
import pytest

import lazyarray
from benchmarks import harness, main_job
from benchmarks.workloads import WORKLOADS, Workload


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_the_workload_gives_numpys_results(workload: Workload) -> None:
    inputs = list(workload.make_inputs(np.random.default_rng(1), 1000))
    lazy_inputs = [lazyarray.asarray(array.copy()) for array in inputs]
    expected = workload.run(np, *inputs)
    got = workload.run(lazyarray, *lazy_inputs)
    lazyarray.evaluate(*got)
    assert main_job.is_close(harness.compare(expected, got), inputs[0])


def test_compare_measures_ulps() -> None:
    one = np.array([1.0, -1.0, 0.0, np.nan, np.inf])
    assert str(harness.compare([one], [one.copy()])) == "exact"
    other = one.copy()
    other[0] = np.nextafter(np.nextafter(1.0, 2.0), 2.0)
    other[2] = -0.0
    assert harness.compare([one], [other]).ulp == 2
    other[2] = -5e-324
    assert harness.compare([one[2:3]], [other[2:3]]).ulp == 1


@pytest.mark.parametrize(
    ("want", "have"),
    [
        (np.zeros(3), np.zeros(3, dtype=np.float32)),
        (np.zeros(3), np.zeros((3, 1))),
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([1.0, np.nan]), np.array([1.0, 2.0])),
    ],
)
def test_compare_refuses_other_kinds_of_result(want: object, have: object) -> None:
    with pytest.raises(ValueError, match=r".+"):
        harness.compare([want], [have])


def test_tables_are_markdown() -> None:
    text = harness.format_table(["name", "ms", "note"], [["a", "1.25", ""], ["long name", "10", "x"]])
    assert text.splitlines() == [
        "| name      |   ms | note |",
        "| --------- | ---: | ---- |",
        "| a         | 1.25 |      |",
        "| long name |   10 | x    |",
    ]
