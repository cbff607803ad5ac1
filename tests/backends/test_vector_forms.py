"""How many vectors the loops of a kernel work on at once, read off the IR emitted for CPUs with AVX-512 and AVX2."""

from __future__ import annotations

import re

import numpy as np

import lazyarray as la
from lazyarray.schedule.kernel import Access, Instruction, Kernel, Reduction, Stage, Store
from lazyarray_llvm import engine
from lazyarray_llvm.lower.emit import emit

WIDE, NARROW = (engine.host()._replace(vector_bytes=n) for n in (64, 32))
I = Instruction  # noqa: E741


def loaded_lanes(kernel: Kernel, host: engine.Host = WIDE) -> set[int]:
    """Lanes of the vectors that the kernel loads of float64 inputs."""
    return {int(n) for n in re.findall(r"load(?: <|\.v)(\d+)(?: x double|f64)", emit(kernel, host, "whole"))}


def reduction_of(*ops: str) -> Kernel:
    results = tuple(Reduction(1 + n, op, 0, "f8") for n, op in enumerate(ops))
    stores = tuple(Store(1 + n, r.target) for n, r in enumerate(results))
    accesses = (Access("f8", ("s", "1")), *(Access("f8", ("s", "0")) for _ in ops))
    stages = (Stage("full", (I(0, "load", (), "f8", 0),), reductions=results), Stage("row", (), stores=stores))
    return Kernel(("p", "r"), accesses, (), stages)


def test_a_sum_alone_takes_one_vector_at_once() -> None:
    assert max(loaded_lanes(reduction_of("sum"))) == 8


def test_extremes_beside_a_sum_are_chains_of_their_own() -> None:
    assert max(loaded_lanes(reduction_of("sum", "min", "max"))) == 32


def test_reductions_of_one_walk_fit_into_sixteen_registers() -> None:
    assert max(loaded_lanes(reduction_of("sum", "min"), NARROW)) == 32
    assert max(loaded_lanes(reduction_of("sum", "min", "max"), NARROW)) == 16, "with 32, ten of 18 registers spill"
    assert max(loaded_lanes(reduction_of("min", "max", "fmin", "fmax"), NARROW)) == 8


def test_rows_end_with_vectors_of_the_least_width() -> None:
    assert loaded_lanes(reduction_of("min", "max"), NARROW) == {16, 4}
    assert loaded_lanes(reduction_of("sum", "min", "max"), NARROW) == {16, 8}, "sums are of eight lanes"


def test_bits_go_from_block_to_block_as_bytes_where_masks_are_vectors() -> None:
    stage = Stage("full", (I(0, "load", (), "b1", 0),), reductions=(Reduction(1, "any", 0, "b1"),))
    accesses = (Access("b1", ("s", "1")), Access("b1", ("s", "0")))
    kernel = Kernel(("p", "r"), accesses, (), (stage, Stage("row", (), stores=(Store(1, 1),))))
    assert "phi <64 x i8>" in emit(kernel, NARROW, "whole")
    assert not re.search(r"phi <\d+ x i1>", emit(kernel, NARROW, "whole"))
    assert "phi <64 x i1>" in emit(kernel, WIDE, "whole") or "phi <128 x i1>" in emit(kernel, WIDE, "whole")


def chain_of(*ops: str) -> Kernel:
    """x op y op y ..., float64."""
    body = [I(0, "load", (), "f8", 0), I(1, "load", (), "f8", 1)]
    for op in ops:
        body.append(I(len(body), op, (len(body) - 1 if len(body) > 2 else 0, 1), "f8"))
    stage = Stage("full", tuple(body), stores=(Store(2, len(body) - 1),))
    return Kernel(("p",), (Access("f8", ("1",)),) * 3, (), (stage,))


def test_a_long_chain_that_divides_works_on_two_vectors_at_once() -> None:
    assert max(loaded_lanes(chain_of(*["add", "divide"] * 30))) == 16
    assert max(loaded_lanes(chain_of(*["add", "divide"] * 300))) == 8, "compiling it twice as wide takes too long"


def tree_of(leaves: int) -> Kernel:
    """(x + x0) + (x + x1) + ..., float64: short chains side by side."""
    body = [I(0, "load", (), "f8", 0), *(I(1 + k, "scalar", (), "f8", k) for k in range(leaves))]
    level = []
    for k in range(leaves):
        body.append(I(len(body), "add", (0, 1 + k), "f8"))
        level.append(len(body) - 1)
    while len(level) > 1:
        pairs = list(zip(level[::2], level[1::2], strict=True))
        level = []
        for a, b in pairs:
            body.append(I(len(body), "add", (a, b), "f8"))
            level.append(len(body) - 1)
    stage = Stage("full", tuple(body), stores=(Store(1, level[0]),))
    return Kernel(("p",), (Access("f8", ("1",)),) * 2, ("f8",) * leaves, (stage,))


def test_a_body_that_is_one_chain_works_on_as_many_vectors_as_hide_its_latency() -> None:
    assert max(loaded_lanes(chain_of(*["add"] * 30))) == 8, "a short body: the next vectors overlap by themselves"
    assert max(loaded_lanes(chain_of(*["add"] * 200))) == 32
    assert max(loaded_lanes(chain_of(*["add"] * 500))) == 8, "compiling it wider takes too long"
    assert max(loaded_lanes(tree_of(64))) == 8, "operations side by side leave no gaps"


