"""The runner of NumPy's suite: what it swaps, what it evaluates, and what it counts as failed."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import lazyarray
from tests.numpy_compat import run, share, suite, swap

FILE = "numpy/_core/tests/test_made_up.py"


def run_swapped(source: str) -> dict[str, Any]:
    """The names of a test module after it ran with its imports swapped and its statements evaluated."""
    tree = ast.fix_missing_locations(swap.TestRewriter().visit(ast.parse(source)))
    space: dict[str, Any] = {swap.EVALUATE: swap.evaluate_here}
    with lazyarray.config.set(eager_below=0):
        exec(compile(tree, "swapped", "exec"), space)
    return space


def test_a_test_module_sees_lazyarray() -> None:
    space = run_swapped("import numpy as np\nfrom numpy import sum as total\nfrom numpy.linalg import norm\n")
    assert space["np"] is lazyarray
    assert space["total"] is lazyarray.sum
    assert space["norm"] is lazyarray.linalg.norm


BLOCK = """
import numpy as np, pytest
x = np.zeros(4) + 1
with {block}:
    {statement}
"""


@pytest.mark.parametrize("statement", ["x / 0", "y = x / 0", "x /= 0", "x[:2] = x[:2] / 0", "(lambda: x / 0)()"])
def test_a_statement_that_waits_for_an_error_is_evaluated_in_its_block(statement: str) -> None:
    with lazyarray.record_runs() as runs, lazyarray.errstate(all="ignore"):
        run_swapped(BLOCK.format(block="np.errstate(over='ignore')", statement=statement))
    assert any("divide" in kernel.ops for kernel in runs.kernels)


def test_a_statement_outside_such_blocks_stays_pending() -> None:
    with lazyarray.record_runs() as runs:
        run_swapped("import numpy as np\nx = np.zeros(4) + 1\ny = x / 2\n")
    assert runs.kernels == []


def write_events(folder: Path, *events: dict[str, Any]) -> Path:
    path = folder / "events"
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return path


def ended(test: str, outcome: str = "passed", touched: bool = True) -> dict[str, Any]:
    return {"test": f"{FILE}::{test}", "outcome": outcome, "cause": "", "touched": touched}


def judge(events: Path, *tests: str) -> run.FileResult:
    return run.judge(FILE, [f"{FILE}::{test}" for test in tests], run.read_outcomes(events, "killed"))


def test_a_crash_fails_the_test_it_happens_in_and_those_after_it(tmp_path: Path) -> None:
    names = [f"{FILE}::test_{name}" for name in "abc"]
    events = write_events(
        tmp_path, {"collected": names}, {"start": names[0]}, ended("test_a"), {"start": names[1]}
    )  # fmt: skip
    result = judge(events, "test_a", "test_b", "test_c")
    assert result.passed == names[:1]
    assert result.failed == {names[1]: "stopped here: killed", names[2]: "not run: killed"}


def test_what_is_skipped_or_not_collected_fails_and_what_never_uses_lazyarray_is_not_counted(tmp_path: Path) -> None:
    collected = {"collected": [f"{FILE}::test_{name}" for name in "ab"]}
    skipped = ended("test_b", "skipped")
    events = write_events(tmp_path, collected, ended("test_a", touched=False), skipped, {"end": 0})
    result = judge(events, "test_a", "test_b", "test_c")
    assert (result.passed, result.untouched) == ([], 1)
    assert sorted(result.failed) == [f"{FILE}::test_b", f"{FILE}::test_c"]


def test_cases_that_are_called_differently_here_are_matched_by_their_order(tmp_path: Path) -> None:
    collected = {"collected": [f"{FILE}::test_a[one]", f"{FILE}::test_a[two]"]}
    events = write_events(tmp_path, collected, ended("test_a[one]"), ended("test_a[two]", "failed"), {"end": 0})
    result = judge(events, "test_a[1]", "test_a[2]")
    assert result.passed == [f"{FILE}::test_a[1]"]
    assert list(result.failed) == [f"{FILE}::test_a[2]"]


def test_a_function_passes_if_all_its_cases_do(tmp_path: Path) -> None:
    collected = {"collected": [f"{FILE}::test_a[1]", f"{FILE}::test_a[2]"]}
    events = write_events(tmp_path, collected, ended("test_a[1]"), ended("test_a[2]", "failed"), {"end": 0})
    total = run.Total([judge(events, "test_a[1]", "test_a[2]")])
    assert (total.cases, total.functions) == ((1, 2), (0, 1))


def test_every_exclusion_and_known_failure_names_a_test_that_is_run_here() -> None:
    named = [pattern for pattern, _, _ in suite.exclusions()]
    named += [test for tests in share.known_failures().values() for test in tests]
    files = suite.find_files()
    for test in named:
        file, _, inside = suite.function_of(test).partition("::")
        assert file in files, test
        names_a_function = "test_" in inside
        assert not (names_a_function and suite.held_back(test)), test
