"""`verify` computes again with NumPy and finds the operation at fault."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.errors import VerifyError
from lazyarray.inspect import verify
from lazyarray.inspect.again import tolerance
from lazyarray.inspect.replay import replay
from lazyarray.ir.expression import Entry, Expression
from lazyarray.schedule.kernel import Kernel
from lazyarray_llvm.backend import Backend


def program() -> np.ndarray:
    x = np.asarray(numpy.random.default_rng(0).random((100, 200)))
    e = np.exp(x - x.max(axis=1, keepdims=True))
    x[1:-1] += np.tanh(e)[2:]
    return np.evaluate(e / e.sum(axis=1, keepdims=True) + x[x > 0.5].sum())


def test_right_results_pass() -> None:
    with np.verify(rate=1):
        program()


def wrong_sine(name: str) -> None:
    """Runs a program while the interpreter's sine is another than the compiled one."""
    x = np.asarray(numpy.linspace(0, 1, 5000))
    np.evaluate(np.cos(np.sin(x + 1.0)))


def test_the_operation_at_fault_is_named_with_its_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from lazyarray.runtime import interpret

    monkeypatch.setitem(interpret.SPECIAL, "sin", lambda a: numpy.sin(a) * 1.0001)
    with np.verify(rate=1, folder=tmp_path / "replay"), pytest.raises(VerifyError) as caught:
        wrong_sine("sin")
    assert "sin differs at (0,)" in str(caught.value)
    assert "np.evaluate(np.cos(np.sin(x + 1.0)))" in str(caught.value)
    monkeypatch.undo()
    command = [sys.executable, "-m", "lazyarray.inspect", "replay", str(tmp_path / "replay")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "sin: equal within its bound\n")


def break_fused(monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    """Has kernels of at least so many operations add where they should multiply."""
    good = Backend.compile

    def compile_wrong(self: Backend, kernel: Kernel) -> Any:
        stages = []
        for stage in kernel.stages:
            count = sum(step.op not in ("load", "scalar", "const") for step in stage.body)
            wrong = [s._replace(op="add") if s.op == "multiply" and count >= least else s for s in stage.body]
            stages.append(stage._replace(body=tuple(wrong)))
        return good(self, kernel._replace(stages=tuple(stages)))

    monkeypatch.setattr(Backend, "compile", compile_wrong)


@pytest.mark.parametrize("last", ["negative", "exp"])
def test_an_operation_that_is_wrong_where_it_is_fused_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, last: str
) -> None:
    x = np.asarray(numpy.linspace(0, 1, 5000))
    break_fused(monkeypatch, 2)
    y = np.sqrt(x)
    z = y * 3.0
    result = getattr(np, last)(abs(z) + 1.0)
    with np.verify(rate=1, folder=tmp_path / "replay"), pytest.raises(VerifyError) as caught:
        np.evaluate(result)
    message = str(caught.value)
    assert message.startswith("multiply differs at (0,): ")
    assert "fused with what it is made of (by itself it is right)" in message
    assert "z = y * 3.0" in message
    lines, agree = replay(tmp_path / "replay")
    assert not agree
    assert lines[0].startswith("multiply differs")
    monkeypatch.undo()
    assert replay(tmp_path / "replay") == (["multiply: equal within its bound"], True)


def test_a_kernel_that_is_right_when_computed_again_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [numpy.float64(1.0), numpy.float64(3.0)]
    expression = Expression(
        (Entry("leaf", None, (), "f8", ()), Entry("map", ("negative", ("f8",)), (), "f8", (0,))), (1,)
    )
    values = [numpy.array(1.0), numpy.array(-1.0)]
    with pytest.raises(VerifyError, match=r"negative differs at \(\): .*3.0.*, but .*-1.0.* when computed again"):
        verify.compare(expression, values, found[1:], [None, None], None)


def test_a_share_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    monkeypatch.setattr(verify, "compare", lambda *args: compared.append(1))
    with np.verify(rate=0.25):
        for _ in range(8):
            np.evaluate(np.asarray(numpy.ones(5000)) + 1.0)
    assert len(compared) == 2


def test_bounds_follow_what_is_promised() -> None:
    assert tolerance(Entry("map", ("add", ("f8", "f8")), (5,), "f8", (0, 1))) == 0.0
    assert 0 < tolerance(Entry("map", ("exp", ("f4",)), (5,), "f4", (0,))) < 1e-5
    assert tolerance(Entry("reduce", ("max", (0,), False, False), (), "f8", (0,))) == 0.0


def test_a_rate_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="rate above 0"), np.verify(rate=0):
        pass
