"""Holds ufuncs as objects to NumPy's, and both protocols of overriding: `__array_ufunc__` and `__array_function__`."""

from __future__ import annotations

import copy
import inspect
import operator
import pickle
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend.ufunc import UFUNCS
from tests.frontend.agreement import MODES, agree

IADD: Any = operator.iadd
IMATMUL: Any = operator.imatmul
NAMES = sorted({u.__name__ for u in UFUNCS.values()})
ATTRIBUTES = "nin nout nargs ntypes types identity signature __name__ __qualname__ __module__".split()


def signature_of(function: Any) -> Any:
    try:
        return inspect.signature(function)
    except ValueError:  # before NumPy 2.4, in Pythons before 3.13
        return ValueError


@pytest.mark.parametrize("name", NAMES)
def test_ufuncs_describe_themselves_as_numpys(name: str) -> None:
    theirs, ours = getattr(numpy, name), getattr(lazyarray, name)
    for attribute in ATTRIBUTES:
        if hasattr(theirs, attribute):
            assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert hasattr(ours, "__qualname__") == hasattr(theirs, "__qualname__")
    assert signature_of(ours) == signature_of(theirs)
    assert (repr(ours), str(ours)) == (repr(theirs), str(theirs))
    assert pickle.loads(pickle.dumps(ours)) is copy.copy(ours) is copy.deepcopy(ours) is ours
    # An override that is handed NumPy's finds it among ours.
    assert {ours: 1}[theirs] == 1


def test_the_class_of_ufuncs_has_no_signature_attribute_of_its_own() -> None:
    assert signature_of(lazyarray.ufunc) == signature_of(numpy.ufunc)
    assert lazyarray.ufunc.__doc__ == numpy.ufunc.__doc__


def test_the_private_hooks_of_ufuncs_answer() -> None:
    dtypes = (numpy.dtype(float), numpy.dtype(float), None)
    found, _ = lazyarray.add._resolve_dtypes_and_context(dtypes)
    assert found == numpy.add._resolve_dtypes_and_context(dtypes)[0]  # type: ignore[attr-defined]


CALLS: list[Callable[[Any], Any]] = [
    lambda np: np.add.reduce(1, (), None, ...),
    lambda np: np.add.reduce(1, out=(...,)),
    lambda np: np.add.reduce(),
    lambda np: np.add.reduce(np.data([1.0]), foo=3),
    lambda np: np.add.reduce(np.data([[1.0]]), 0, None, None, True, 3.0),
    lambda np: np.add.reduce(np.data([1.0]), 0, None, None, out=np.zeros(())),
    lambda np: np.divmod.reduce(np.data([1.0, 2.0]), out=np.zeros(2)),
    lambda np: np.bitwise_and.reduce(np.data([1, 2]), dtype="f4"),
    lambda np: np.add.accumulate(np.data([1.0, 2.0]), out=(None,)),
    lambda np: np.multiply.accumulate(np.data([1 + 1j, 2, 1j]), out=np.zeros(3)),
    lambda np: np.add.accumulate(np.data([1.0, 2.0]), 0, None, np.zeros(2)),
    lambda np: np.add.reduceat(np.data([1.0, 2.0])),
    lambda np: np.add.reduceat(np.data([1.0, 2.0]), [0, 1], 0, None, np.zeros(2)),
    lambda np: np.sin.outer(np.data([1.0]), np.data([1.0])),
    lambda np: np.add.outer(np.data([1.0])),
    lambda np: np.add.at(np.data([1.0])),
    lambda np: np.add.at(np.data([1.0]), [0], None),
    lambda np: np.add.at([1, 2], [0], 1),
]


@MODES
@pytest.mark.parametrize("place", range(len(CALLS)))
def test_methods_check_their_arguments_as_numpys(place: int, eager_below: int) -> None:
    agree(CALLS[place], eager_below)


# ---- __array_ufunc__


def quantity(np: Any, log: list[Any]) -> Any:
    class Quantity:
        def __init__(self, values: Any) -> None:
            self.values = values

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
            own = ufunc is getattr(np, ufunc.__name__)
            kinds = [type(item) is np.ndarray for item in inputs]
            log.append((own, method, kinds, sorted(options), type(options.get("out"))))
            out = options.pop("out", None)
            if isinstance(options.get("where"), Quantity):
                options["where"] = options["where"].values
            found = getattr(ufunc, method)(*[i.values if isinstance(i, Quantity) else i for i in inputs], **options)
            return Quantity(found) if out is None else out[0]

    return Quantity


