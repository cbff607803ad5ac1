"""What unmodified NumPy programs become: kernels, bytes, allocations and compiles, by the public record."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyarray as la

ROOT = Path(__file__).resolve().parents[2]


def given(*shape: int, seed: int = 0, dtype: str = "f8") -> tuple[Any, Any]:
    """The same random array for NumPy and for lazyarray."""
    data = np.random.default_rng(seed).uniform(0.5, 3.0, shape).astype(dtype)
    return data, la.array(data)


def activation(np: Any, x: Any, y: Any) -> Any:
    a = np.sin(x)
    b = np.cos(y)
    c = a * b
    d = c + x
    e = d * y
    return np.maximum(e, 0)


def test_the_activation_is_one_kernel_that_reads_its_inputs_and_writes_its_result() -> None:
    x, lazy_x = given(300, 500)
    y, lazy_y = given(300, 500, seed=1)
    with la.record_runs() as r:
        result = la.evaluate(activation(la, lazy_x, lazy_y))
    assert len(r.kernels) == 1
    assert r.bytes_read == x.nbytes + y.nbytes
    assert r.bytes_written == x.nbytes
    assert r.bytes_allocated == x.nbytes, "temporaries take no memory"
    assert not r.fallbacks
    np.testing.assert_allclose(np.asarray(result), activation(np, x, y), rtol=1e-13)


def test_masked_writes_into_a_computed_value_are_part_of_its_kernel() -> None:
    def clip(np: Any, x: Any) -> Any:
        y = x * 2.0
        y[x < 1.0] = 0.0
        np.copyto(y, x + 1.0, where=x > 2.5)
        return y

    x, lazy = given(300, 500)
    with la.record_runs() as r:
        result = la.evaluate(clip(la, lazy))
    assert len(r.kernels) == 1
    assert r.bytes_read == x.nbytes
    assert r.bytes_written == x.nbytes
    assert r.bytes_allocated == x.nbytes
    np.testing.assert_array_equal(np.asarray(result), clip(np, x))


def test_a_masked_write_into_memory_moves_only_what_it_must() -> None:
    x, lazy = given(300, 500)
    kept = lazy
    with la.record_runs() as r:
        lazy[lazy < 1.0] = 0.0
        la.evaluate(lazy)
    x[x < 1.0] = 0.0
    np.testing.assert_array_equal(np.asarray(kept), x)
    assert r.bytes_allocated == 0, "it is written where it lies"


def test_what_follows_from_a_running_sum_is_part_of_its_kernel() -> None:
    def smooth(np: Any, x: Any, y: Any) -> Any:
        return np.cumsum(x * y) / 3.0 + x

    (x, lazy_x), (y, lazy_y) = given(100_000), given(100_000, seed=1)
    with la.record_runs() as r:
        result = la.evaluate(smooth(la, lazy_x, lazy_y))
    assert len(r.kernels) == 1
    assert (r.bytes_read, r.bytes_written) == (x.nbytes + y.nbytes, x.nbytes)
    assert r.bytes_allocated == x.nbytes, "the sum itself takes no memory"
    np.testing.assert_array_equal(np.asarray(result), smooth(np, x, y))


def test_dear_work_stays_out_of_a_running_sum_that_one_core_runs() -> None:
    _, lazy = given(100_000)
    with la.record_runs() as r:
        la.evaluate(la.arctan(la.sin(la.cumsum(lazy))))
    assert len(r.kernels) == 2
    _, lazy = given(500, 300)
    with la.record_runs() as r:
        la.evaluate(la.arctan(la.sin(la.cumsum(lazy, axis=1))))
    assert len(r.kernels) == 1, "rows occupy all cores"


@pytest.mark.parametrize("dtype", ["i4", "f2", "f4", "c16"])
@pytest.mark.parametrize("axis", [0, 1])
def test_values_that_follow_from_running_sums_are_numpys(dtype: str, axis: int) -> None:
    def program(np: Any, x: Any) -> tuple[Any, ...]:
        running = np.cumsum(x, axis=axis)
        return running, running * 2 - x, np.cumprod(running * 0 + 1, axis=axis) + x

    x, lazy = given(70, 1001, dtype=dtype)
    for want, got in zip(program(np, x), la.evaluate(*program(la, lazy)), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize("shape", [(1,), (3, 1), (1, 4), (1, 1)])
def test_what_follows_from_running_sums_of_one_element_is_numpys(shape: tuple[int, ...]) -> None:
    def program(np: Any, x: Any) -> tuple[Any, ...]:
        return tuple(np.cumsum(x, axis=axis) * 2 - x for axis in range(len(shape)))

    with la.config.set(eager_below=0):
        x, lazy = given(*shape)
        for want, got in zip(program(np, x), la.evaluate(program(la, lazy)), strict=True):
            np.testing.assert_array_equal(np.asarray(got), want)


def test_a_copy_of_a_running_sum_is_written_beside_it() -> None:
    x, lazy = given(100_000)
    running = la.cumsum(lazy)
    copies = running, la.copy(running), la.roll(running, 0), running.copy() * 2
    for want, got in zip((1, 1, 1, 2), la.evaluate(*copies), strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.cumsum(x) * want)


def test_sums_of_repeated_values_have_the_order_of_the_array_that_repeats_them() -> None:
    x, lazy = given(40, 1, dtype="f4")
    for repeat in (lambda np, x: np.tile(x, 3), lambda np, x: np.repeat(x, 3, axis=1), lambda np, x: np.stack((x, x))):
        np.testing.assert_array_equal(np.asarray(repeat(la, lazy).sum()), repeat(np, x).sum())
        np.testing.assert_array_equal(
            np.asarray((repeat(la, lazy) * 2).sum(axis=(1, 0))), (repeat(np, x) * 2).sum((1, 0))
        )


def test_row_softmax_is_one_kernel() -> None:
    def softmax(np: Any, x: Any) -> Any:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    x, lazy = given(200, 300)
    with la.record_runs() as r:
        result = la.evaluate(softmax(la, lazy))
    assert len(r.kernels) == 1
    assert r.bytes_read == x.nbytes
    np.testing.assert_allclose(np.asarray(result), softmax(np, x), rtol=1e-13)


def test_layer_norm_is_one_kernel() -> None:
    def layer_norm(np: Any, x: Any) -> Any:
        centred = x - x.mean(axis=1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)

    x, lazy = given(200, 300)
    with la.record_runs() as r:
        result = la.evaluate(layer_norm(la, lazy))
    assert len(r.kernels) == 1
    assert r.bytes_read == x.nbytes
    np.testing.assert_array_equal(np.asarray(result), layer_norm(np, x))


def test_min_max_mean_std_of_one_array_read_it_twice() -> None:
    x, lazy = given(100_000)
    with la.record_runs() as r:
        found = [float(v) for v in (lazy.min(), lazy.max(), lazy.mean(), lazy.std())]
    passes = 1 if la.config.device.startswith("cuda") else 2  # there variances are found along
    assert len(r.kernels) == passes
    assert r.bytes_read <= passes * x.nbytes + 64
    np.testing.assert_array_equal(np.array(found), np.array([x.min(), x.max(), x.mean(), x.std()]))


def test_column_standardise_takes_three_passes() -> None:
    x, lazy = given(20_000, 8)
    with la.record_runs() as r:
        result = la.evaluate((lazy - lazy.mean(axis=0)) / lazy.std(axis=0))
    assert len(r.kernels) == (2 if la.config.device.startswith("cuda") else 3)  # there variances are found along
    np.testing.assert_array_equal(np.asarray(result), (x - x.mean(axis=0)) / x.std(axis=0))


def test_black_scholes_is_one_kernel_with_two_outputs() -> None:
    def cdf(np: Any, x: Any) -> Any:
        k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
        poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        tail = np.exp(-0.5 * x * x) * 0.3989422804014327 * poly
        return np.where(x >= 0.0, 1.0 - tail, tail)

    def prices(np: Any, spot: Any, strike: Any, years: Any) -> tuple[Any, Any]:
        spread = 0.25 * np.sqrt(years)
        d1 = (np.log(spot / strike) + (0.03 + 0.5 * 0.25**2) * years) / spread
        discounted = strike * np.exp(-0.03 * years)
        call = spot * cdf(np, d1) - discounted * cdf(np, d1 - spread)
        return call, call - spot + discounted

    inputs = [given(50_000, seed=s) for s in range(3)]
    with la.record_runs() as r:
        call, put = la.evaluate(*prices(la, *(lazy for _, lazy in inputs)))
    assert len(r.kernels) == 1
    assert len(r.kernels[0].ops) >= 30
    expected = prices(np, *(data for data, _ in inputs))
    np.testing.assert_allclose(np.asarray(call), expected[0], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(np.asarray(put), expected[1], rtol=1e-11, atol=1e-13)


def test_a_matmul_that_nobody_uses_is_not_executed() -> None:
    def program(np: Any, x: Any) -> Any:
        unused = x @ x
        kept = x + 1.0
        del unused
        return kept

    x, lazy = given(200, 200)  # short products of memory are made at once
    with la.record_runs() as r:
        result = la.evaluate(program(la, lazy))
    assert r.library_calls == []
    np.testing.assert_array_equal(np.asarray(result), x + 1.0)
    with la.record_runs() as r:
        la.evaluate(lazy @ lazy)
    assert len(r.library_calls) == 1


def test_a_common_subexpression_is_computed_once() -> None:
    _, lazy = given(10_000)
    with la.record_runs() as r:
        la.evaluate(la.exp(lazy * 0.5) + la.sqrt(la.exp(lazy * 0.5)))
    (kernel,) = r.kernels
    assert kernel.ops.count("exp") == 1


def test_a_chain_through_slices_transposes_and_broadcasts_is_one_kernel() -> None:
    def program(np: Any, x: Any) -> Any:
        return (x[1:, ::-1].T * 2.0 + x[:-1, 0]) - x[0, :, None]

    x, lazy = given(120, 90)
    with la.record_runs() as r:
        result = la.evaluate(program(la, lazy))
    assert len(r.kernels) == 1
    np.testing.assert_array_equal(np.asarray(result), program(np, x))


def heat(a: Any, b: Any, steps: int) -> Any:
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a, b = b, a
    return a


def test_a_heat_step_is_one_kernel_that_writes_the_array_in_place() -> None:
    x, lazy = given(150, 150)
    other, lazy_other = x.copy(), la.array(x)
    with la.record_runs() as r:
        result = la.evaluate(heat(lazy, lazy_other, 100))
    assert len(r.kernels) == 100
    assert r.compiles <= 1
    assert r.bytes_allocated == 0
    assert not r.materialisations
    np.testing.assert_array_equal(np.asarray(result), heat(x, other, 100))


def test_a_new_size_or_scalar_compiles_nothing() -> None:
    def program(x: Any, factor: float) -> Any:
        return la.evaluate(la.log(x * factor) - x / (factor + 2.5))

    program(given(9000)[1], 1.5)
    with la.record_runs() as r:
        for size in (5000, 7777, 123456):
            program(given(size)[1], size / 7.0)
    assert len(r.kernels) == 3
    assert r.compiles == r.disk_hits == 0


def test_a_long_loop_compiles_a_bounded_number_of_kernels_and_holds_bounded_memory() -> None:
    _, x = given(5000)
    with la.record_runs() as r:
        for k in range(3000):
            x = x * 0.999 + 0.001 * k
    assert r.compiles + r.disk_hits <= 4
    from lazyarray.ir.node import TAPE

    assert len(TAPE) <= 256
    expected = given(5000)[0]
    for k in range(3000):
        expected = expected * 0.999 + 0.001 * k
    np.testing.assert_array_equal(np.asarray(x), expected)


def test_dropped_results_are_never_computed() -> None:
    _, x = given(5000)
    with la.record_runs() as r:
        for _ in range(50):
            la.exp(x)
        gc.collect()
        la.evaluate(x + 1.0)
    assert [k.ops for k in r.kernels] == [("add",)]


PROGRAM = """
import lazyarray as np
x = np.arange(50_000.0).reshape(250, 200)
with np.record_runs() as r:
    print(float((np.sqrt(x + 1.0) * np.cos(x)).sum()), float(x.std()))
