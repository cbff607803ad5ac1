"""Functions that show large arrays show those that are laid out alike again: as NumPy, each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.frontend import views
from lazyarray.frontend.viewed import SHOWING
from lazyarray.native import COMPILED

SHAPE = (96, 128)  # more elements than the tests compute at once
Show = Callable[[Any, Any], Any]

SHOWS: dict[str, Show] = {
    "reshape": lambda np, x: x.reshape(-1, 2),
    "reshape to a tuple": lambda np, x: x.reshape((2, -1)),
    "reshape, a function": lambda np, x: np.reshape(x, (-1,)),
    "ravel": lambda np, x: x.ravel(),
    "ravel, a function": lambda np, x: np.ravel(x),
    "transpose": lambda np, x: x.transpose(1, 0),
    "transpose, a function": lambda np, x: np.transpose(x),
    "permute_dims": lambda np, x: np.permute_dims(x, (1, 0)),
    "matrix_transpose": lambda np, x: np.matrix_transpose(x),
    "swapaxes": lambda np, x: x.swapaxes(0, 1),
    "moveaxis": lambda np, x: np.moveaxis(x, 0, 1),
    "rollaxis": lambda np, x: np.rollaxis(x, 1),
    "squeeze": lambda np, x: x[:, None].squeeze(axis=1),
    "squeeze of nothing": lambda np, x: np.squeeze(x),
    "expand_dims": lambda np, x: np.expand_dims(x, axis=1),
    "atleast_1d": lambda np, x: np.atleast_1d(x),
    "atleast_2d": lambda np, x: np.atleast_2d(x.reshape(-1)),
    "atleast_3d": lambda np, x: np.atleast_3d(x),
    "diagonal": lambda np, x: x.diagonal(3),
    "diag": lambda np, x: np.diag(x),
    "flip": lambda np, x: np.flip(x),
    "flip of an axis": lambda np, x: np.flip(x, axis=1),
    "fliplr": lambda np, x: np.fliplr(x),
    "flipud": lambda np, x: np.flipud(x),
    "rot90": lambda np, x: np.rot90(x),
    "view": lambda np, x: x.view(),
    "real": lambda np, x: np.real(x),
    "imag": lambda np, x: np.imag(x),
    "real, an attribute": lambda np, x: x.real,
    "imag, an attribute": lambda np, x: x.imag,
    "of a part": lambda np, x: x[3:80, 5:].reshape(7, 11, -1)[1:],
    "of every other": lambda np, x: x[::-2].T.reshape(2, 64, -1),
    "of parts of complex numbers": lambda np, x: x.real.T[::2].swapaxes(0, 1),
}  # fmt: skip


def numbers(dtype: str, seed: int) -> Any:
    draw = numpy.random.default_rng(seed)
    found = draw.standard_normal(SHAPE) + (1j * draw.standard_normal(SHAPE) if dtype == "c16" else 0)
    return found.astype(dtype)


def managed(values: Any) -> Any:
    """An array that is recorded, and evaluated."""
    found = np.array(values) + 0
    np.evaluate(found)
    return found


def told(view: Any, whole: Any) -> Any:
    """What a program can see of a view."""
    seen = numpy.asarray(view) if isinstance(view, numpy.ndarray) else view.to_numpy()
    flags = view.flags
    laid = flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.owndata
    return view.shape, view.dtype, view.strides, laid, view is whole, view.base is whole, seen.tobytes()


@pytest.mark.parametrize("dtype", ["f8", "c16", "i4"])
@pytest.mark.parametrize("name", SHOWS)
def test_each_time_the_view_is_numpys(name: str, dtype: str) -> None:
    for seed in range(3):  # asked of NumPy's viewer, noted, and made again
        values = numbers(dtype, seed)
        x, expected = managed(values), values.copy()
        assert told(SHOWS[name](np, x), x) == told(SHOWS[name](numpy, expected), expected)


@pytest.mark.parametrize("name", SHOWS)
def test_what_is_written_through_it_is_seen_in_the_array(name: str) -> None:
    for seed in range(3):
        values = numbers("c16", seed)
        x, expected = managed(values), values.copy()
        outcomes = []
        for space, array in ((np, x), (numpy, expected)):
            try:
                SHOWS[name](space, array)[...] = seed + 0.5
                outcomes.append("")
            except ValueError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
        assert (x.to_numpy() == expected).all()


@pytest.mark.parametrize("name", SHOWS)
def test_what_is_written_later_is_seen_through_it(name: str) -> None:
    for seed in range(3):
        values = numbers("f8", seed)
        x, expected = managed(values), values.copy()
        mine, theirs = SHOWS[name](np, x), SHOWS[name](numpy, expected)
        x *= 3.0
        expected *= 3.0
        assert (mine.to_numpy() == theirs).all()


def test_what_is_pending_stays_so() -> None:
    for seed in range(3):
        values = numbers("f8", seed)
        x = np.array(values) * 2.0
        with np.record_runs() as runs:
            shown = x.reshape(-1, 4).T
        assert runs.evaluations == []
        assert (shown.to_numpy() == (values * 2.0).reshape(-1, 4).T).all()


def test_arguments_that_equal_integers_are_refused_after_them() -> None:
    x, expected = managed(numbers("f8", 0)), numbers("f8", 0)
    calls: list[Callable[[Any], Any]] = [
        lambda x: x.reshape(2.0, -1),
        lambda x: x.reshape((2.0, -1)),
        lambda x: x.swapaxes(0.0, 1),
        lambda x: x.transpose((1.0, 0)),
        lambda x: x[:, None].squeeze(axis=1.0),
    ]
    for _ in range(2):
        x.reshape(2, -1), x.reshape((2, -1)), x.swapaxes(0, 1), x.transpose((1, 0)), x[:, None].squeeze(axis=1)
    for call in calls:
        with pytest.raises(TypeError) as theirs:
            call(expected)
        with pytest.raises(TypeError) as mine:
            call(x)
        assert str(mine.value) == str(theirs.value)


def test_truth_values_are_no_extents() -> None:
    x, expected = managed(numbers("f8", 0)), numbers("f8", 0)
    for shape in ((True, *SHAPE), (*SHAPE, numpy.True_)):
        for call in (lambda np, x: np.broadcast_to(x, shape[:3]), lambda np, x: x.reshape(shape)):  # noqa: B023
            with pytest.raises(TypeError) as theirs:
                call(numpy, expected)
            with pytest.raises(TypeError) as mine:
                call(np, x)
            assert str(mine.value) == str(theirs.value)


def test_arrays_that_refuse_writes_are_shown_so() -> None:
    values = numbers("f8", 0)
    for fixed in (False, True, False, True):
        x = managed(values)
        x.flags.writeable = not fixed
        for shown in (x.reshape(-1), x.T, x.swapaxes(0, 1), np.expand_dims(x, 0)):
            assert shown.flags.writeable is not fixed


@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")
def test_another_shape_of_the_array_is_another_layout() -> None:
    x, expected = managed(numbers("f8", 0)), numbers("f8", 0)
    for shape in (SHAPE, (128, 96), SHAPE, (12, 1024)):
        x.shape = shape
        expected = expected.reshape(shape)
        for show in (lambda a: a.T, lambda a: a.swapaxes(0, 1), lambda a: a.reshape(2, -1)):
            assert told(show(x), x)[:4] == told(show(expected), expected)[:4]


@pytest.mark.skipif(not COMPILED, reason="views are made again in C")
def test_numpys_viewer_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shows = [SHOWS[name] for name in ("reshape", "swapaxes", "moveaxis", "flip", "diagonal", "expand_dims")]
    for show in shows:
        show(np, managed(numbers("f8", 0)))
    monkeypatch.setattr(views, "virtual", lambda view: pytest.fail("asked again"))
    views._memo.clear()
    for show in shows:
        show(np, managed(numbers("f8", 1)))


def test_all_that_shows_is_tried() -> None:
    tried = " ".join(SHOWS)
    assert [name for name in SHOWING if name not in tried] == []