OVERRIDDEN: list[Callable[[Any, Any, Any], Any]] = [
    lambda np, a, q: a + q,
    lambda np, a, q: a @ q,
    lambda np, a, q: a < q,
    lambda np, a, q: np.add(q, a),
    lambda np, a, q: np.add(a, a, out=q),
    lambda np, a, q: np.add(a, a, q),
    lambda np, a, q: np.add(a, a, where=q, out=np.zeros(3)),
    lambda np, a, q: np.matmul(a, q),
    lambda np, a, q: np.vecdot(a, q),
    lambda np, a, q: np.add.reduce(q),
    lambda np, a, q: np.add.reduce(a, out=q),
    lambda np, a, q: np.add.reduce(q, keepdims=True),
    lambda np, a, q: np.add.accumulate(q),
    lambda np, a, q: np.multiply.outer(a, q),
    lambda np, a, q: np.add.reduceat(q, [0, 1]),
    lambda np, a, q: np.negative(q),
    lambda np, a, q: IADD(a, q),
]


@MODES
@pytest.mark.parametrize("place", range(len(OVERRIDDEN)))
def test_overrides_are_handed_the_ufuncs_and_arrays_of_the_program(place: int, eager_below: int) -> None:
    def program(np: Any) -> Any:
        log: list[Any] = []
        made = quantity(np, log)(np.data([1.0, 2.0, 3.0]))
        found = OVERRIDDEN[place](np, np.data([4.0, 5.0, 6.0]), made)
        return log, getattr(found, "values", found)

    agree(program, eager_below)


