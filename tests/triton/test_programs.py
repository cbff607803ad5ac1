"""Whole programs: what the scheduler makes of them, run on interpreted Triton functions and on the oracle."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy
import pytest

if find_spec("triton") is None:
    pytest.skip("needs the optional dependency triton", allow_module_level=True)

import lazyarray as np
from lazyarray.config import config
from lazyarray.frontend.array import value
from lazyarray.ir.expression import capture, expression_of, pending_closure
from lazyarray.runtime.execute import Run
from lazyarray.schedule.kernel import Binding, Kernel
from lazyarray.schedule.schedule import schedule
from tests.oracle import Oracle
from tests.triton.target import ON_DEVICE, launch


class Interpreted:
    """A backend of emitted Triton functions, launched as the model guesses, under the interpreter."""

    name = "triton-interpreted"

    def __init__(self) -> None:
        self.forms: list[str] = []

    def compile(self, kernel: Kernel) -> Any:
        return InterpretedProgram(kernel, self)

    def eager_ufunc(self, op: str) -> None:
        return None


class InterpretedProgram:
    source = ""
    blind = False

    def __init__(self, kernel: Kernel, owner: Interpreted) -> None:
        self.kernel, self.owner = kernel, owner

    def launch(self, binding: Binding) -> int:
        ran = launch(self.kernel, binding)
        self.owner.forms.append(ran.form if ran else "")
        return 0

    def watch(self, binding: Binding) -> dict[int, int]:
        self.launch(binding)
        return {}


X = numpy.random.default_rng(0).standard_normal((30, 40))
F = X.astype(numpy.float32)
N = numpy.random.default_rng(1).integers(-50, 50, (30, 40))


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def jacobi(x: Any) -> Any:
    y = x.copy()
    y[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) * 0.25
    return y


PROGRAMS: dict[str, tuple[numpy.ndarray, Callable[[Any], Any]]] = {
    "standardise columns": (X, lambda x: (x - x.mean(axis=0)) / x.std(axis=0)),
    "softmax": (F, softmax),
    "sum of everything": (X, lambda x: (x * x).sum(keepdims=True)),
    "transposed": (X, lambda x: x.T * 2 + np.arange(30)),
    "flipped and strided": (X, lambda x: x[::-1, ::2] - x[:, 1::2]),
    "outer": (X, lambda x: x[:, 0][:, None] * x[0][None, :] + x),
    "three axes": (X, lambda x: (x.reshape(5, 6, 40) + np.arange(6)[:, None]).sum(axis=1)),
    "integers": (N, lambda n: (n // 7) * (n % 5) + (n >> 1) - (n**2)),
    "integer sums": (N, lambda n: n.sum(axis=0) + n.max(axis=0) - n.argmin(axis=0)),
    "masks": (X, lambda x: np.where((x > 0) & np.isfinite(x), x, -x).min(axis=1)),
    "running sums": (X, lambda x: np.cumsum(x, axis=1) + np.cumsum(x, axis=0)),
    "running extremes": (X, lambda x: (x - np.maximum.accumulate(x, axis=1)) * np.minimum.accumulate(x)),
    "Jacobi": (X, jacobi),
    "complex": (X, lambda x: np.abs((x + 1j * x[::-1]) ** 2).sum(axis=0)),
    "half": (X.astype(numpy.float16), lambda x: (x * x + x).sum(axis=1)),
    "roll": (X, lambda x: np.roll(x, 1, axis=1) - np.roll(x, -1, axis=0)),
    "take": (X, lambda x: x[np.array([3, 0, 29, 3])] + 1),
}  # fmt: skip


def flat(result: Any) -> numpy.ndarray:
    return numpy.asarray(result)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_the_oracle_gives(name: str) -> None:
    data, program = PROGRAMS[name]
    if ON_DEVICE and name == "take":
        pytest.skip("host memory that a gather reaches is not known to these launches")
    with config.set(eager_below=0):
        node = value(program(np.array(data)))
        signature, sources = capture(pending_closure([node]), [node])
    plan = schedule(expression_of(signature))
    found = []
    for backend in (Oracle(), Interpreted()):
        run = Run(plan, sources, backend)
        run.run()
        found.append(flat(run.memory[plan.outputs[0]]))
    assert plan.kernels
    assert found[0].dtype == found[1].dtype
    if found[0].dtype.kind in "fc":
        eps = numpy.finfo(found[0].dtype).eps
        numpy.testing.assert_allclose(found[1], found[0], 200 * eps, 200 * eps * numpy.abs(found[0]).max())
    else:
        numpy.testing.assert_array_equal(found[1], found[0])
