"""Owns what Python and C spell differently: these functions in the hot modules' Python form, C's in the compiled one.

The build (`build.py`) has the hot modules take these names from `primitives.pxd`, whose definitions are inline C.
"""

from __future__ import annotations

import gc
import sys
from _thread import get_ident
from collections.abc import Callable
from operator import methodcaller
from typing import Any, Final
from weakref import ref

import numpy as np

create: Final[Any] = object.__new__
"""An instance of a class whose `__new__` and `__init__` do not run. `create(cls)`"""

count: Final = sys.getrefcount
"""How many references there are to an object, the caller's own included: compare only with a count taken alike."""


def site_here(plain: int, compiled: int) -> tuple[Any, int, Any]:
    """The code, instruction and globals of the frame that is `plain` frames above the caller's.

    `compiled` is the number that counts where the hot modules have no frames; here it means nothing.
    """
    frame = sys._getframe(plain + 1)
    return frame.f_code, frame.f_lasti, frame.f_globals


def span_here(plain: int, _compiled: int, known: dict[int, Any], learn: Any) -> int:
    """What `known`, which maps codes' addresses to their bytes and to them, has of the instruction that is running.

    The frame is `plain` frames above the caller's. `learn` is asked for codes that it lacks.
    """
    frame = sys._getframe(plain + 1)
    entry = known.get(id(frame.f_code))
    if entry is None:
        learn(frame.f_code)
        return 0
    spans: bytearray = entry[0]
    place = frame.f_lasti // 2
    return spans[place] if 0 <= place < len(spans) else 0


def whole_of(a: Any) -> Any:
    """The array over C-contiguous memory that another one shows, all or a part of it; None where that is unknown."""
    whole = a.base if type(a.base) is np.ndarray else a
    return whole if whole.flags.c_contiguous and whole.flags.aligned and whole.dtype is a.dtype else None


def token_of(part: Any, whole: Any) -> Any:
    """What tells parts of arrays apart: all that `part_of` follows from, and the dtype."""
    return address_of(part) - address_of(whole), part.shape, part.strides, whole.shape, part.dtype


def part_of(part: Any, whole: Any) -> Any:
    """Where in the elements of `whole` those of a part of it are: offset, shape, strides; None between elements."""
    size = part.itemsize
    offset = address_of(part) - address_of(whole)
    if not size or offset < 0 or offset % size or any([stride % size for stride in part.strides]):
        return None
    return offset // size, part.shape, tuple([stride // size for stride in part.strides])


# Ids of the globals of lazyarray's own modules, which live as long as the process.
_OWN: Final[set[int]] = set()


def find_site(frame: Any) -> tuple[Any, int, Any] | None:
    """The code, instruction and globals of the first frame at or above this one that is not inside lazyarray."""
    while frame is not None:
        space = frame.f_globals
        if id(space) not in _OWN:
            name = space.get("__name__", "")
            if not name.startswith("lazyarray.") and name != "lazyarray":
                return frame.f_code, frame.f_lasti, space
            _OWN.add(id(space))
        frame = frame.f_back
    return None


def site_outside(plain: int) -> tuple[Any, int, Any] | None:
    """`find_site` from the frame on that is `plain` frames above the caller's."""
    return find_site(sys._getframe(plain + 1))


def size_of_memory(a: Any) -> int:
    """How many elements a NumPy array has."""
    size: int = a.size
    return size


def bytes_of_memory(a: Any) -> int:
    """How many bytes a NumPy array's elements are."""
    nbytes: int = a.nbytes
    return nbytes


def same_shape(a: Any, b: Any) -> bool:
    """True when two NumPy arrays have one shape."""
    return bool(a.shape == b.shape)


def is_of(a: Any, shape: tuple[int, ...], dtype: Any) -> bool:
    """True when a NumPy array has this shape, and this very dtype."""
    return a.dtype is dtype and bool(a.shape == shape)


def holds_numbers(a: Any) -> bool:
    """True when a NumPy array's elements are numbers, not objects or records."""
    return bool(a.dtype.num < 17 or a.dtype.num == 23)  # NPY_OBJECT, NPY_HALF


def kind_of_memory(a: Any) -> int:
    """2 for floats and complex numbers, 1 for integers and truth values, of this machine's byte order; 0 for others."""
    dtype = a.dtype
    if not dtype.isnative or dtype.char in "gG":
        return 0
    return 2 if dtype.kind in "fc" else int(dtype.kind in "biu")


def holds_in_c_order(a: Any) -> bool:
    """True when a NumPy array is C-contiguous."""
    return bool(a.flags.c_contiguous)


def is_open(a: Any) -> bool:
    """True when a NumPy array is C-contiguous, and reads and writes of its elements need no thought."""
    flags = a.flags
    return bool(flags.c_contiguous and flags.aligned and flags.writeable)


def item_of(a: Any, key: Any, missing: Any) -> Any:
    """`a[key]`, or `missing` where that is an IndexError or ValueError."""
    try:
        return a[key]
    except (IndexError, ValueError):
        return missing


def item_at(a: Any, place: int) -> Any:
    """`a[place]` of an array."""
    return a[place]