def test_overrides_written_for_numpy_are_handed_numpys() -> None:
    def override(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return ufunc is np.add, [type(item) is np.ndarray for item in inputs]  # type: ignore[name-defined] # noqa: F821

    def answer(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func is np.sum  # type: ignore[name-defined] # noqa: F821

    space = {"np": numpy}
    members = {
        "__array_ufunc__": FunctionType(override.__code__, space),
        "__array_function__": FunctionType(answer.__code__, space),
    }
    duck: Any = type("Duck", (), members)()
    assert lazyarray.ones(2) + duck == (True, [True, False])
    assert lazyarray.add(duck, lazyarray.ones(2)) == (True, [False, True])
    assert lazyarray.sum(duck)


@MODES
def test_what_refuses_is_refused(eager_below: int) -> None:
    class Silent:
        def __array_ufunc__(self, *args: Any, **options: Any) -> Any:
            return NotImplemented

        def __repr__(self) -> str:
            return "Silent()"

    class Never:
        __array_ufunc__ = None

        def __rmatmul__(self, other: Any) -> str:
            return "never"

    class Prior:
        __array_priority__ = 100

        def __rmatmul__(self, other: Any) -> str:
            return "prior"

    def program(np: Any) -> Any:
        return IMATMUL(np.data([1.0, 2.0]), Prior()), np.data([1.0]) @ Never()

    agree(program, eager_below)
    agree(lambda np: np.add(np.data([1.0]), Never()), eager_below)
    agree(lambda np: np.add.reduce(Silent()), eager_below)


@MODES
def test_objects_that_wrap_results_are_handed_the_programs(eager_below: int) -> None:
    def program(np: Any) -> Any:
        class Wrapping:
            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                return np.data([1.0, 2.0])

            def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
                known = context is None or context[0] is getattr(np, context[0].__name__)
                return type(array) is np.ndarray, known, context is None or context[1][-1] is made, array

        made = Wrapping()
        return np.negative(made), np.data([1.0, 2.0]) + made, np.maximum.reduce(made)[0]

    agree(program, eager_below)


# ---- __array_function__


def duck(np: Any, log: list[Any]) -> Any:
    class Duck:
        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            space = np.linalg if func.__module__.endswith("linalg") else np
            known = func is getattr(space, func.__name__)
            log.append((func.__name__, known, sorted(kind.__name__ for kind in types), len(args), sorted(kwargs)))
            return "quack"

    return Duck()


FUNCTIONS: list[Callable[[Any, Any], Any]] = [
    lambda np, d: np.sum(d),
    lambda np, d: np.concatenate([np.data([1.0]), d]),
    lambda np, d: np.stack([d]),
    lambda np, d: np.where(np.data([True]), d, 0),
    lambda np, d: np.linalg.norm(d),
    lambda np, d: np.median(d),
    lambda np, d: np.dot(d, np.data([1.0])),
    lambda np, d: np.reshape(d, (1, 1)),
    lambda np, d: np.broadcast_to(d, 3),
    lambda np, d: np.broadcast_arrays(d, 1),
    lambda np, d: np.empty_like(d),
    lambda np, d: np.linspace(d, 1),
    lambda np, d: np.result_type(d, int),
    lambda np, d: np.shape(d),
    lambda np, d: np.select([d], [d]),
    lambda np, d: np.diag(d),
    lambda np, d: np.frombuffer(b"12345678", like=d),
    lambda np, d: np.fromiter([1], int, like=d),
]


@MODES
@pytest.mark.parametrize("place", range(len(FUNCTIONS)))
def test_ducks_are_handed_the_functions_of_the_program(place: int, eager_below: int) -> None:
    def program(np: Any) -> Any:
        log: list[Any] = []
        return FUNCTIONS[place](np, duck(np._space, log)), log

    agree(program, eager_below)


@MODES
def test_subclasses_override_functions_and_call_super(eager_below: int) -> None:
    def program(np: Any) -> Any:
        log = []

        class Mine(np.ndarray):  # type: ignore[misc]
            def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
                log.append(func is getattr(np, func.__name__))
                if func is np.std:
                    return "mine"
                return super().__array_function__(func, types, args, kwargs)

        made = np.data([1.0, 2.0]).view(Mine)
        joined = np.concatenate([made, np.data([3.0])])
        return np.std(made), type(joined) is np.ndarray, joined, type(np.zeros_like(made)) is Mine, log[:2]

    agree(program, eager_below)


def test_the_protocol_checks_its_arguments() -> None:
    agree(lambda np: np.arange(2).__array_function__(np.reshape, (np.ndarray,), [1], {}), 4096)
    agree(lambda np: np.arange(2).__array_function__(np.reshape, (np.ndarray,), (1,), []), 4096)


def test_functions_of_other_packages_are_handed_the_arrays_themselves() -> None:
    made: Any = numpy._core.overrides.array_function_dispatch(lambda array: (array,), module="other")  # type: ignore[attr-defined]
    array = lazyarray.arange(3)
    assert made(lambda array: array)(array) is array


def test_numpys_code_for_its_subclasses_is_handed_numpys_arrays() -> None:
    def program(np: Any) -> Any:
        return (np.char.array(["%d", "%s"]) % np.data([3, 7])).tolist()

    agree(program, 4096)


def test_unknown_keywords_are_refused_before_like_is_asked() -> None:
    agree(lambda np: np.array(1, unknown=True, like=duck(np._space, [])), 4096)


A = numpy.array([3.0, -0.0, numpy.nan, 2.5])


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x: np.negative.outer(x, x),
        lambda np, x: np.negative.outer(x),
        lambda np, x: np.frexp.outer(x, x),
        lambda np, x: np.fmin.outer(x[::3, None], -x),
        lambda np, x: np.maximum.outer(x, -x),
        lambda np, x: np.multiply.outer(x[::2], x[::-1]),
        lambda np, x: np.add.outer(x.reshape((1,) * 40 + (4,)), x.reshape((1,) * 40 + (4,))),
        lambda np, x: np.subtract.outer(x.reshape(2, 2).T, x),
        lambda np, x: np.floor_divide.outer(x, x),
    ],
)
def test_outer_is_numpys(call: Any) -> None:
    said = []
    for np in (numpy, lazyarray):
        try:
            with numpy.errstate(all="ignore"), lazyarray.errstate(all="ignore"):
                found = numpy.asarray(call(np, np.array(A)))
            said.append((found.dtype, found.shape, found.strides, found.tobytes()))
        except Exception as error:
            said.append((type(error), str(error)))
    assert said[1] == said[0]
