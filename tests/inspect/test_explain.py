"""`explain` tells what will run and what ran, with the user's lines and the reasons for what costs."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import lazyarray as np
from lazyarray.errors import InspectError

HERE = str(Path(__file__))


def source(rows: int = 100) -> np.ndarray:
    return np.asarray(numpy.random.default_rng(0).random((rows, 200)))


def test_a_pending_array_is_planned_and_stays_pending() -> None:
    x = source()
    y = np.sin(x) * 2.0 + 1.0
    with np.record_runs() as runs:
        found = np.explain(y)
    assert not runs.kernels
    assert not found.evaluated
    (kernel,) = found.kernels
    assert [operation.name for operation in kernel.operations] == ["sin", "multiply", "add"]
    assert {o.line.text for o in kernel.operations if o.line} == {"y = np.sin(x) * 2.0 + 1.0"}
    assert {o.line.file for o in kernel.operations if o.line} == {HERE}
    assert (kernel.bytes_read, kernel.bytes_written) == (x.nbytes, x.nbytes)
    assert found.unfused == 6 * x.nbytes  # three passes, each reads and writes


def test_an_evaluated_array_tells_what_made_it() -> None:
    y = np.evaluate(np.exp(source()) - 1.0)
    found = np.explain(y)
    assert found.evaluated
    assert [operation.name for operation in found.kernels[0].operations] == ["exp", "subtract"]


def test_inputs_and_small_arrays_were_made_by_no_kernel() -> None:
    found = np.explain(np.ones(3), np.ones(3) + 1.0)
    assert not found.kernels
    assert found.at_once == 2


def test_a_cut_says_why() -> None:
    x = source()
    found = np.explain(x.sum(axis=0) + 1.0, np.ones((7, 5000)) + 2.0)
    assert "its loops have other extents" in str(found)


def test_values_that_nobody_asked_for_say_why_they_are_in_memory() -> None:
    x = source(200)
    found = np.explain((x + 1.0) @ (x - 1.0).T)
    assert {reason.why for reason in found.reasons} == {"the library call matmul reads it"}
    assert {reason.what for reason in found.reasons} == {"312.5 KiB in memory that nobody asked for"}
    assert [call.name for call in found.calls] == ["matmul"]


def test_a_call_tells_its_fallbacks_and_early_evaluations() -> None:
    def program(x: np.ndarray) -> np.ndarray:
        with np.errstate(divide="raise"):
            y = 1.0 / (x + 1.0)
        return np.sort(y + 1.0) * 2.0

    found = np.explain(program, source())
    assert [reason.what for reason in found.reasons if "NumPy" in reason.what] == ["sort ran in NumPy, 1 time"]
    assert any("np.errstate" in reason.edit for reason in found.reasons)
    assert [o.name for k in found.kernels for o in k.operations] == ["add", "multiply"]


def test_other_things_are_refused() -> None:
    with pytest.raises(InspectError, match="not list"):
        np.explain([1, 2])
    with pytest.raises(InspectError, match="takes arrays"):
        np.explain()


def test_notebooks_get_html() -> None:
    assert np.explain(source() < 1.0)._repr_html_().startswith("<pre>will run 1 kernel")
