"""The property suite's own parts: the comparer sees what it must, the bounds follow the data."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy
import pytest

from tests.property.draw import SeededChooser, build_program, power_rule
from tests.property.programs import Bound, Step, compare, differ, minimise, run, ulp_distance
from tests.property.shadow import Refused, Shadow, admit, shadow_of


def array(*items: Any, dtype: str = "f8") -> numpy.ndarray[Any, Any]:
    return numpy.array(items, dtype)


@pytest.mark.parametrize(
    ("expected", "actual", "bound"),
    [
        (array(0.0), array(-0.0), Bound()),
        (array(1.0), array(numpy.nextafter(1.0, 2.0)), Bound()),
        (array(1.0), array(1.0, dtype="f4"), Bound()),
        (array(1.0), array(1.0, 1.0), Bound()),
        (array(numpy.nan), array(1.0), Bound(ulp=4)),
        (array(numpy.inf), array(-numpy.inf), Bound(absolute=1.0)),
        (array(1.0), array(1.0 + 5 * 2.0**-52), Bound(ulp=4)),
        (array(1 + 2j, dtype="c16"), array(1 + 3j, dtype="c16"), Bound(ulp=4)),
    ],
)
def test_differ_sees(expected: Any, actual: Any, bound: Bound) -> None:
    assert differ(expected, actual, bound) is not None


@pytest.mark.parametrize(
    ("expected", "actual", "bound"),
    [
        (array(numpy.nan, -0.0), array(-numpy.nan, -0.0), Bound()),
        (array(1.0), array(1.0 + 4 * 2.0**-52), Bound(ulp=4)),
        (array(0.0), array(-0.0), Bound(ulp=1)),
        (array(1.0, dtype="f4"), array(1.001, dtype="f4"), Bound(absolute=0.01)),
    ],
)
def test_differ_allows(expected: Any, actual: Any, bound: Bound) -> None:
    assert differ(expected, actual, bound) is None


def test_ulp_distance_counts_across_zero() -> None:
    tiny = numpy.finfo("f4").smallest_subnormal
    assert ulp_distance(array(-tiny, dtype="f4"), array(tiny, dtype="f4"))[0] == 2


def test_a_bound_follows_the_buffer_through_views_and_writes() -> None:
    steps = (
        Step("v0 = np.array([1.0, 2.0, 3.0])", "exact", (), "v0"),
        Step("v1 = np.sin(v0)", "transcendental", ("v0",), "v1"),
        Step("v2 = v1[1:]", "move", ("v1",), "v2"),
        Step("v0[:2] = v2", "move", ("v2",), "v0"),
        Step("v3 = v0 * 2", "multiply", ("v0",), "v3", 2.0),
        Step("v4 = np.zeros(3)", "exact", (), "v4"),
    )
    limits = shadow_of(steps).limits[len(steps)]
    assert limits["v2"].ulp == limits["v0"].ulp == 4
    assert 0 < limits["v3"].absolute < 1e-13
    assert limits["v4"].is_exact


def test_logaddexp_may_err_by_what_its_terms_round_where_they_cancel() -> None:
    steps = (
        Step("v0 = np.array([-0.7065504328, 3.0])", "exact", (), "v0"),
        Step("v1 = np.logaddexp(v0, v0)", "transcendental", ("v0",), "v1"),
        Step("v2 = np.hypot(v0, v0)", "transcendental", ("v0",), "v2"),
    )
    limits = shadow_of(steps).limits[len(steps)]
    assert 0 < limits["v1"].absolute < 8 * numpy.finfo("f8").eps
    assert limits["v1"].ulp == 4
    assert limits["v2"].absolute == 0.0


def test_a_transcendental_result_is_as_exact_as_the_loop_that_its_operands_choose() -> None:
    steps = (
        Step("v0 = np.array([1.5, 0.25], 'f4')", "exact", (), "v0"),
        Step("v1 = np.zeros(2)", "exact", (), "v1"),
        Step("np.arctan2(v0, v0, out=v1)", "transcendental", ("v0",), "v1"),
        Step("v2 = np.arctan2(v0, v0)", "transcendental", ("v0",), "v2"),
    )
    limits = shadow_of(steps).limits[len(steps)]
    assert 1e-7 < limits["v1"].absolute < 1e-6
    assert limits["v2"].absolute == 0.0


def test_the_sign_of_a_nan_that_the_step_writes_over_is_refused() -> None:
    shadow = Shadow()
    shadow, _ = admit(shadow, Step("v0 = np.array([np.nan, 1.0])", "exact", (), "v0"))
    with pytest.raises(Refused):
        shadow.apply(Step("np.copysign(1.0, v0, out=v0)", "sign of nan", ("v0",), "v0"))


def test_a_power_of_unsigned_and_signed_integers_is_a_float() -> None:
    assert power_rule("transcendental", numpy.uint64(3), numpy.int8(2)) == "transcendental"
    assert power_rule("transcendental", numpy.int8(3), 2) == "exact"


def test_a_running_product_is_exact_but_for_complex_pairs() -> None:
    steps = (
        Step("v0 = np.array([[1.5 + 2j, 3j, 1.0], [1j, 0.5, 2j]])", "exact", (), "v0"),
        Step("v1 = np.cumprod(v0, axis=0)", "running product", ("v0",), "v1"),
        Step("v2 = v0[0]", "move", ("v0",), "v2"),
        Step("v3 = np.cumprod(v2)", "running product", ("v2",), "v3"),
    )
    limits = shadow_of(steps).limits[len(steps)]
    assert 0 < limits["v1"].absolute < 1e-14
    assert limits["v3"].is_exact


def test_a_discontinuous_function_of_an_inexact_value_is_refused() -> None:
    shadow = Shadow()
    shadow, _ = admit(shadow, Step("v0 = np.ones(3)", "exact", (), "v0"))
    shadow, _ = admit(shadow, Step("v1 = np.exp(v0)", "transcendental", ("v0",), "v1"))
    with pytest.raises(Refused):
        shadow_of(shadow.steps).apply(Step("v2 = np.floor(v1)", "exact", ("v1",), "v2"))
    shadow, admitted = admit(shadow, Step("v2 = np.floor(v1)", "exact", ("v1",), "v2"))
    assert not admitted
    assert "v2" not in shadow.env


def test_drawn_programs_reach_every_rule_and_raise_errors() -> None:
    rules: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for seed in range(400):
        program, shadow = build_program(SeededChooser(seed))
        rules.update(step.rule for step in program)
        errors.update(name for name, _ in shadow.trace.errors.values())
        assert not compare(shadow.trace, run(program, numpy, "each"), shadow.limits)
    assert {
        "move",
        "add",
        "multiply",
        "divide",
        "transcendental",
        "sum",
        "scan",
        "contraction",
    } <= rules.keys()
    assert {"TypeError", "ValueError", "IndexError"} <= errors.keys()
    assert sum(errors.values()) < 0.2 * sum(rules.values())


def test_minimise_keeps_only_what_fails() -> None:
    steps = tuple(Step(f"v{i} = np.zeros({i})", "exact", (), f"v{i}") for i in range(8))
    assert minimise(steps, lambda p: any("v5" in s.source for s in p)) == (steps[5],)
