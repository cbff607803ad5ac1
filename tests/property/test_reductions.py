"""Reductions and scans over drawn shapes, layouts, axes: NumPy's bits where its order is the natural one."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lazyarray
from lazyarray.config import config
from tests.property.programs import EXACT, Bound, differ

SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
SETTINGS = settings(
    max_examples=3000 if SOAK else 60,
    derandomize=not SOAK,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
FUNCTIONS = (
    "sum",
    "mean",
    "prod",
    "var",
    "std",
    "max",
    "min",
    "argmax",
    "nansum",
    "nanmean",
    "cumsum",
    "any",
)
WITHOUT_AXES = {"argmax", "cumsum"}
# Each gives a C-ordered array, computed or not, that is then viewed.
SOURCES = ("x", "x * 2", "x + x[..., ::-1]", "(x - 1) * x")
VIEWS = ("", ".T", "[..., 1:]", "[1:]", "[..., ::-1]", "[::2]", "[..., None]", "[None]")
SMALL = (1, 2, 3, 7, 8, 9, 31, 64, 65, 129, 257)
LONG = (127, 128, 129, 1000, 1024, 4097, 8191, 8193, 20001)


@st.composite
def cases(draw: st.DrawFn) -> tuple[numpy.ndarray[Any, Any], str]:
    """An array whose sums show their order, and an expression over it."""
    ndim = draw(st.integers(1, 3))
    shape = (draw(st.sampled_from(LONG)),)
    if ndim > 1:
        shape = tuple(draw(st.sampled_from(SMALL if ndim == 2 else SMALL[:7])) for _ in range(ndim))
    dtype = draw(st.sampled_from(("f8", "f4", "c16", "c8", "f2", "i4", "u1", "b1")))
    rng = numpy.random.default_rng(draw(st.integers(0, 10**6)))
    widest = 0.5 if dtype == "f2" else 3.0
    array: numpy.ndarray[Any, Any] = rng.standard_normal(shape) * 10.0 ** rng.uniform(-widest, widest, shape)
    if dtype in ("c8", "c16"):
        array = array + 1j * rng.standard_normal(shape)
    if dtype in ("i4", "u1"):
        array = rng.integers(0, 200, shape)
    expression = f"({draw(st.sampled_from(SOURCES))}){draw(st.sampled_from(VIEWS))}"
    function = draw(st.sampled_from(FUNCTIONS))
    axis: Any = draw(st.one_of(st.none(), st.integers(-ndim, ndim - 1)))
    if function not in WITHOUT_AXES and draw(st.booleans()) and ndim > 1:
        axis = tuple(sorted(draw(st.sets(st.integers(0, ndim - 1), min_size=1))))
    keepdims = ", keepdims=True" if function != "cumsum" and draw(st.booleans()) else ""
    return array.astype(dtype), f"np.{function}({expression}, axis={axis}{keepdims})"


def run_expression(xp: Any, array: numpy.ndarray[Any, Any], expression: str) -> Any:
    with warnings.catch_warnings(), xp.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return numpy.array(eval(expression, {"np": xp, "x": xp.array(array)}), copy=True)
        except Exception as error:
            return type(error).__name__, str(error)


def bound_of(array: numpy.ndarray[Any, Any], expression: str) -> Bound:
    """Exact for C order and for what no order changes; else the error that reordering may cause."""
    function, _, rest = expression.partition("(")
    inner = rest[: rest.rindex(", axis=")]
    with numpy.errstate(all="ignore"):
        summed = eval(inner, {"x": array})
        largest = float(numpy.abs(summed.astype("c16")).max(initial=1.0))
    ordered = summed.flags.c_contiguous or summed.ndim == 1
    squared = function in ("np.var", "np.std")
    if ordered or array.dtype.kind in "bu" or function in ("np.max", "np.min", "np.argmax", "np.any", "np.cumsum"):
        return EXACT
    eps = float(numpy.finfo(summed.dtype).eps) if summed.dtype.kind in "fc" else 2.0**-52
    size = max(summed.size, 1)
    return Bound(0, 8 * eps * size * largest * (largest if squared else 1.0))


@pytest.mark.parametrize("eager_below", [None, 0], ids=["small arrays eager", "all recorded"])
@SETTINGS
@given(case=cases())
def test_reductions_equal_numpy(case: tuple[numpy.ndarray[Any, Any], str], eager_below: int | None) -> None:
    array, expression = case
    wanted = run_expression(numpy, array, expression)
    changed: dict[str, Any] = {} if eager_below is None else {"eager_below": eager_below}
    with config.set(**changed):
        got = run_expression(lazyarray, array, expression)
    where = f"x = array of {array.dtype} {array.shape}; {expression}"
    if isinstance(wanted, tuple) or isinstance(got, tuple):
        assert wanted == got, where
        return
    bound = bound_of(array, expression)
    if bound.is_exact or "prod" not in expression:  # a product in another order may overflow on its way
        problem = differ(wanted, got, bound)
        assert problem is None, f"{where}: {problem}"
