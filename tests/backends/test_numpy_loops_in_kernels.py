"""numerics="numpy": NumPy's loops in every form of kernel, the errors that they raise, and how they are cached."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarray as np

ROWS = numpy.random.default_rng(1).normal(size=(37, 501))
LONG = numpy.random.default_rng(2).normal(size=300_001)


@pytest.fixture(autouse=True, params=(1, 2))
def exact(request: pytest.FixtureRequest) -> Iterator[None]:
    with np.config.set(numerics="numpy", eager_below=0, num_threads=request.param):
        yield


def softmax(m: Any, x: Any) -> Any:
    e = m.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def log_of_sums(m: Any, x: Any) -> Any:
    return m.log(m.exp(x).sum(axis=1))


def columns(m: Any, x: Any) -> Any:
    return m.log(m.exp(x - x.max(axis=0)).sum(axis=0))


def scans(m: Any, x: Any) -> Any:
    return m.tanh(m.cumsum(m.sin(x), axis=1))


def selected(m: Any, x: Any) -> Any:
    return m.exp(x[x > 0.5])


def gathered(m: Any, x: Any) -> Any:
    return m.cos(x[:, m.arange(100)[::-1] * 2])


def masked_write(m: Any, x: Any) -> Any:
    x = x.copy()
    x[x < 0] = m.exp(x[x < 0])
    return x


def in_place(m: Any, x: Any) -> Any:
    x = x.copy()
    x += 1
    m.exp(x, out=x)
    return x


def where(m: Any, x: Any) -> Any:
    return m.log(x, where=x > 0, out=m.zeros(x.shape))


def integers(m: Any, x: Any) -> Any:
    return m.sin((x * 100).astype(int)) + m.exp(x.astype("i1"))


def nested(m: Any, x: Any) -> Any:
    for _ in range(4):
        x = m.arctan(m.sinh(x)) + m.cbrt(x)
    return x


def mixed(m: Any, x: Any) -> Any:
    return m.power(m.abs(x.astype("f4")), 1.5) + m.arctan2(x, x[::-1]) + m.hypot(x[0], 2.0)


def per_row(m: Any, x: Any) -> Any:
    return (x - x.mean(axis=1, keepdims=True)) * m.exp(-x.std(axis=1, keepdims=True))


PROGRAMS: list[Callable[[Any, Any], Any]] = [
    softmax, log_of_sums, columns, scans, selected, gathered, masked_write, in_place, where, integers, nested, mixed,
    per_row,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_bits_are_numpys_in_every_form_of_kernel(program: Callable[[Any, Any], Any]) -> None:
    for x in (ROWS, ROWS.T.copy().T, ROWS[:, ::2], LONG[:300_000].reshape(3, -1)[:, :99_999]):
        ours, theirs = program(np, np.array(x)), program(numpy, x.copy("K"))
        assert numpy.asarray(ours).tobytes() == numpy.ascontiguousarray(theirs).tobytes()


@pytest.mark.parametrize("code", ["f4", "f8", "c16"])
def test_sums_of_functions_are_numpys(code: str) -> None:
    x = LONG.astype(code)
    a = np.array(x)
    assert (np.exp(a) * a).sum() == (numpy.exp(x) * x).sum()
    rows, own = x[:300_000].reshape(1000, 300), np.array(x)[:300_000].reshape(1000, 300)
    assert (np.sin(own).sum(axis=0) == numpy.sin(rows).sum(axis=0)).all()
    assert (np.sin(own).sum(axis=1) == numpy.sin(rows).sum(axis=1)).all()


def test_a_softmax_is_one_kernel() -> None:
    a = np.array(ROWS)
    with np.record_runs() as runs:
        numpy.asarray(softmax(np, a))
    assert [run.ops for run in runs.kernels] == [("max", "subtract", "numpy.exp", "sum", "divide")]


def test_selected_elements_alone_go_through_a_loop() -> None:
    a = np.array(LONG)
    with np.record_runs() as runs:
        numpy.asarray(np.tan(a[a > -1]))
    assert runs.kernels[-1].ops == ("numpy.tan",)
    assert runs.kernels[-1].elements == (LONG > -1).sum()


def heard(program: Callable[[Any], Any], m: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        numpy.asarray(program(m))
    return sorted(str(w.message) for w in found)


def test_warnings_are_numpys() -> None:
    x = numpy.array([-1.0, 0.0, 1.0, 800.0, numpy.nan, numpy.inf, -numpy.inf] * 100)
    for name in ("exp", "log", "log1p", "sin", "arcsin", "arctanh", "tanh", "arctan", "cosh"):

        def program(m: Any, name: str = name) -> Any:
            a = m.array(x)
            return m.tanh(getattr(m, name)(a) * 2 + a)

        assert heard(program, np) == heard(program, numpy), name


def test_a_loop_that_clears_the_status_loses_no_error_of_others() -> None:
    x = numpy.full(1000, 1e300)
    assert heard(lambda m: m.tanh(m.array(x) * 1e300), np) == ["overflow encountered in multiply"]


def test_a_kernel_in_which_loops_alone_raise_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from lazyarray_llvm.program import Program

    def watch(*_: Any) -> None:
        raise AssertionError("run again")

    monkeypatch.setattr(Program, "watch", watch)
    x = numpy.array([-1.0, 0.0, 3.0] * 50_000)
    told = ["divide by zero encountered in log", "invalid value encountered in log"]
    assert heard(lambda m: m.log(m.array(x)) * 2 + m.exp(m.array(x)), np) == told
    assert heard(lambda m: m.log(m.array(x[2::3])) * 2, np) == []


def test_errors_of_loops_and_of_others_are_told_apart() -> None:
    x = numpy.array([-1.0, 1e300, 3.0] * 1000)

    def program(m: Any) -> Any:
        a = m.array(x)
        return m.log(a) + a * a

    assert heard(program, np) == heard(program, numpy)


def test_errors_are_raised_where_numpy_raises_them() -> None:
    a = np.array([0.0, 1.0])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero encountered in log"):
        np.log(a)


def test_the_mode_is_that_of_the_evaluation() -> None:
    a = np.array(LONG)
    with np.config.set(numerics="fast"), np.record_runs() as runs:
        numpy.asarray(np.exp(a))
    assert runs.kernels[0].ops == ("exp",)
    with np.record_runs() as runs:
        numpy.asarray(np.exp(a))
    assert runs.kernels[0].ops == ("numpy.exp",)


def test_kernels_come_back_from_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The addresses of NumPy's loops, which differ between processes, are no part of the code."""
    from lazyarray.schedule.kernel import Access, Instruction, Kernel, Stage, Store
    from lazyarray_llvm import engine
    from lazyarray_llvm.program import Program

    body = (Instruction(0, "load", (), "f8", 0), Instruction(1, "numpy.expm1", (0,), "f8"))
    kernel = Kernel(("p",), (Access("f8", ("1",)),) * 2, (), (Stage("full", body, stores=(Store(1, 1),)),))
    Program(kernel).addresses("whole")
    fresh = engine.Engine()
    monkeypatch.setattr(engine, "_engine", fresh)
    Program(kernel).addresses("whole")
    assert (fresh.counters.disk_hits, fresh.counters.compiles) == (1, 0)


