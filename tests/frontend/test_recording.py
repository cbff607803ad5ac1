"""Holds functions on large arrays to recording: nothing is evaluated, nothing falls back, and values are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray
from tests.frontend.agreement import Namespace, Program, same, settled

RECORDED: dict[str, Program] = {
    "reshape": lambda np: X(np).reshape(100, 90),
    "reshape-copy": lambda np: X(np).T.reshape(-1),
    "ravel": lambda np: X(np).T.ravel(),
    "transpose": lambda np: np.transpose(X(np)),
    "moveaxis": lambda np: np.moveaxis(X(np).reshape(9, 10, 100), 0, 2),
    "flip": lambda np: np.flip(X(np), 0),
    "rot90": lambda np: np.rot90(X(np)),
    "split": lambda np: np.split(X(np), 3),
    "diagonal": lambda np: np.diagonal(X(np), 2),
    "broadcast_to": lambda np: np.broadcast_to(X(np), (3, 90, 100)),
    "concatenate": lambda np: np.concatenate([X(np), X(np) + 1], 1),
    "stack": lambda np: np.stack([X(np), X(np)], 1),
    "hstack": lambda np: np.hstack([X(np), X(np)]),
    "dstack": lambda np: np.dstack([X(np), X(np)]),
    "column_stack": lambda np: np.column_stack([X(np), X(np)[:, 0]]),
    "block": lambda np: np.block([[X(np), X(np)], [X(np), X(np)]]),
    "append": lambda np: np.append(X(np), X(np)),
    "roll": lambda np: np.roll(X(np), 3, 1),
    "roll-flat": lambda np: np.roll(X(np), -7),
    "tile": lambda np: np.tile(X(np), (2, 3)),
    "repeat": lambda np: np.repeat(X(np), 2, 0),
    "pad": lambda np: np.pad(X(np), 2),
    "pad-edge": lambda np: np.pad(X(np), ((1, 0), (0, 2)), mode="edge"),
    "pad-wrap": lambda np: np.pad(X(np), 3, mode="wrap"),
    "pad-reflect": lambda np: np.pad(X(np), 3, mode="reflect"),
    "diff": lambda np: np.diff(X(np), axis=0),
    "ediff1d": lambda np: np.ediff1d(X(np)),
    "gradient": lambda np: np.gradient(X(np)),
    "kron": lambda np: np.kron(X(np), np.ones((2, 2))),
    "outer": lambda np: np.outer(X(np)[:, 0], X(np)[0]),
    "meshgrid": lambda np: np.meshgrid(X(np)[0], X(np)[:, 0]),
    "tril": lambda np: np.tril(X(np)),
    "triu": lambda np: np.triu(X(np), 2),
    "diag": lambda np: np.diag(X(np)[0]),
    "where": lambda np: np.where(X(np) > 50, X(np), 0.0),
    "clip": lambda np: np.clip(X(np), 10, 800),
    "clip-method": lambda np: X(np).clip(10),
    "select": lambda np: np.select([X(np) > 900, X(np) < 50], [X(np), -X(np)], 7.0),
    "copyto": lambda np: copied(np),
    "round": lambda np: np.round(X(np) / 7, 2),
    "nan_to_num": lambda np: np.nan_to_num(X(np)),
    "isclose": lambda np: np.isclose(X(np), X(np) + 1e-9),
    "real": lambda np: (np.real(X(np)), np.imag(X(np))),
    "astype": lambda np: X(np).astype("f4"),
    "fortran": lambda np: np.asfortranarray(X(np)),
    "full_like": lambda np: np.full_like(X(np), 3),
    "linspace": lambda np: np.linspace(0, 1, 9000),
    "indices": lambda np: np.indices((90, 100)),
    "eye": lambda np: np.eye(90, 100, 3),
    "sum": lambda np: (np.sum(X(np)), X(np).sum(0), np.sum(X(np), 1, keepdims=True)),
    "prod": lambda np: np.prod(X(np) / 9000, 0),
    "min": lambda np: (np.min(X(np)), X(np).max(1), np.ptp(X(np), 0)),
    "mean": lambda np: (np.mean(X(np)), X(np).mean(1)),
    "var": lambda np: (np.var(X(np), 0), X(np).std(ddof=1)),
    "any": lambda np: (np.any(X(np) > 3), np.all(X(np) > 3, 0), np.count_nonzero(X(np), 1)),
    "argmax": lambda np: (np.argmax(X(np)), X(np).argmin(0)),
    "cumsum": lambda np: (np.cumsum(X(np)), np.cumsum(X(np), 0), np.cumprod(X(np) / 9000, 1)),
    "nansum": lambda np: (np.nansum(X(np)), np.nanprod(X(np) / 9000, 0), np.nancumsum(X(np))),
    "average": lambda np: np.average(X(np), 0),
    "trapezoid": lambda np: np.trapezoid(X(np), axis=1),
    "matmul": lambda np: X(np) @ X(np).T,
    "dot": lambda np: np.dot(X(np), X(np)[0]),
    "inner": lambda np: np.inner(X(np), X(np)),
    "vdot": lambda np: np.vdot(X(np), X(np)),
    "tensordot": lambda np: np.tensordot(X(np), X(np), 2),
    "einsum": lambda np: np.einsum("ij,kj->ik", X(np), X(np)),
    "trace": lambda np: np.trace(X(np)),
    "take": lambda np: np.take(X(np), [3, 1, 2], 0),
    "unwrap": lambda np: np.unwrap(X(np)),
    "polyval": lambda np: np.polyval([1.0, 2.0], X(np)),
    "cov": lambda np: np.cov(X(np)),
    "piecewise-free": lambda np: np.real_if_close(X(np)),
}


def X(np: Any) -> Any:
    return np.arange(9000.0).reshape(90, 100) * 1.5


def copied(np: Any) -> Any:
    x = X(np)
    np.copyto(x, 0, where=x > 30)
    return x


@pytest.mark.parametrize("name", RECORDED)
def test_large_operands_are_recorded(name: str) -> None:
    with lazyarray.record_runs() as runs:
        ours = RECORDED[name](Namespace(lazyarray))
        assert not runs.evaluations
        assert not runs.fallbacks
        assert not runs.kernels
    same(settled(ours), RECORDED[name](numpy))


def test_foreign_memory_is_read_and_not_copied_for_one_pass() -> None:
    memory = numpy.arange(9000.0)
    own = lazyarray.array(memory)
    with lazyarray.record_runs() as runs:
        assert isinstance(lazyarray.asarray(memory).sum(), numpy.float64)
        assert type.__repr__(type(own.sum())) == "<class 'lazyarray.frontend.scalar.LazyScalar'>"
    assert not runs.fallbacks


def test_operands_that_broadcast_to_a_small_result_run_at_once() -> None:
    x = lazyarray.array(numpy.random.default_rng(0).random((100, 100)))
    column, row = lazyarray.array(numpy.arange(600.0).reshape(600, 1)), lazyarray.array(numpy.arange(600.0))
    with lazyarray.config.set(eager_below=65536):
        found = [x - x.max(axis=1, keepdims=True), lazyarray.multiply(x, x[:1]), x / x[:, :1], column[:100] + row]
        large = column * row
    assert all(made._np is not None for made in found)
    assert large._np is None
    data = numpy.asarray(x)
    wanted = [
        data - data.max(axis=1, keepdims=True), data * data[:1], data / data[:, :1],
        numpy.arange(100.0).reshape(100, 1) + numpy.arange(600.0),
    ]  # fmt: skip
    for have, want in zip(found, wanted, strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(have), want)
    assert large.shape == (600, 600)
    assert float(large[3, 5]) == 15.0
