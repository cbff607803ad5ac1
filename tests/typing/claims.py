"""Claims about the types of `import lazyarray as np`, read by type checkers and never run."""

from typing import Any, assert_type

import numpy
import numpy.typing

import lazyarray as np
import lazyarray.linalg as linalg
from lazyarray.inspect.explain import Explanation
from lazyarray.inspect.profile import Profile
from lazyarray.inspect.visualize import Drawing
from lazyarray.lib.stride_tricks import sliding_window_view
from lazyarray.ma.core import MaskedArray
from lazyarray.polynomial import Polynomial
from lazyarray.polynomial.polynomial import polyval
from lazyarray.random import Generator, default_rng
from lazyarray.runtime.ledger import Runs
from lazyarray.typing import ArrayLike, NDArray

floats: NDArray[np.float64] = np.zeros((3, 4))
counts: numpy.ndarray[tuple[int], numpy.dtype[numpy.int64]] = np.ones(3, dtype=np.int64)


def scale(values: ArrayLike, factor: float) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64) * factor


def unmask(values: MaskedArray[Any, Any]) -> numpy.ma.MaskedArray[Any, Any]:
    return values


# An array of lazyarray's is a numpy.ndarray, and the scalars, dtypes and exceptions are NumPy's.
assert_type(scale([1, 2], 2.0), numpy.typing.NDArray[numpy.float64])
assert_type(floats.astype(np.float32), numpy.typing.NDArray[numpy.float32])
assert_type(np.dtype(np.float32), numpy.dtype[numpy.float32])
assert_type(np.pi, float)
assert_type(np.exceptions.AxisError(0, 1), numpy.exceptions.AxisError)
assert_type(floats.ndim, int)

# The submodules are there under our name and hold NumPy's types.
assert_type(linalg.LinAlgError(), numpy.linalg.LinAlgError)
assert_type(np.linalg.LinAlgError(), numpy.linalg.LinAlgError)
assert_type(default_rng(1), numpy.random.Generator)
assert_type(np.random.default_rng(1), Generator)
assert_type(Polynomial([1.0, 2.0]), numpy.polynomial.Polynomial)
sliding_window_view(floats, 2, axis=0)
polyval(floats, [1.0, 2.0])

# What is ours: the array of `evaluate` has the type of the one given, and several are a tuple of theirs.
assert_type(np.evaluate(floats), NDArray[np.float64])
assert_type(np.evaluate(floats, counts, 1), tuple[NDArray[np.float64], np.ndarray[tuple[int], np.dtype[np.int64]], int])
assert_type(np.evaluate(), tuple[()])
assert_type(np.explain(floats), Explanation)
assert_type(np.visualize(floats, "drawing.svg"), Drawing)
assert_type(np.counters(), dict[str, Any])
assert_type(np.config.device, str)
with np.profile() as found:
    assert_type(found, Profile)
with np.record_runs() as runs:
    assert_type(runs, Runs)
with np.strict(), np.verify(rate=0.1):
    pass

# What NumPy's stubs refuse is refused: the checker reports an ignore that nothing needs.
np.no_such_name  # type: ignore[attr-defined]  # noqa: B018
np.linalg.no_such_name  # type: ignore[attr-defined]  # noqa: B018
np.zeros(3).evaluated  # type: ignore[attr-defined]  # noqa: B018
np.zeros(shape="3")  # type: ignore[arg-type]
