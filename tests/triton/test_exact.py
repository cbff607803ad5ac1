"""Quotients and roots that several elements of a thread take together: their PTX, on the host."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("triton")

from lazyarray_triton.device import exact
from tests.triton.ptx import Lane

TEXTS = {
    ("divide", "f4"): exact._DIVIDE_4,
    ("divide", "f8"): exact._DIVIDE_2,
    ("reciprocal", "f4"): exact._RECIPROCAL_4,
    ("reciprocal", "f8"): exact._RECIPROCAL_2,
    ("sqrt", "f4"): exact._ROOT_4,
    ("sqrt", "f8"): exact._ROOT_2,
}


def arguments(op: str, code: str, count: int) -> list[np.ndarray]:
    """Ordinary numbers, numbers of all magnitudes and edges of what a guess covers, each with each."""
    numbers = np.random.default_rng(3)
    width = int(code[1:])
    plain = numbers.uniform(0.5, 4, (2, count)).astype(code)
    wide = numbers.integers(0, 1 << 8 * width, (2, count), f"u{width}").view(code)
    limits = np.finfo(code)
    edges: list[float] = [
        0.0,
        1.0,
        np.inf,
        np.nan,
        3.0,
        *map(float, (limits.max, limits.tiny, limits.smallest_subnormal)),
    ]
    edges += [2.0**k for k in range(limits.maxexp - 10, limits.maxexp)] + [2.0**limits.minexp * 2**k for k in range(10)]
    edges += [1e166 if width == 8 else 1e20, 1e-166 if width == 8 else 1e-20]
    near = np.array([float(v) for edge in edges for v in (edge, -edge)], code)
    near = np.concatenate([near, np.nextafter(near, np.zeros_like(near)), np.nextafter(near, np.full_like(near, 2))])
    pairs = [np.repeat(near, len(near)), np.tile(near, len(near))] if op == "divide" else [near, near]
    return [np.concatenate([plain[k], wide[k], pairs[k]]) for k in range(2 if op == "divide" else 1)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("op", "code"), TEXTS)
def test_their_bits_are_numpys_at_all_magnitudes(op: str, code: str) -> None:
    given = arguments(op, code, 1000)
    count = 4 if code == "f4" else 2
    lane = Lane(TEXTS[op, code].value, "f32" if code == "f4" else "f64")
    used = len(given[0]) // count * count
    got = np.empty(used, code)
    for at in range(0, used, count):
        got[at : at + count], _ = lane.run(count, [float(v) for a in given for v in a[at : at + count]])
    np.testing.assert_array_equal(got, getattr(np, op)(*[a[:used] for a in given]))


@pytest.mark.parametrize(("op", "code"), TEXTS)
def test_ordinary_numbers_go_the_short_way(op: str, code: str) -> None:
    count = 4 if code == "f4" else 2
    lane = Lane(TEXTS[op, code].value, "f32" if code == "f4" else "f64")
    given = [0.75 + k for k in range(count * (2 if op == "divide" else 1))]
    assert lane.run(count, given)[1]


def test_inverses_of_counts_are_rounded_once() -> None:
    counts = np.concatenate([np.arange(1, 3000), 2 ** np.arange(12, 25), 2 ** np.arange(12, 25) - 1]).astype("f4")
    lane = Lane(exact._INVERSE_OF_COUNT.value, "f32")
    got = [lane.run(1, [float(count)])[0][0] for count in counts]
    np.testing.assert_array_equal(np.array(got, "f4"), np.float32(1) / counts)