print(r.compiles, r.disk_hits)
"""


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "LAZYARRAY_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "backends"), *sys.path]),
    }
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(2)
    ]
    assert runs[0][0] == runs[1][0]
    assert int(runs[0][1].split()[0]) > 0
    assert runs[1][1].split()[0] == "0"
    assert int(runs[1][1].split()[1]) > 0


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_results_do_not_depend_on_the_number_of_threads(threads: int) -> None:
    x, lazy = given(700, 333)
    plain = np.array([np.sum(x), np.sum(np.sqrt(x) * x)])
    with la.config.set(num_threads=threads):
        total = la.evaluate(lazy.sum(), (la.sqrt(lazy) * lazy).sum(), activation(la, lazy, lazy))
        columns = np.asarray(la.evaluate(lazy.mean(axis=0)))
    np.testing.assert_array_equal(np.array([float(total[0]), float(total[1])]), plain)
    np.testing.assert_array_equal(columns, x.mean(axis=0))
    with la.config.set(num_threads=1):
        np.testing.assert_array_equal(np.asarray(total[2]), np.asarray(activation(la, lazy, lazy)))


def test_pending_results_pin_a_bounded_number_of_bytes() -> None:
    import weakref

    means, inputs = [], []
    with la.record_runs() as r, la.config.set(memory_budget=4_000_000):
        for k in range(20):
            data = np.full(100_000, float(k))
            inputs.append(weakref.ref(data))
            lazy = la.asarray(data)
            del data
            means.append(lazy.mean())
            del lazy
            assert sum(ref() is not None for ref in inputs) <= 7
    assert "the recording reached its budget" in r.evaluations
    assert [float(m) for m in means] == list(range(20))


def test_an_augmented_view_is_one_kernel_that_writes_in_place() -> None:
    with la.config.set(eager_below=0):
        x, y = (la.evaluate(la.asarray(np.arange(60.0).reshape(6, 10)) + k) for k in (0, 1))
        for _ in range(2):
            with la.record_runs() as runs:
                x[1:, 2:] -= 0.5 * (y[1:, 2:] - y[:-1, 2:])
                la.evaluate(x)
            assert [run.ops for run in runs.kernels] == [("subtract", "multiply", "subtract", "update")]
            assert not runs.materialisations
            assert not runs.bytes_allocated


def test_what_follows_a_product_is_written_over_it() -> None:
    (x, lazy_x), (y, lazy_y) = given(30_000, 8), given(8, 8, seed=1)
    with la.config.set(eager_below=0):
        for _ in range(3):
            with la.record_runs() as runs:
                result = la.evaluate(lazy_x @ lazy_y * 2.0 + 1.0)
            assert len(runs.library_calls) == len(runs.kernels) == 1
            assert runs.bytes_allocated == result.nbytes
            np.testing.assert_array_equal(np.asarray(result), x @ y * 2.0 + 1.0)


def test_a_product_that_is_still_wanted_keeps_its_memory() -> None:
    (x, lazy_x), (y, lazy_y) = given(30_000, 8), given(8, 8, seed=1)
    with la.config.set(eager_below=0):
        for _ in range(3):
            product = lazy_x @ lazy_y
            result, part, later = product * 2.0, product[::3], product - 1.0
            la.evaluate(result)
            np.testing.assert_array_equal(np.asarray(result), (x @ y) * 2.0)
            np.testing.assert_array_equal(np.asarray(part), (x @ y)[::3])
            np.testing.assert_array_equal(np.asarray(later), x @ y - 1.0)
            np.testing.assert_array_equal(np.asarray(product), x @ y)


def test_an_error_in_what_is_written_over_a_product_is_told_and_leaves_the_rest_right() -> None:
    (x, lazy_x), (y, lazy_y) = given(30_000, 8), given(8, 8, seed=1)
    with la.config.set(eager_below=0):
        for _ in range(3):
            product = lazy_x @ lazy_y
            result, later = 1.0 / (product * 0.0), product - 1.0
            del product
            with pytest.raises(RuntimeWarning, match="divide by zero"):
                np.asarray(la.evaluate(result))  # devices tell of errors when values are asked for
            np.testing.assert_array_equal(np.asarray(later), x @ y - 1.0)


@pytest.mark.parametrize("steps", [62, 63, 64, 65, 84, 200])
def test_a_loop_that_uses_each_value_twice_may_be_recorded_for_long(steps: int) -> None:
    """What computing its last value again would cost doubles with each step: more than 64 bits count."""
    x, lazy = given(5000)
    for _ in range(steps):
        x = x * 0.5 - x * 1.25
        lazy = lazy * 0.5 - lazy * 1.25
    np.testing.assert_array_equal(np.asarray(lazy), x)