def length_of(a: Any) -> int:
    """The extent of an array's first axis."""
    return len(a)


def put_item(a: Any, key: Any, value: Any) -> bool:
    """`a[key] = value`; False where that is an IndexError."""
    try:
        a[key] = value
    except IndexError:
        return False
    return True


def address_of(data: Any) -> int:
    """Where a NumPy array's first element is."""
    address: int = data.__array_interface__["data"][0]
    return address


def copy_of(data: Any) -> Any:
    """A copy of a NumPy array in C order."""
    return data.copy()


def empty_of(shape: tuple[int, ...], dtype: Any) -> Any:
    """A NumPy array of this shape with no values yet."""
    return np.empty(shape, dtype)


weak: Final = ref
"""A weak reference to an object; None of a class derived from it."""


thread_here: Final = get_ident
"""The number of the calling thread."""


present: Final = methodcaller("get")
"""The present value of a context variable, or of what has such a `get`."""


def referent(entry: Any) -> Any:
    """What a weak reference refers to; None if that is gone."""
    return entry()


def _names_element(a: Any, key: Any) -> bool:
    items = key if type(key) is tuple else (key,)
    named = len(items) == a.ndim and a.dtype.kind in "biufc"
    return named and all([type(i) is int and -n <= i < n for i, n in zip(items, a.shape, strict=True)])


def element_of(a: Any, key: Any) -> Any:
    """The element of a NumPy array of numbers that a key of integers alone names; None for other keys."""
    return a[key] if _names_element(a, key) else None


def put_element(a: Any, key: Any, value: Any) -> int:
    """Writes the element that a key of integers alone names; 0 for other keys, and values that take a conversion."""
    kind = type(value)
    ready = kind is a.dtype.type or (kind in (int, float) and a.dtype == float) or (kind is int and a.dtype == int)
    if not ready or not a.flags.writeable or not _names_element(a, key):
        return 0
    try:
        a[key] = value
    except OverflowError:
        return 0
    return 1


def most_selected(a: Any, key: Any) -> int:
    """At most so many elements of a NumPy array does a basic key select: integers take their axes away."""
    items = key if type(key) is tuple else (key,)
    most = 1
    for axis, extent in enumerate(a.shape):
        before = items[: axis + 1]
        known = len(before) > axis and all(type(item) in (int, slice) for item in before)
        if not (known and type(before[axis]) is int):
            most *= extent
    return most


def selected_by(key: Any, shape: tuple[int, ...]) -> int:
    """How many elements a key of integers and slices selects; -1 for other keys."""
    items = key if type(key) is tuple else (key,)
    if len(items) > len(shape):
        return -1
    size = 1
    for item, extent in zip(items, shape, strict=False):
        if type(item) is slice:
            try:
                size *= len(range(*item.indices(extent)))
            except TypeError:
                return -1
        elif not hasattr(item, "__index__"):
            return -1
    for extent in shape[len(items) :]:
        size *= extent
    return size


def picked_by(a: Any, index: Any) -> int:
    """How many elements of a NumPy array an array of indices picks; -1 where it is none."""
    if not a.ndim or not index.ndim or index.dtype.kind not in "iu":
        return -1
    count: int = index.size
    for extent in a.shape[1:]:
        count *= extent
    return count


def same_memory(a: Any, b: Any) -> bool:
    """True when two NumPy arrays are the same elements of the same memory, in the same order."""
    same = a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides
    return bool(same and address_of(a) == address_of(b))


def remember(items: list[Any], item: Any, limit: int) -> None:
    """Adds a weak reference in place of a dead one, or at the end, or at most `limit` long, in place of the oldest."""
    for place in range(len(items) - 1, -1, -1):
        if items[place]() is None:
            items[place] = ref(item)
            return
    if len(items) >= limit:
        del items[0]
    items.append(ref(item))


def wrap_slots(_cls: type, _source: type) -> None:
    """Gives a class in C wrappers of its slots, as `source` has them: derived classes then take the slots over."""


def put_method(cls: type, name: str, method: Any) -> None:
    """Has the class call this method by its name, and what is in C stay in its slots; classes that are C's, too."""
    if cls.__flags__ & _IS_HEAP_TYPE:
        setattr(cls, name, method)
        return
    from ctypes import py_object, pythonapi

    gc.get_referents(vars(cls))[0][name] = method
    pythonapi.PyType_Modified(py_object(cls))


_IS_HEAP_TYPE: Final = 1 << 9


def take_keys(cls: type, owner: type, kind: type, export: Callable[[Any], Any]) -> None:
    """Has a subclass of `owner` that keeps its indexing take keys of the class `kind`, which `export` makes NumPy's."""

    def known(key: Any) -> Any:
        mine = type(key) is kind or (type(key) is tuple and any([type(item) is kind for item in key]))
        return export(key) if mine else key

    source: Any = owner
    own: Any = cls
    if own.__getitem__ is source.__getitem__:
        own.__getitem__ = lambda self, key: source.__getitem__(self, known(key))
    if own.__setitem__ is source.__setitem__:
        own.__setitem__ = lambda self, key, value: source.__setitem__(self, known(key), value)
