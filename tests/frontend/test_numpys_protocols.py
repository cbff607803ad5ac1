"""NumPy's functions on lazy arrays: what stays lazy, what is handed out, and how the two kinds of arrays mix."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend.array import value
from lazyarray.ir.expression import pending_closure

DATA = numpy.random.default_rng(0).standard_normal((60, 100))


@pytest.fixture(autouse=True)
def _recorded() -> Iterator[None]:
    with lazyarray.config.set(eager_below=0):
        yield


def lazy() -> Any:
    return lazyarray.array(DATA) * 1


def is_pending(array: Any) -> bool:
    return array._np is None and bool(pending_closure([value(array)]))


STAYING: dict[str, Callable[[Any], Any]] = {
    "sin": numpy.sin,
    "add to NumPy's": lambda x: numpy.add(DATA, x),
    "NumPy's on the left": lambda x: DATA + x,
    "NumPy's on the right": lambda x: x * DATA,
    "comparison": lambda x: x < DATA,
    "product": lambda x: DATA.T @ x,
    "where": lambda x: numpy.where(x > 0, x, DATA),
    "sum over an axis": lambda x: numpy.sum(x, axis=0),
    "mean by the method of the function": lambda x: numpy.mean(x, axis=1, keepdims=True),
    "concatenate": lambda x: numpy.concatenate([x, DATA]),
    "stack": lambda x: numpy.stack([DATA, x]),
    "transpose": numpy.transpose,
    "clip": lambda x: numpy.clip(x, -1, 1),
    "cumsum": lambda x: numpy.cumsum(x, axis=1),
    "reduce": lambda x: numpy.add.reduce(x, axis=1),
    "outer": lambda x: numpy.multiply.outer(x[0], DATA[1]),
    "roll": lambda x: numpy.roll(x, 3),
    "zeros_like": lambda x: numpy.zeros_like(x) + x,
    "einsum": lambda x: numpy.einsum("ij,kj->ik", x, DATA),
}


@pytest.mark.parametrize("call", STAYING.values(), ids=STAYING)
def test_numpys_functions_keep_lazy_arrays_pending(call: Callable[[Any], Any]) -> None:
    with lazyarray.strict(evaluate=True):
        found = call(lazy())
    assert type(found) is lazyarray.ndarray
    assert is_pending(found)
    expected = call(DATA)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    numpy.testing.assert_allclose(numpy.asarray(found), expected, rtol=1e-12, atol=1e-12)


def test_writes_into_numpys_arrays_are_seen_there() -> None:
    out = numpy.zeros((60, 100))
    assert numpy.multiply(lazy(), 2, out=out) is out
    assert numpy.array_equal(out, DATA * 2)
    out += lazy()
    assert type(out) is numpy.ndarray
    assert numpy.array_equal(out, DATA * 3)
    out[3] = lazy()[4]
    assert numpy.array_equal(out[3], DATA[4])
    assert numpy.array_equal(out[lazy() > 1], out[DATA > 1])
    numpy.copyto(out, lazy())
    assert numpy.array_equal(out, DATA)


def test_array_takes_dtype_and_copy_as_numpys_does() -> None:
    x = lazy()
    assert numpy.shares_memory(x.__array__(), x.__array__())
    assert not numpy.shares_memory(x.__array__(copy=True), x.__array__())
    assert x.__array__("f4").dtype == "f4"
    assert numpy.shares_memory(numpy.asarray(x), numpy.array(x, copy=False))
    for ask in (lambda a: numpy.asarray(a, "f4", copy=False), lambda a: a.__array__("f4", copy=False)):
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            ask(x)
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            ask(DATA)


def test_interfaces_describe_memory_that_both_sides_write() -> None:
    x = lazy()
    described = x.__array_interface__
    assert described["shape"] == (60, 100)
    assert described["typestr"] == "<f8"
    memory = numpy.from_dlpack(x)
    view: Any = memoryview(x) if hasattr(x, "__buffer__") or lazyarray.ndarray in _slots() else memory
    memory[0, 0] = 8
    x[0, 1] = 9
    assert (float(x[0, 0]), float(memory[0, 1]), view[0, 1]) == (8.0, 9.0, 9.0)
    assert memory.__array_interface__["data"] == described["data"]
    assert x.__dlpack_device__() == DATA.__dlpack_device__()
    copied = numpy.from_dlpack(x, copy=True)
    assert not numpy.shares_memory(copied, memory)


def test_the_interface_is_there_however_often_a_line_asks() -> None:
    x = lazy()
    for _ in range(100):  # Python 3.12 specialises an instruction that comes again
        assert x.__array_interface__["shape"] == DATA.shape


def test_code_that_looks_for_the_interface_finds_it() -> None:
    x, none = lazy(), object()
    for _ in range(100):
        assert hasattr(x, "__array_interface__")
        for name in ("__array_interface__", "__array_struct__"):
            assert [hasattr(x, name), hasattr(none, name)] == [True, False]
        assert getattr(x, "__array_interface__", None) is not None
        assert getattr(x, "__array_struct__", "__array_interface__") != "__array_interface__"
        assert [hasattr(each, "__array_struct__") for each in (x, none)] == [True, False]
    assert numpy.asarray(x).base is not None, "NumPy itself asks `__array__`"
    assert type(numpy.asarray(x)) is numpy.ndarray


def test_lines_that_convert_and_lines_that_ask_are_told_apart_however_often_they_run() -> None:
    x, kinds = lazy(), []

    def convert_and_ask(name: str) -> None:
        made = numpy.asarray(x)
        copied = numpy.array(x, copy=True, subok=True)
        kinds.append((type(made), type(copied), hasattr(x, name), getattr(x, name, None) is not None))

    def ask_anything(ask: Any, name: Any) -> Any:
        return ask(x, name), getattr(x, name) if isinstance(name, str) else None

    for _ in range(100):
        convert_and_ask("__array_interface__")
        convert_and_ask("__array_struct__")
        assert type(ask_anything(numpy.asarray, None)[0]) is numpy.ndarray
        assert ask_anything(lambda a, name: hasattr(a, name), "__array_interface__")[1]["shape"] == DATA.shape
    assert set(kinds) == {(numpy.ndarray, numpy.ndarray, True, True)}
    assert numpy.asarray(x).base is not None


def test_a_function_that_asks_for_attributes_keeps_no_array_that_it_has_let_go() -> None:
    x = lazy()

    def convert(code: str) -> Any:
        array = lazyarray.evaluate(x * 2.0)
        assert getattr(array, "shape", ()) == DATA.shape
        made = numpy.asarray(array, code)  # asks the array for what the line above might have asked for
        gone = weakref.ref(array)
        array = None
        return made, gone() is None

    for _ in range(3):
        made, let_go = convert("f8")
        assert let_go
        numpy.testing.assert_array_equal(made, DATA * 2.0)


@pytest.mark.parametrize("name", ["__array_interface__", "__array_struct__"])
def test_calls_that_ask_are_found_whatever_their_arguments_are(name: str) -> None:
    held, none = {"x": [lazy()]}, object()
    for choice in (True, False):
        found = hasattr(held["x"][0] if choice else none, name)
        assert found is choice
        assert (getattr(held["x"][0], name if choice else name[:], None) is not None) is True
        assert (getattr(none, str(name), 1 if choice else 2) in (1, 2)) is True


def test_the_interfaces_are_described_as_numpys() -> None:
    for name in ("__array_interface__", "__array_struct__"):
        assert getattr(lazyarray.ndarray, name).__doc__ == getattr(numpy.ndarray, name).__doc__
        for kind in (lazyarray, numpy):
            with pytest.raises(AttributeError, match=f"attribute '{name}' of 'numpy.ndarray' objects is not writable"):
                setattr(kind.array([1.0]), name, {})


def test_it_is_found_among_many_constants() -> None:
    many = "; ".join(f"y = {number}.5" for number in range(300))
    space: dict[str, Any] = {}
    exec(f"def look(x):\n    {many}\n    return hasattr(x, '__array_interface__')", space)
    assert space["look"](lazy())
    assert not space["look"](1.0)


def _slots() -> Any:
    from lazyarray.frontend import buffer_slot

    return buffer_slot.SLOTS


def test_every_name_of_the_standard_is_there() -> None:
    info: Any = lazyarray.__array_namespace_info__()
    expected: Any = numpy.__array_namespace_info__()
    assert info.capabilities() == expected.capabilities()
    assert info.dtypes() == expected.dtypes()
    assert info.default_dtypes() == expected.default_dtypes()
    assert info.devices() == expected.devices()
    names = "astype can_cast isdtype permute_dims matrix_transpose vecdot unstack take_along_axis cumulative_sum diff"
    for name in names.split():
        assert callable(getattr(lazyarray, name))
    x = lazy()
    assert x.to_device("cpu") is x or numpy.array_equal(x.to_device("cpu"), x)
    assert lazyarray.asarray(x, device="cpu").device == "cpu"


@pytest.mark.parametrize("device", ["nonsense", "cuda:first", ":", "CPU"])
@pytest.mark.parametrize("name", ["arange", "zeros", "asarray", "linspace"])
def test_a_device_that_no_package_knows_is_numpys_error(name: str, device: str) -> None:
    args = (0.0, 1.0) if name == "linspace" else (5,)
    with pytest.raises(ValueError, match="Device not understood") as theirs:
        getattr(numpy, name)(*args, device=device)
    with pytest.raises(ValueError, match="Device not understood") as ours:
        getattr(lazyarray, name)(*args, device=device)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("name", ["concatenate", "mean", "asarray", "where", "stack", "dot"])
def test_a_call_without_arguments_is_refused_in_the_functions_name(name: str) -> None:
    with pytest.raises(TypeError) as theirs:
        getattr(numpy, name)()
    with pytest.raises(TypeError) as ours:
        getattr(lazyarray, name)()
    assert str(ours.value).startswith(f"{name}()") or str(ours.value) == str(theirs.value)


def test_a_class_that_declines_every_array_is_numpys_error() -> None:
    class Other:
        asked: list[Any] = []  # noqa: RUF012

        def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
            self.asked.append(types)
            return NotImplemented

    x, other = lazy(), Other()
    assert x.__array_function__(numpy.concatenate, (lazyarray.ndarray, Other), ((x, other),), {}) is NotImplemented
    assert set(other.asked[0]) == {lazyarray.ndarray, Other}
    assert set(other.asked[1]) == {numpy.ndarray, Other}
    for function in (numpy.concatenate, lazyarray.concatenate):
        with pytest.raises(TypeError, match=r"no implementation found for 'numpy\.concatenate'"):
            function((x, other))