def test_with_avx2_chains_work_on_several_vectors_too() -> None:
    assert max(loaded_lanes(chain_of(*["add"] * 10), NARROW)) == 8, "a short body takes two"
    assert max(loaded_lanes(chain_of(*["add"] * 40), NARROW)) == 16
    assert max(loaded_lanes(chain_of(*["add"] * 200), NARROW)) == 16
    assert max(loaded_lanes(chain_of(*["add", "divide"] * 10), NARROW)) == 8
    assert max(loaded_lanes(chain_of(*["add"] * 1000), NARROW)) == 4, "compiling it wider takes too long"
    assert max(loaded_lanes(tree_of(16), NARROW)) == 4, "operations side by side leave no gaps"


def test_chains_on_many_vectors_have_numpys_bits_at_every_length() -> None:
    draw = np.random.default_rng(2)
    for n in (1, 7, 8, 9, 31, 32, 33, 63, 65, 1000):
        x, y = draw.uniform(0.5, 2.0, n), draw.uniform(0.5, 2.0, n)
        expected, got = x, la.array(x)
        with la.config.set(eager_below=0):
            for _ in range(50):
                expected, got = expected * 0.99 + y * 0.01, got * 0.99 + la.array(y) * 0.01
            np.testing.assert_array_equal(np.asarray(got), expected)


def test_chains_on_two_vectors_have_numpys_bits_at_every_length() -> None:
    draw = np.random.default_rng(1)
    for n in (1, 7, 8, 9, 15, 16, 17, 31, 33, 1000):
        x, y = draw.uniform(0.5, 2.0, n), draw.uniform(0.5, 2.0, n)
        z = x + 1j * y
        expected, got = (x, z), (la.array(x), la.array(z))
        with la.config.set(eager_below=0):
            for _ in range(12):
                expected = (expected[0] / y + x) * y - x, np.where(np.abs(expected[1]) < 4, expected[1] ** 2 + z, z)
                got = (got[0] / la.array(y) + x) * y - x, la.where(abs(got[1]) < 4, got[1] ** 2 + la.array(z), z)
            np.testing.assert_array_equal(np.asarray(got[0]), expected[0])
            np.testing.assert_array_equal(np.asarray(got[1]), expected[1])


def position_of(code: str) -> Kernel:
    stages = (
        Stage("full", (I(0, "load", (), code, 0),), reductions=(Reduction(1, "argmax", 0, "i8"),)),
        Stage("row", (), stores=(Store(1, 1),)),
    )
    return Kernel(("p", "r"), (Access(code, ("s", "1")), Access("i8", ("s", "0"))), (), stages)


def test_places_in_a_row_are_counted_in_lanes_as_wide_as_the_values() -> None:
    assert "<64 x i64>" not in (text := emit(position_of("f4"), WIDE, "whole"))
    assert "select <16 x i1>" in text
    assert "<8 x i64>" in emit(position_of("f8"), WIDE, "whole")


def test_a_best_of_wide_values_is_one_vector_and_looks_for_nans_only_where_there_are_some() -> None:
    text = emit(position_of("f8"), NARROW, "whole")
    loop, narrow = (text.split(f"j.loop.{n}:", 1)[1].split("j.done", 1)[0] for n in (1, 2))
    assert loop.count("fcmp uno") == 2  # of two vectors each
    assert narrow.count("fcmp uno") == 1
    assert loop.count("phi <4 x") == narrow.count("phi <4 x") == 3  # the best, its place, and where NaNs are noted
    assert "j.loop.3" in text  # the look for the first
    assert "j.loop.3" not in emit(position_of("i8"), NARROW, "whole")


def test_positions_are_numpys_among_equals_nans_and_infinities_at_every_length() -> None:
    draw = np.random.default_rng(4)
    for code in ("f2", "f4", "f8", "i1", "u2", "i4", "u8"):
        for n in (1, 2, 15, 16, 63, 64, 65, 130, 1000, 70_001):
            x = draw.integers(0, 5, (3, n)).astype(code)
            if code[0] == "f":
                x[1] = -np.inf
                x[2, n // 2 :: 3] = np.nan
            y = la.array(x)
            with la.config.set(eager_below=0):
                for axis in (0, 1, None):
                    for name in ("argmax", "argmin"):
                        got = getattr(la, name)(y, axis=axis)
                        np.testing.assert_array_equal(np.asarray(got), getattr(np, name)(x, axis=axis))


def test_what_is_chosen_of_two_halves_is_not_widened_again() -> None:
    body = (I(0, "load", (), "f2", 0), I(1, "load", (), "f2", 1), I(2, "maximum", (0, 1), "f2"))
    body += (I(3, "minimum", (2, 0), "f2"), I(4, "multiply", (3, 1), "f2"))
    stage = Stage("full", body, stores=(Store(2, 4),))
    text = emit(Kernel(("p",), (Access("f2", ("1",)),) * 3, (), (stage,)), NARROW, "whole")
    widened = set(re.findall(r"fpext <\d+ x half> (\S+) to", text))
    assert widened
    assert all(name.startswith("%in") for name in widened), f"only what was loaded, not {widened}"


def test_chosen_halves_are_numpys_whether_read_as_halves_or_on_the_way() -> None:
    ends = np.array([0.0, 6e-8, 6.1e-5, 0.1, 1.0, 2049.0, 65504.0, np.inf, np.nan])
    every = np.concatenate([ends, -ends]).astype("f2")
    x, y = np.repeat(every, 18 * 16), np.tile(np.repeat(every, 16), 18)
    for op in ("maximum", "minimum", "fmax", "fmin"):
        with la.config.set(eager_below=0), np.errstate(all="ignore"):
            lazy = getattr(la, op)(la.array(x), la.array(y))
            results = [np.asarray(each) for each in (lazy, lazy * la.array(y), la.fmin(lazy, 3.0) - lazy)]
            chosen = getattr(np, op)(x, y)
            expected = [chosen, chosen * y, np.fmin(chosen, np.float16(3.0)) - chosen]
        for found, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
            number = ~np.isnan(wanted)
            np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(wanted[number]))
