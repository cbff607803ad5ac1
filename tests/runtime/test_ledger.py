"""Holds the ledger: what it counts, and that recordings see what ran inside them and nothing else."""

from __future__ import annotations

import sys

import numpy
import pytest

import lazyarray
from lazyarray.native.primitives import find_site
from lazyarray.runtime.ledger import Ledger
from lazyarray.runtime.warned import line_of


def test_counts_and_recordings() -> None:
    ledger = Ledger()
    ledger.kernel("before", ("add",), 8, 8)
    with ledger.recording() as outer:
        ledger.kernel("first", ("add", "exp"), 16, 8)
        with ledger.recording() as inner:
            ledger.library_call("matmul", 100, 10)
            ledger.fallback("sort")
            ledger.fallback("sort")
        ledger.compiled()
        ledger.disk_hit()
        ledger.evaluation("asked for")
        ledger.allocation(64)
        ledger.materialisation("exp", 8, "read twice")
    ledger.compiled()
    assert [run.name for run in outer.kernels] == ["first"]
    assert outer.kernels[0].ops == ("add", "exp")
    assert (outer.bytes_read, outer.bytes_written) == (116, 18)
    assert outer.library_calls == inner.library_calls == ["matmul"]
    assert not inner.kernels
    assert inner.fallbacks == outer.fallbacks == {"sort": 2}
    assert (outer.compiles, outer.disk_hits, outer.evaluations) == (1, 1, ["asked for"])
    assert (outer.allocations, outer.bytes_allocated, len(outer.materialisations)) == (1, 64, 1)
    counts = ledger.counters()
    assert (counts["launches"], counts["compiles"], counts["fallbacks"]) == (2, 2, 2)
    assert (counts["bytes_read"], counts["bytes_written"]) == (124, 26)
    assert counts["fallbacks_by_name"] == {"sort": 2}


def test_records_are_printed_with_their_lines_and_not_what_lies_around() -> None:
    with lazyarray.config.set(backend="numpy", eager_below=0), lazyarray.record_runs() as runs:
        (lazyarray.asarray(numpy.ones(3)) + 1).tolist()
    (run,) = runs.evaluation_runs
    assert run.site is not None
    line = line_of(run.site)
    assert repr(run) == f"EvaluationRun(reason={run.reason!r}, site='{__file__}:{line}', start={run.start!r})"
    assert repr(run._replace(site=None)).endswith(f"site=None, start={run.start!r})")


def test_a_recording_ends_with_an_error() -> None:
    ledger = Ledger()
    with pytest.raises(KeyError), ledger.recording() as runs:
        raise KeyError
    ledger.fallback("sort")
    assert not runs.fallbacks


def test_snapshots_do_not_change() -> None:
    before = lazyarray.counters()
    with lazyarray.config.set(backend="numpy", eager_below=0):
        (lazyarray.asarray(numpy.ones(3)) + 1).tolist()
    after = lazyarray.counters()
    assert after["evaluations"] == before["evaluations"] + 1


def test_sites_are_the_users() -> None:
    with lazyarray.config.set(eager_below=0):
        x = lazyarray.asarray(numpy.ones(3)) + 1
        made = (x * 2, lazyarray.sin(x), lazyarray.where(x > 0, x, 1), x.reshape(3, 1) + 0)
    for array in made:
        assert array._node.site[0].co_filename == __file__
    site = find_site(sys._getframe())
    assert site is not None
    assert site[0].co_filename == __file__
