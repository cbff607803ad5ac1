"""Random programs: lazyarray gives NumPy's arrays, and the same bits wherever evaluation falls."""

from __future__ import annotations

import os
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lazyarray
from lazyarray.config import config
from tests.property.draw import HypothesisChooser, build_program
from tests.property.programs import Policy, Program, Trace, compare, run, to_script
from tests.property.shadow import Shadow

POLICIES: tuple[Policy, ...] = ("never", "each", "drawn")
SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
SETTINGS = settings(
    max_examples=5000 if SOAK else 75,
    derandomize=not SOAK,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=SOAK,
)


@st.composite
def programs(draw: st.DrawFn, most_steps: int = 16 if SOAK else 10) -> tuple[Program, Shadow]:
    return build_program(HypothesisChooser(draw), draw(st.integers(1, most_steps)))


def report(program: Program, title: str, problems: list[str]) -> str:
    return "\n".join([title, *problems, "", to_script(program)])


@pytest.mark.parametrize("eager_below", [None, 0], ids=["small arrays eager", "all recorded"])
@SETTINGS
@given(drawn=programs())
def test_programs_equal_numpy_wherever_they_are_evaluated(
    drawn: tuple[Program, Shadow], eager_below: int | None
) -> None:
    program, shadow = drawn
    changed: dict[str, Any] = {} if eager_below is None else {"eager_below": eager_below}
    traces: dict[Policy, Trace] = {}
    with config.set(**changed):
        for policy in POLICIES:
            traces[policy] = run(program, lazyarray, policy)
    for policy, trace in traces.items():
        problems = compare(shadow.trace, trace, shadow.limits)
        assert not problems, report(program, f"differs from NumPy, evaluated: {policy}", problems)
    for policy in ("never", "drawn"):
        problems = compare(traces["each"], traces[policy])
        assert not problems, report(program, f"bits differ, evaluated: {policy}", problems)


@SETTINGS
@given(drawn=programs())
def test_eager_and_compiled_give_the_same_bits(drawn: tuple[Program, Shadow]) -> None:
    program, _ = drawn
    eager = run(program, lazyarray, "never")
    with config.set(eager_below=0):
        compiled = run(program, lazyarray, "never")
    problems = compare(eager, compiled)
    assert not problems, report(program, "eager and compiled differ", problems)


@SETTINGS
@given(drawn=programs())
def test_first_evaluations_and_compiled_ones_give_the_same_bits(drawn: tuple[Program, Shadow]) -> None:
    program, _ = drawn
    with config.set(eager_below=1, compile_at=1 << 30):
        interpreted = run(program, lazyarray, "never")
    with config.set(eager_below=1, compile_at=1):
        compiled = run(program, lazyarray, "never")
    problems = compare(interpreted, compiled)
    assert not problems, report(program, "first evaluations and compiled ones differ", problems)


@SETTINGS
@given(drawn=programs())
def test_with_numpys_loops_the_bits_are_numpys(drawn: tuple[Program, Shadow]) -> None:
    program, shadow = drawn
    with config.set(numerics="numpy", eager_below=0):
        trace = run(program, lazyarray, "never")
    problems = compare(shadow.trace, trace)
    assert not problems, report(program, "bits differ from NumPy's", problems)


@SETTINGS
@given(drawn=programs())
def test_numpy_itself_passes(drawn: tuple[Program, Shadow]) -> None:
    program, shadow = drawn
    for policy in POLICIES:
        problems = compare(shadow.trace, run(program, numpy, policy), shadow.limits)
        assert not problems, report(program, "the suite itself is at fault", problems)