def test_powers_of_scalars_are_those_of_numpys_scalars() -> None:
    """C's `pow`, where the ufunc has a loop of its own."""
    for x in LONG[:60].reshape(20, 3).astype("f4"):
        ours, theirs = np.array(x).max(), x.max()
        assert abs(ours) ** 1.7 == abs(theirs) ** 1.7
        assert np.power(abs(ours), 1.7) == numpy.power(abs(theirs), 1.7)


def test_jit_replays_what_was_recorded_in_the_same_mode() -> None:
    compiled = np.jit(lambda x: np.exp(x) * 2)
    a, theirs = np.array(LONG), numpy.exp(LONG) * 2
    with np.config.set(numerics="fast"):
        compiled(a)
    assert numpy.asarray(compiled(a)).tobytes() == theirs.tobytes()


def test_a_backend_without_the_loops_calls_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    from lazyarray.runtime.backend import current

    monkeypatch.setattr(current(), "runs_numpy_loop", lambda op, codes: False)
    x = LONG[::3]
    with np.record_runs() as runs:
        ours = numpy.asarray(np.arcsinh(np.array(x) * 2) + 1)
    assert ours.tobytes() == (numpy.arcsinh(x * 2) + 1).tobytes()
    assert [run.ops for run in runs.kernels] == [("multiply",), ("add",)]
    assert float(np.exp(np.array(x).max())) == numpy.exp(x.max())
    assert numpy.asarray(np.power(np.abs(np.array(x))[::-1], 2.5)).tobytes() == (numpy.abs(x)[::-1] ** 2.5).tobytes()
    assert heard(lambda m: m.log(m.array(x)), np) == heard(lambda m: m.log(m.array(x)), numpy)
