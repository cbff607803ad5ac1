"""What Python's and NumPy's protocols see of an array: buffers, bases, pointers, pickles, attributes that are set."""

from __future__ import annotations

import copy
import ctypes
import gc
import hashlib
import io
import pickle
import struct
import subprocess
import sys
import weakref
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend import buffer_slot

exports = pytest.mark.skipif(
    lazyarray.ndarray not in buffer_slot.SLOTS and sys.version_info < (3, 12),
    reason="no slot for buffers here, and Python cannot write one",
)

# A pending array, one whose memory is there, a view, a transposed one, and a small one.
MAKERS: dict[str, Callable[[Any], Any]] = {
    "pending": lambda np: np.arange(8192.0) + 1,
    "view": lambda np: (np.arange(8192.0) + 1)[2::2],
    "transposed": lambda np: (np.arange(8192.0) + 1).reshape(2048, 4).T,
    "broadcast": lambda np: np.broadcast_to(np.arange(4.0) + 1, (2048, 4)),
    "small": lambda np: np.arange(12.0).reshape(3, 4),
    "complex": lambda np: np.arange(8192) * 1j,
    "scalar": lambda np: (np.arange(8192.0) + 1).sum(),
}
ARRAYS = {name: make for name, make in MAKERS.items() if name != "scalar"}
made = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def outcome(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except Exception as error:
        return type(error).__name__, str(error)


# ---- buffers


@exports
@made
@pytest.mark.parametrize(
    "ask",
    [
        lambda a: (lambda m: (m.shape, m.strides, m.format, m.readonly, m.tobytes()))(memoryview(a)),
        bytes,
        lambda a: hashlib.sha256(a).hexdigest(),
        zlib.crc32,
        lambda a: io.BytesIO().write(a),
        lambda a: b"".join([a]),
        lambda a: memoryview(a).cast("B")[:3].tolist(),
        lambda a: io.BytesIO(b"01234567").readinto(a),
    ],
    ids=["memoryview", "bytes", "hash", "checksum", "file", "join", "cast", "read into"],
)
def test_bytes_like_arguments_are_numpys(make: Callable[[Any], Any], ask: Callable[[Any], Any]) -> None:
    found = outcome(lambda: ask(make(lazyarray)))
    if isinstance(found, tuple):  # of one class, scalars have no name that follows the dtype
        found = tuple([item.replace("LazyScalar", "numpy.float64") if type(item) is str else item for item in found])
    assert found == outcome(lambda: ask(make(numpy)))


@exports
def test_a_buffer_shows_the_array_and_not_what_was_recorded_before() -> None:
    x = lazyarray.arange(10000.0)
    before = x + 1
    view: Any = memoryview(x)
    view[3] = 99.0
    x[4] = 77
    assert (x[3], view[4], before[3], (x * 2)[3]) == (99.0, 77.0, 4.0, 198.0)
    assert view.obj is x


@exports
def test_buffers_of_read_only_arrays_refuse_writes() -> None:
    fixed = lazyarray.arange(10000.0)
    fixed.flags.writeable = False
    with pytest.raises(TypeError, match=r"read-write bytes-like object, not numpy\.ndarray"):
        struct.pack_into("d", fixed, 0, 1.0)
    assert memoryview(fixed).readonly


@exports
def test_errors_of_an_export_are_those_of_numpy() -> None:
    dates = lazyarray.arange(3).astype("M8[s]")
    with pytest.raises(ValueError, match="cannot include dtype 'M' in a buffer"):
        memoryview(dates)
    with pytest.raises(ValueError, match="not C-contiguous"):
        hashlib.sha256(lazyarray.arange(10000.0)[::2])


@exports
def test_an_array_is_managed_again_once_its_buffers_are_gone() -> None:
    x = lazyarray.arange(10000.0) + 1
    assert len(bytes(x)) == 80000
    view = memoryview(x)
    assert x._base.reclaim() is None
    watch = weakref.ref(x)
    view.release()
    assert x._base.reclaim() is not None
    del x
    assert watch() is None


@exports
def test_numpy_converts_arrays_as_it_did_without_buffers() -> None:
    titled = numpy.dtype([(("title", "a"), "i4"), ("b", "f8")], align=True)
    with lazyarray.config.set(eager_below=4096):
        for x in (lazyarray.zeros(3, titled), lazyarray.arange(3.0), lazyarray.arange(3.0, dtype=">f8")):
            assert numpy.asarray(x) is x._np
            assert numpy.asarray(x).dtype is x.dtype
    x = lazyarray.arange(10000.0)
    into = numpy.zeros((1, 10000))
    into[0] = x
    assert into[0, 7] == 7
    assert numpy.array([x, x]).shape == (2, 10000)
    assert numpy.frombuffer(x)[5] == 5


@pytest.mark.skipif(lazyarray.ndarray not in buffer_slot.SLOTS, reason="no slot here")
def test_the_code_in_the_slot_does_what_its_c_says() -> None:
    """The same function out of LLVM, in a table of its own, gives the same views and errors."""
    llvm = pytest.importorskip("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(EXPORT)
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()

    class Given:
        def __init__(self, value: Any) -> None:
            self.value = value

    class Compiled(Given):
        pass

    def export(owner: Any) -> Any:
        return owner.value() if callable(owner.value) else owner.value

    assert buffer_slot.install((Given,), export)
    slot = buffer_slot.SLOTS[Given]
    place = buffer_slot._place_of(Compiled)
    ctypes.c_size_t.from_address(place).value = engine.get_function_address("slot")
    ctypes.c_size_t.from_address(place + 8).value = engine.get_function_address("release")
    for field in ("export", "call", "get_buffer", "hold", "drop"):
        ctypes.c_size_t.from_address(engine.get_global_value_address(field)).value = slot[field]

    fixed = numpy.arange(3.0)
    fixed.flags.writeable = False
    asks: tuple[Callable[[Any], Any], ...] = (
        lambda a: memoryview(a).tolist(),
        bytes,
        lambda a: memoryview(a).obj is a,
        lambda a: struct.pack_into("d", a, 0, 1.0),
        lambda a: zlib.crc32(a),
    )
    for value in (numpy.arange(6.0).reshape(2, 3), numpy.arange(6.0)[::2], fixed, 3, lambda: 1 // 0):
        for ask in asks:
            found, expected = (outcome(partial(ask, cls(value))) for cls in (Given, Compiled))
            assert str(found).replace("Given", "Compiled") == str(expected)
    owner: Any = Given(numpy.arange(4.0))
    nothing: Any = Given(3)
    counts = sys.getrefcount(owner), sys.getrefcount(owner.value)
    for _ in range(100):
        memoryview(owner)
        bytes(owner)
        with pytest.raises(TypeError):
            memoryview(nothing)
    assert (sys.getrefcount(owner), sys.getrefcount(owner.value)) == counts


EXPORT = """
@export = global ptr null
@call = global ptr null
@get_buffer = global ptr null
@hold = global ptr null
@drop = global ptr null

define i32 @slot(ptr %self, ptr %view, i32 %flags) {
  %call = load ptr, ptr @call
  %export = load ptr, ptr @export
  %array = call ptr %call(ptr %export, ptr %self)
  %obj = getelementptr i8, ptr %view, i64 8
  %none = icmp eq ptr %array, null
  br i1 %none, label %fail, label %serve
serve:
  %get = load ptr, ptr @get_buffer
  %result = call i32 %get(ptr %array, ptr %view, i32 %flags)
  %good = icmp eq i32 %result, 0
  br i1 %good, label %keep, label %out
keep:
  %held = load ptr, ptr %obj
  %internal = getelementptr i8, ptr %view, i64 72
  store ptr %held, ptr %internal
  store ptr %self, ptr %obj
  %hold = load ptr, ptr @hold
  call void %hold(ptr %self)
  br label %out
out:
  %drop = load ptr, ptr @drop
  call void %drop(ptr %array)
  ret i32 %result
fail:
  store ptr null, ptr %obj
  ret i32 -1
}

define void @release(ptr %self, ptr %view) {
  %internal = getelementptr i8, ptr %view, i64 72
  %held = load ptr, ptr %internal
  %drop = load ptr, ptr @drop
  call void %drop(ptr %held)
  ret void
}
"""


def test_where_memory_cannot_be_made_executable_the_rest_works() -> None:
    script = """
import ctypes
real = ctypes.CDLL
class Refusing:
    def __init__(self, *args, **options):
        self.mprotect = lambda *args: -1
    mprotect = None
ctypes.CDLL = lambda name, *args, **options: Refusing() if name is None else real(name, *args, **options)
import lazyarray as np, numpy
from lazyarray.frontend import buffer_slot
assert not buffer_slot.SLOTS
x = np.arange(10000.0)
assert (x + 1)[3] == 4 and numpy.asarray(x)[5] == 5
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=100)


# ---- bases


@pytest.mark.parametrize("size", [12, 12000])
def test_the_base_of_a_view_is_the_array_itself(size: int) -> None:
    x = lazyarray.arange(size)
    view = x[1:]
    for shown in (view, view[2:], x[...], x[()], x.T, x.reshape(3, -1), x[None], x.ravel(), x.view(), x.getfield("i4")):
        assert shown.base is x
    assert lazyarray.broadcast_to(x, (2, size)).base is x
    z = x * 1j
    assert z.real.base is z
    assert z.imag[1:].base is z
    for owner in (x, x.copy(), x + 1, lazyarray.zeros((3, size), order="F"), copy.copy(x.reshape(3, -1).T)):
        assert owner.base is None
        assert owner.flags.owndata


@pytest.mark.parametrize("size", [12, 12000])
def test_an_array_whose_owner_is_gone_has_one_base_all_the_same(size: int) -> None:
    x = lazyarray.arange(size).reshape(3, -1)
    assert x.base is x.T.base
    assert x.base.shape == (size,)
    x.base[0] = 5
    assert x[0, 0] == 5


def test_memory_of_others_is_their_base() -> None:
    memory = bytearray(80)
    assert lazyarray.frombuffer(memory).base is memory or lazyarray.frombuffer(memory).base.obj is memory
    mine = type("Mine", (lazyarray.ndarray,), {})
    x = lazyarray.arange(5)
    assert x.view(mine).base is x
    assert type(x.view(mine)[[0, 1]].base) is lazyarray.ndarray


# ---- pointers


@pytest.mark.parametrize("size", [12, 12000])
def test_pointers_keep_the_array(size: int) -> None:
    x = lazyarray.arange(size, dtype=float)
    pointer = x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    watch = weakref.ref(x)
    pointer[1] = 9
    assert (x[1], (x + 1)[1]) == (9, 10)
    del x
    gc.collect()
    assert watch() is not None
    del pointer
    gc.collect()
    assert watch() is None


# ---- pickles


@made
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_pickles_come_back_equal_and_in_their_order(make: Callable[[Any], Any], protocol: int) -> None:
    x, expected = make(lazyarray), make(numpy)
    back = pickle.loads(pickle.dumps(x, protocol))
    numpy.testing.assert_array_equal(back, expected)
    theirs = pickle.loads(pickle.dumps(expected, protocol))
    assert type(back) is (lazyarray.ndarray if theirs.ndim else numpy.float64)
    assert back.strides == theirs.strides
    assert back.flags.writeable == theirs.flags.writeable


def test_buffers_of_pickles_go_out_of_band() -> None:
    x = lazyarray.arange(10000.0) + 1
    buffers: list[Any] = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(buffers) == 1
    assert len(data) < 400
    back = pickle.loads(data, buffers=[bytearray(buffer) for buffer in buffers])
    assert back[9999] == 10000


# ---- what is set


SETTINGS = """
a.dtype = 'i8'
a.dtype = 'V16'
a.dtype = object
a.shape = -1
a.shape = (2, -1)
a.shape = (7, 11)
a.shape = None
a.shape = 2.5
a.strides = (16,)
a.strides = a.strides
a.real = 3
a.real = 'x'
a.imag = 3
a.flat = [1, 2, 3]
del a.shape
del a.T
a.T = 1
a.flags.aligned = False
a.flags.writebackifcopy = True
a.flags.owndata = True
a.flags.foo = 1
a.flags['W'] = False
a.flags['OWNDATA'] = 1
del a.flags.writeable
hash(a.flags)
a.flags.writeable = False; a[...] = 1
a.byteswap(True)
a.setfield(3, 'f4', 4)
a.fill([1, 2])
"""


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("statement", SETTINGS.strip().splitlines())
def test_setting_does_what_it_does_in_numpy(make: Callable[[Any], Any], statement: str) -> None:
    results = []
    for np in (lazyarray, numpy):
        space = {"a": make(np)}
        error = outcome(partial(exec, statement, space))
        a: Any = space["a"]
        results.append((error, a.dtype, a.shape, str(a.flags), a.tobytes(), a.strides, a.base is None))
    assert results[0] == results[1]


@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")
@made
def test_flags_are_numpys(make: Callable[[Any], Any]) -> None:
    flags, expected = make(lazyarray).flags, make(numpy).flags
    assert (str(flags), repr(flags), flags.num) == (str(expected), repr(expected), expected.num)
    for name in ("behaved", "carray", "farray", "fnc", "forc", "contiguous", "fortran", "aligned"):
        assert getattr(flags, name) == getattr(expected, name), name
    assert isinstance(flags, type(expected))


@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")
def test_an_array_that_is_reshaped_in_place_stays_managed() -> None:
    x = lazyarray.arange(10000.0) + 1
    x[1:]  # a view that is gone
    x.shape = (100, 100)
    assert x._np is None
    view = x[0]
    x.shape = (50, 200)
    x[0, 0] = 9
    assert x._np is None
    assert x.shape == (50, 200)
    assert view[0] == 9
    assert view.base is x
    assert x.base is None
    assert x.flags.owndata


# ---- objects


def test_arrays_of_objects_hold_lazyarrays_arrays_themselves() -> None:
    item = lazyarray.arange(3)
    objects = lazyarray.array([item, None], dtype=object)
    assert objects[0] is item
    point = lazyarray.array(1)
    assert lazyarray.array([None, point])[1] is point
    objects[1] = item
    assert objects[1] is item
    lazyarray.random.shuffle(objects)
    assert all(found is item for found in objects)
    assert lazyarray.random.choice(objects) is item


def test_generators_come_back_from_pickles() -> None:
    generator = lazyarray.random.default_rng(3)
    generator.random()
    back = pickle.loads(pickle.dumps(generator))
    assert type(back) is lazyarray.random.Generator
    assert back.random() == generator.random()
    rebuild, (bits,), _ = generator.__reduce__()
    assert rebuild(type(bits).__name__).bit_generator.state.keys() == bits.state.keys()
    legacy = lazyarray.random.RandomState(3)
    legacy.randn()
    assert pickle.loads(pickle.dumps(legacy)).randn() == legacy.randn()
