"""Exponentials and logarithms that several elements of a thread take together: their PTX, on the host."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("triton")

from lazyarray_triton.device import exponential
from tests.triton.ptx import Lane

TEXTS = {
    ("exp", "f8"): (exponential._EXP_WIDE_2, exponential._EXP_WIDE_1),
    ("log", "f4"): (exponential._LOG_4, exponential._LOG_1),
    ("log", "f8"): (exponential._LOG_WIDE_2, exponential._LOG_WIDE_1),
}
EVERY = pytest.mark.parametrize(("op", "code"), TEXTS)


def usual(op: str, code: str, count: int) -> np.ndarray:
    numbers = np.random.default_rng(4)
    if op == "exp":
        parts = [numbers.uniform(-708, 708, count), numbers.uniform(-1, 1, count), numbers.normal(0, 1e-4, count)]
    else:
        most = 37 if code == "f4" else 307
        parts = [10.0 ** numbers.uniform(-most, most, count), numbers.uniform(0.3, 3, count)]
        parts += [1 + numbers.normal(0, 1e-3, count), 2.0 ** np.arange(-120, 120)]
    return np.concatenate(parts).astype(code)


def unusual(op: str, code: str) -> np.ndarray:
    """Edges of what the short way covers, results that are subnormal or overflow, and what is no usual number."""
    limits = np.finfo(code)
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, *map(float, (limits.max, limits.tiny, limits.smallest_subnormal))]
    if op == "exp":
        top = float(np.log(limits.max))
        low = float(np.log(limits.tiny))
        edges += [top, np.nextafter(top, 999), top - 1, top + 1, low, low - 1, low - 8, low - 40, 1000.0, -1000.0, 1e30]
        edges += [708.0, -708.0, 709.5, -744.4, -746.0, -float(limits.max)]
    else:
        edges += [-1.0, -float(limits.tiny), float(limits.tiny) / 3, float(limits.max) / 1.5, 1.0, 2.0 / 3, 4.0 / 3]
    made = np.array(edges, code)
    with np.errstate(over="ignore"):
        near = [np.nextafter(made, np.array(way, code)) for way in (-np.inf, np.inf)]
    return np.concatenate([made, *near])


def run(text, code: str, given: np.ndarray, count: int) -> tuple[np.ndarray, list[bool]]:
    lane = Lane(text.value, "f32" if code == "f4" else "f64")
    got, short = np.empty(len(given) // count * count, code), []
    for at in range(0, len(got), count):
        got[at : at + count], left = lane.run(count, [float(v) for v in given[at : at + count]])
        short.append(left)
    return got, short


def off(op: str, got: np.ndarray, given: np.ndarray) -> float:
    """The largest error in units of the last place; infinite where it should be another special value."""
    with np.errstate(all="ignore"):
        exact = getattr(np, op)(given.astype(np.longdouble))
        rounded = exact.astype(got.dtype)
        error = np.abs(got - exact) / np.spacing(np.abs(rounded))
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    return float(
        np.max(np.where(same, np.where(np.isfinite(error), error, 0), np.where(np.isnan(error), np.inf, error)))
    )


@EVERY
def test_usual_numbers_go_the_short_way_and_are_right(op: str, code: str) -> None:
    given = usual(op, code, 800)
    got, short = run(TEXTS[op, code][0], code, given, 4 if code == "f4" else 2)
    assert all(short)
    assert off(op, got, given[: len(got)]) <= 1.25


@EVERY
def test_other_numbers_are_right(op: str, code: str) -> None:
    given = unusual(op, code)
    got, short = run(TEXTS[op, code][1], code, given, 1)
    assert not all(short)
    assert off(op, got, given) <= 1.25


@EVERY
def test_no_result_depends_on_the_elements_beside_it(op: str, code: str) -> None:
    given = usual(op, code, 150)
    count = 4 if code == "f4" else 2
    alone, _ = run(TEXTS[op, code][1], code, given, 1)
    mixed = np.full((len(given), count), np.nan, code)
    mixed[:, 0] = given
    got, short = run(TEXTS[op, code][0], code, mixed.ravel(), count)
    assert not any(short)
    np.testing.assert_array_equal(got[::count], alone)
