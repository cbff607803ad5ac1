"""Holds rearranging functions to NumPy's values, shapes, dtypes, errors and aliasing."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from tests.frontend.agreement import MODES, Program, agree

A = numpy.arange(24.0).reshape(2, 3, 4)
M = numpy.arange(12).reshape(3, 4)
V = numpy.array([3.0, -1.0, 2.0, 7.0])
Z = numpy.zeros(40)

PROGRAMS: dict[str, Program] = {
    "reshape": lambda np: np.data(A).reshape(4, 6),
    "reshape-tuple": lambda np: np.data(A).reshape((6, -1)),
    "reshape-function": lambda np: np.reshape(np.data(A), (4, 6), order="F"),
    "reshape-fortran": lambda np: np.data(A).reshape(6, 4, order="F"),
    "reshape-any": lambda np: np.data(A).T.reshape(6, 4, order="A"),
    "reshape-any-of-parts": lambda np: [
        part.reshape(-1, order=order)
        for z in (np.data(M * 1j), np.data(M * 1j).T)
        for part in (z.real, z.imag)
        for order in ("A", "C", "F")
    ],
    "reshape-letters": lambda np: [
        x.reshape(6, 2, order=order) for x in (np.data(M), np.data(M).T) for order in ("a", "c", "f", None)
    ],
    "reshape-copies": lambda np: np.data(A).T.reshape(6, 4),
    "reshape-refused": lambda np: np.data(A).reshape(5, 5),
    "reshape-no-copy": lambda np: np.reshape(np.data(A).T, (6, 4), copy=False),
    "reshape-two-unknown": lambda np: np.data(A).reshape(-1, -1),
    "ravel": lambda np: (np.data(A).ravel(), np.ravel(np.data(A), "F"), np.data(A).T.ravel("K")),
    "ravel-lists": lambda np: np.ravel([[1, 2], [3, 4]]),
    "flatten": lambda np: (np.data(A).flatten(), np.data(A).flatten("F"), np.data(A)[:, ::2].flatten()),
    "transpose": lambda np: (
        np.transpose(np.data(A)),
        np.data(A).transpose(1, 0, 2),
        np.data(A).transpose((2, 0, 1)),
    ),
    "transpose-refused": lambda np: np.data(A).transpose(0, 0, 1),
    "permute": lambda np: (
        np.permute_dims(np.data(A), (1, 2, 0)),
        np.matrix_transpose(np.data(A)),
        np.data(A).mT,
    ),
    "swapaxes": lambda np: (np.swapaxes(np.data(A), 0, 2), np.data(A).swapaxes(1, -1)),
    "swapaxes-refused": lambda np: np.data(A).swapaxes(0, 3),
    "moveaxis": lambda np: (np.moveaxis(np.data(A), 0, -1), np.moveaxis(np.data(A), [0, 1], [1, 2])),
    "rollaxis": lambda np: np.rollaxis(np.data(A), 2),
    "squeeze": lambda np: (
        np.squeeze(np.data(A)[:1]),
        np.data(A)[:, :1].squeeze(1),
        np.data(A)[:1].squeeze(),
    ),
    "squeeze-refused": lambda np: np.squeeze(np.data(A), 1),
    "expand_dims": lambda np: (np.expand_dims(np.data(A), 0), np.expand_dims(np.data(M), (0, 2))),
    "expand_dims-refused": lambda np: np.expand_dims(np.data(A), 7),
    "broadcast_to": lambda np: (
        np.broadcast_to(np.data(V), (3, 4)),
        np.broadcast_to(np.data(V)[:, None], (2, 4, 3)),
    ),
    "broadcast_to-refused": lambda np: np.broadcast_to(np.data(V), (4, 3)),
    "broadcast_arrays": lambda np: np.broadcast_arrays(np.data(V), np.data(M)),
    "atleast": lambda np: (np.atleast_1d(np.data(3.0)), np.atleast_2d(np.data(V)), np.atleast_3d(np.data(M))),
    "atleast-many": lambda np: np.atleast_2d(np.data(V), np.data(3)),
    "flip": lambda np: (np.flip(np.data(A)), np.flip(np.data(A), 1), np.flip(np.data(A), (0, 2))),
    "fliplr": lambda np: (np.fliplr(np.data(M)), np.flipud(np.data(M))),
    "flip-refused": lambda np: np.flip(np.data(A), 3),
    "rot90": lambda np: [np.rot90(np.data(A), k, (0, 2)) for k in range(-1, 5)],
    "diagonal": lambda np: (np.diagonal(np.data(M)), np.data(A).diagonal(1, 1, 2), np.data(M).diagonal(-1)),
    "concatenate": lambda np: np.concatenate([np.data(M), np.data(M) * 2.5], 1),
    "concatenate-flat": lambda np: np.concatenate((np.data(M), np.data(V)), axis=None),
    "concatenate-mixed": lambda np: np.concatenate([np.data(V), [1, 2], np.data([True])]),
    "concatenate-dtype": lambda np: np.concatenate([np.data(M), np.data(M)], dtype="f4", casting="unsafe"),
    "concatenate-casting": lambda np: np.concatenate([np.data(A), np.data(A)], dtype=int),
    "concatenate-refused": lambda np: np.concatenate([np.data(M), np.data(V)]),
    "concatenate-sizes": lambda np: np.concatenate([np.data(M), np.data(A)[0, :, :3]], 0),
    "concatenate-none": lambda np: np.concatenate([]),
    "concatenate-fortran": lambda np: np.concatenate([np.data(M).T, np.data(M).T], 1),
    "concatenate-empty": lambda np: np.concatenate([np.data(M)[:0], np.data(M)]),
    "stack": lambda np: (np.stack([np.data(M), np.data(M)], -1), np.stack([np.data(V)] * 3)),
    "stack-refused": lambda np: np.stack([np.data(M), np.data(V)]),
    "vstack": lambda np: (np.vstack([np.data(V), np.data(V)]), np.hstack([np.data(M), np.data(M)])),
    "dstack": lambda np: (np.dstack([np.data(M), np.data(M)]), np.column_stack([np.data(V), np.data(V)])),
    "block": lambda np: np.block([[np.data(M), np.data(M)], [np.data(M), np.data(M) * 2]]),
    "append": lambda np: (np.append(np.data(M), np.data(V)), np.append(np.data(M), [[1, 2, 3, 4]], 0)),
    "split": lambda np: (
        np.split(np.data(M), 2, 1),
        np.array_split(np.data(V), 3),
        np.hsplit(np.data(M), [1, 3]),
    ),
    "split-refused": lambda np: np.split(np.data(V), 3),
    "unstack": lambda np: (np.unstack(np.data(M)), np.vsplit(np.data(M), 3), np.dsplit(np.data(A), 2)),
    "unstack-row": lambda np: np.unstack(np.data(V)),
    "zero-d": lambda np: (
        np.flip(np.data(3.0)),
        np.transpose(np.data(3.0)),
        np.squeeze(np.data(3.0)),
        np.ravel(np.data(3)),
    ),
    "roll": lambda np: (np.roll(np.data(V), 1), np.roll(np.data(A), (1, -2), (0, 2)), np.roll(np.data(M), 5)),
    "tile": lambda np: (np.tile(np.data(V), 3), np.tile(np.data(M), (2, 2)), np.tile(np.data(V), (2, 1))),
    "repeat": lambda np: (
        np.repeat(np.data(M), 3),
        np.repeat(np.data(M), 2, 1),
        np.data(V).repeat([1, 0, 2, 3]),
    ),
    "repeat-refused": lambda np: np.repeat(np.data(V), [1, 2]),
    "repeat-negative": lambda np: np.repeat(np.data(V), -1),
    "diff": lambda np: (np.diff(np.data(V)), np.diff(np.data(A), 2, 1), np.diff(np.data(V), prepend=0.0)),
    "ediff1d": lambda np: np.ediff1d(np.data(M), to_begin=-1),
    "gradient": lambda np: (np.gradient(np.data(V)), np.gradient(np.data(A)[0], 2.0, edge_order=2)),
    "resize": lambda np: np.resize(np.data(V), (3, 5)),
    "insert": lambda np: (np.insert(np.data(V), 1, 9), np.insert(np.data(M), [0, 2], 5, axis=1)),
    "delete": lambda np: (np.delete(np.data(V), 1), np.delete(np.data(M), slice(0, 3, 2), 1)),
    "trim": lambda np: np.trim_zeros(np.data([0, 0, 1, 2, 0])),
    "kron": lambda np: np.kron(np.data(M), np.data([[1, 2], [3, 4]])),
    "fortran": lambda np: np.asfortranarray(np.data(M)) + 1,
    "sliding": lambda np: np.lib.stride_tricks.sliding_window_view(np.data(V), 2),
    "clip": lambda np: (np.clip(np.data(V), 0, 3), np.data(V).clip(max=2.5), np.data(M).clip(2, 7)),
    "clip-keywords": lambda np: (np.clip(np.data(V), min=0), np.data(M).astype("u1").clip(-3, 5)),
    "clip-nothing": lambda np: np.clip(np.data(V), None, None),
    "clip-range": lambda np: np.clip(np.data(M).astype("u1"), 0.5, 300),
    "clip-zeros": lambda np: [
        np.clip(x.astype(code), low, high)
        for code in "dD"
        for x in (np.data(Z), -np.data(Z))
        for low, high in ((-0.0, 1.0), (np.data(-Z), 1.0), (-1.0, np.data(-Z)), (np.data(Z), np.data(-Z)))
    ],
    "clip-missing": lambda np: np.clip(np.data(V), 1),
    "round": lambda np: (np.round(np.data(V) / 3, 2), (np.data(V) / 7).round(), np.round(np.data(M), -1)),
    "where": lambda np: (np.where(np.data(M) > 3, np.data(M), -1.5), np.where(np.data(V) > 0, 1, 0)),
    "where-index": lambda np: np.where(np.data(M) > 3),
    "where-shapes": lambda np: np.where(np.data(V) > 0, np.data(M), np.data([1, 2])),
    "where-range": lambda np: np.where(np.data(V) > 0, np.data(M, "u1")[0], 300),
    "select": lambda np: np.select([np.data(V) > 2, np.data(V) < 0], [np.data(V), 5.0], 1),
    "piecewise": lambda np: np.piecewise(np.data(V), [np.data(V) < 0, np.data(V) >= 0], [lambda x: -x, 4]),
    "take": lambda np: (
        np.take(np.data(V), [0, -1]),
        np.take(np.data(M), np.data([1, 0]), 1),
        np.data(V).take(2),
    ),
    "take-mode": lambda np: (
        np.take(np.data(V), [7, -6], mode="wrap"),
        np.take(np.data(V), [7, -6], mode="clip"),
    ),
    "take-refused": lambda np: np.take(np.data(V), [9]),
    "compress": lambda np: (np.compress([True, False, True], np.data(M), 0), np.data(V).compress([0, 1, 1])),
    "take_along_axis": lambda np: np.take_along_axis(np.data(M), np.argsort(-np.data(M), 1), 1),
    "extract": lambda np: np.extract(np.data(V) > 0, np.data(V)),
    "choose": lambda np: np.choose(np.data([0, 1, 1, 0]), [np.data(V), -np.data(V)]),
    "nonzero": lambda np: (
        np.nonzero(np.data(M) > 4),
        np.argwhere(np.data(V) > 0),
        np.flatnonzero(np.data(V) > 0),
    ),
    "sort": lambda np: (
        np.sort(np.data(V)),
        np.argsort(np.data(V)),
        np.searchsorted(np.data([1, 2, 5]), np.data(V)),
    ),
    "unique": lambda np: (np.unique(np.data([2, 1, 2])), np.unique(np.data([2, 1, 2]), return_counts=True)),
    "histogram": lambda np: (
        np.histogram(np.data(V), 3),
        np.bincount(np.data([0, 2, 2])),
        np.digitize(np.data(V), [0, 3]),
    ),
    "interp": lambda np: np.interp(np.data(V), [0, 5], [1, 2]),
    "isclose": lambda np: (np.isclose(np.data(V), np.data(V) + 1e-9), np.allclose(np.data(V), np.data(V))),
    "array_equal": lambda np: (
        np.array_equal(np.data(V), np.data(V)),
        np.array_equiv(np.data(V), np.data(M)),
    ),
    "nan_to_num": lambda np: np.nan_to_num(np.data([numpy.nan, 1.0, numpy.inf, -numpy.inf])),
    "nan_to_num-options": lambda np: (
        np.nan_to_num(np.data([numpy.nan, numpy.inf, -numpy.inf, 2], "f4"), nan=7, posinf=1e9, neginf=-5),
        np.nan_to_num(np.data([numpy.nan + 1j, 2])),
        np.nan_to_num(np.data([1, 2])),
        np.nan_to_num(numpy.nan),
        np.nan_to_num(np.data([[1, numpy.inf]]), copy=False),
    ),
    "isneginf": lambda np: (
        np.isneginf(np.data([-numpy.inf, 1])),
        np.isreal(np.data([1j, 2])),
        np.real(np.data([1j])),
    ),
    "unwrap": lambda np: np.unwrap(np.data([0.0, 3.0, 7.0, 12.0])),
    "shape": lambda np: (
        np.shape(np.data(A)),
        np.ndim(np.data(A)),
        np.size(np.data(A)),
        np.size(np.data(A), 1),
    ),
    "result_type": lambda np: (
        np.result_type(np.data(V), 1),
        np.can_cast(np.data(M).dtype, "f4"),
        np.iscomplexobj(np.data(V)),
    ),
    "apply": lambda np: np.apply_along_axis(lambda row: row.sum(), 1, np.data(M)),
    "over_axes": lambda np: np.apply_over_axes(np.sum, np.data(A), [0, 2]),
    "astype": lambda np: (np.astype(np.data(V), "f4"), np.data(V).astype(int), np.data(V).astype(bool)),
}

PADS = [
    dict(mode="constant"),
    dict(mode="constant", constant_values=((1, 2), (3, 4))),
    *(
        dict(mode=mode)
        for mode in ("edge", "wrap", "reflect", "symmetric", "linear_ramp", "maximum", "mean", "minimum")
    ),
    dict(mode="reflect", reflect_type="odd"),
]


@MODES
@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_agree_with_numpy(name: str, eager_below: int) -> None:
    agree(PROGRAMS[name], eager_below)


@MODES
@pytest.mark.parametrize("options", PADS, ids=lambda options: "-".join(map(str, options.values()))[:30])
def test_pad_agrees_with_numpy(options: dict[str, Any], eager_below: int) -> None:
    agree(lambda np: np.pad(np.data(A)[0], ((1, 2), (3, 0)), **options), eager_below)


def write_through(view: Any) -> Program:
    """A program that writes through a view and returns the base."""

    def program(np: Any) -> Any:
        base = np.data(A)
        shown = view(np, base)
        shown[...] = -1
        base[0] += 1
        return base, shown

    return program


VIEWS: dict[str, Any] = {
    "reshape": lambda np, a: a.reshape(6, 4)[1:3],
    "reshape-copy": lambda np, a: a.T.reshape(6, 4)[1:3],
    "ravel": lambda np, a: a.ravel()[3:9],
    "ravel-copy": lambda np, a: a[:, ::2].ravel(),
    "flatten": lambda np, a: a.flatten()[2:],
    "transpose": lambda np, a: a.transpose(1, 0, 2)[1],
    "swapaxes": lambda np, a: np.swapaxes(a, 0, 1)[2],
    "moveaxis": lambda np, a: np.moveaxis(a, 0, -1)[1:],
    "flip": lambda np, a: np.flip(a, 1)[:, :2],
    "rot90": lambda np, a: np.rot90(a, 1, (1, 2))[0],
    "split": lambda np, a: np.split(a, 2, 2)[1],
    "squeeze": lambda np, a: a[:, 1:2].squeeze(),
    "expand": lambda np, a: np.expand_dims(a, 1)[:, 0, 1],
    "diagonal": lambda np, a: a.diagonal(0, 1, 2),
    "broadcast": lambda np, a: np.broadcast_to(a, (2, 2, 3, 4)),
    "real": lambda np, a: np.real(a)[1],
    "concatenate": lambda np, a: np.concatenate([a, a]),
    "repeat": lambda np, a: a.repeat(2, 1),
    "einsum": lambda np, a: np.einsum("ijk->kji", a)[1],
}


@MODES
@pytest.mark.parametrize("name", VIEWS)
def test_views_alias_as_in_numpy(name: str, eager_below: int) -> None:
    agree(write_through(VIEWS[name]), eager_below)


def mutation(change: Any) -> Program:
    def program(np: Any) -> Any:
        base = np.data(M)
        returned = change(np, base)
        return base, returned

    return program


CHANGES: dict[str, Any] = {
    "copyto": lambda np, a: np.copyto(a, 5),
    "copyto-where": lambda np, a: np.copyto(a, [1, 2, 3, 4], where=a > 5),
    "copyto-casting": lambda np, a: np.copyto(a, 2.5),
    "copyto-unsafe": lambda np, a: np.copyto(a, 2.5, casting="unsafe"),
    "put": lambda np, a: np.put(a, [0, 5], [7, 8]),
    "put-method": lambda np, a: a.put([1, 2, 3], 4),
    "put-repeats": lambda np, a: np.put(a, [0, 5, 6], [7, 8]),
    "putmask": lambda np, a: np.putmask(a, a > 4, a * 2),
    "putmask-repeats": lambda np, a: np.putmask(a, a > 4, [9, 8]),
    "place": lambda np, a: np.place(a, a > 4, [1, 2]),
    "fill_diagonal": lambda np, a: np.fill_diagonal(a[:, :3], 9),
    "put_along_axis": lambda np, a: np.put_along_axis(a, np.data([[1], [0], [2]]), 99, 1),
    "sort": lambda np, a: a[:, ::-1].sort(),
    "sort-all": lambda np, a: a.sort(0),
    "fill": lambda np, a: a.fill(3),
    "clip-out": lambda np, a: np.clip(a, 2, 5, out=a),
    "cumsum-out": lambda np, a: np.cumsum(a, 1, out=a),
    "concatenate-out": lambda np, a: np.concatenate([a[:1], a[:1], a[:1]], out=a),
    "shuffle": lambda np, a: np.random.default_rng(3).shuffle(a),
}


@MODES
@pytest.mark.parametrize("name", CHANGES)
def test_writes_agree_with_numpy(name: str, eager_below: int) -> None:
    agree(mutation(CHANGES[name]), eager_below)


@MODES
@pytest.mark.parametrize("function", ["copyto", "putmask"])
def test_what_is_read_only_is_refused_by_putmask_even_if_it_stays_as_it_is(function: str, eager_below: int) -> None:
    def program(np: Any) -> Any:
        fixed = M[:, 1:] > 4
        fixed.flags.writeable = False
        a = np.asarray(fixed)
        np.copyto(a, a, where=a) if function == "copyto" else np.putmask(a, a, a)
        return a

    agree(program, eager_below)
