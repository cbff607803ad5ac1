"""Owns lending: small parts of large arrays whose values are there, given out as views of memory, as NumPy does.

Programs that walk through a large array row by row or element by element then run at NumPy's pace: what is lent is a
plain array. The base is in its memory meanwhile (`runtime/buffer.py`). When its value is wanted as a node again, what
was lent and is still alive is taken back: it shows the base. One of the modules that may run compiled (see
`lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.frontend.loops import IMMEDIATE
from lazyarray.frontend.quick import Fields, known, limits, wrapped  # cimport
from lazyarray.ir.index_map import IndexMap
from lazyarray.native.parts import read_at  # cimport
from lazyarray.native.primitives import address_of, element_of, most_selected, picked_by, put_element  # cimport

# The build reads such imports by the line.
# isort: split
from lazyarray.native.primitives import remember, same_memory, selected_by, size_of_memory  # cimport
from lazyarray.runtime.buffer import recall
from lazyarray.runtime.root import Root  # cimport

_nparray: Final = np.ndarray
_IMMEDIATE: Final = IMMEDIATE
_LARGEST: Final = 32  # bytes of an element
REMEMBERED: Final = 8  # lent arrays that a base can take back


def _seen(array: Fields) -> Any:
    """The memory that all of an array is, to be read now; None where its value is not there, or is a view of a base."""
    if array._np is not None:
        return array._np
    node: Any = array._node
    if node is None:
        if array._map is not None or array._part is not None:
            return None
        base: Root = array._base
        if base.memory is not None:
            return base.memory
        node = base.node
    return node.data


def _written(array: Fields) -> Any:
    """The memory that all of an array is, NumPy's or given out: no other value depends on it. None elsewhere."""
    if array._np is not None:
        return array._np
    if array._node is not None or array._map is not None or array._part is not None or array._fixed:
        return None
    base: Root = array._base
    return base.memory


def peek(array: Fields, key: Any) -> Any:
    """`array[key]` for a key of integers alone, where the value is there; else None."""
    memory = _seen(array)
    return None if memory is None else element_of(memory, key)


def pick(array: Fields, key: Fields) -> Any:
    """`array[key]` for a small array of indices, where the value is there; else None."""
    memory, index = _seen(array), key._np
    if memory is None or index is None or not 0 <= picked_by(memory, index) < limits.eager:
        return None
    try:
        return wrapped(memory[index])
    except IndexError:
        return None  # said elsewhere


def put_picked(array: Fields, key: Fields, value: Any) -> bool:
    """`array[key] = value` for a small array of indices and a number or plain memory; False: nothing has happened."""
    memory, index = _written(array), key._np
    if type(value) is known.array:
        given: Fields = value
        value = given._np
    elif type(value) not in _IMMEDIATE:
        return False
    if memory is None or index is None or value is None or not 0 <= picked_by(memory, index) < limits.eager:
        return False
    try:
        memory[index] = value
    except IndexError:
        return False
    return True


def poke(array: Fields, key: Any, value: Any) -> bool:
    """`array[key] = value` for a key of integers alone, in memory; False: nothing has happened."""
    memory = _written(array)
    return memory is not None and put_element(memory, key, value) == 1


def lend(array: Fields, key: Any) -> Any:
    """`array[key]` for a basic key: an element, or a small view of memory; None where that is not how it is read.

    `array` is managed.
    """
    base: Root = None  # type: ignore[assignment]
    view: Any = None
    node: Any = array._node
    memory: Any
    if node is not None:
        memory = node.data
    else:
        if array._part is not None:
            return None
        base = array._base
        memory = base.memory
        if memory is None:
            node = base.node
            memory = node.data
        view = array._map
    if memory is None:
        spec = node.key.spec
        shape = spec.shape if view is None else view.shape
        if spec.size < limits.eager or not 0 < selected_by(key, shape) < limits.eager:
            return None
        peeks = 0
        if base is not None:
            base.peeks += 1
            peeks = base.peeks
        if not known.wake(node, peeks):
            return None
        node = None
        return lend(array, key)
    if size_of_memory(memory) < limits.eager:
        return None
    shape = view.shape if view is not None else node.key.spec.shape if base is None else base.spec.shape
    if selected_by(key, shape) >= limits.eager:
        return None
    whole: Any = memory if view is None else known.show(view, memory)
    found: Any = read_at(whole, key, None)
    if found is None:
        try:
            found = whole[key]
        except (IndexError, ValueError, TypeError):
            return None  # what is wrong is said elsewhere
    if type(found) is not _nparray:
        return found
    if size_of_memory(found) >= limits.eager or (base is not None and not base.lends):
        return None
    if node is not None:
        node = memory = whole = found = None  # references are counted now
        if not known.take(array):
            return None
        base = array._base
        whole = base.memory if view is None else known.show(view, base.memory)
        found = whole[key]
    if array._fixed:
        found.flags.writeable = False
    return _note(base, found)


def _note(base: Root, found: Any) -> Any:
    result: Fields = wrapped(found)
    result._base = base
    remember(base.lent, result, REMEMBERED)
    return result


def overwrite(array: Fields, key: Any, value: Any) -> bool:
    """`array[key] = value` in the memory that a base has given out, for a small region; False: nothing has happened.

    `array` is SHARED, `key` basic, `value` a number or plain memory.
    """
    base: Root = array._base
    memory = base.memory
    if memory is None or array._fixed or array._part is not None:
        return False
    view = array._map
    whole = memory if view is None else known.show(view, memory)
    if view is not None and put_element(whole, key, value):
        return True
    if most_selected(whole, key) >= limits.eager:
        try:
            region = whole[key]
        except (IndexError, ValueError, TypeError):
            return False
        if type(region) is _nparray:
            if size_of_memory(region) >= limits.eager:
                return False
            region[...] = value
            return True
    elif type(value) is _nparray and address_of(value) - address_of(memory) < _LARGEST * size_of_memory(memory):
        # Perhaps of this memory: `a[i] += b` reads, adds in place, and writes what is there already.
        try:
            region = whole[key]
        except (IndexError, ValueError, TypeError):
            return False
        if type(region) is _nparray:
            if not same_memory(region, value):
                region[...] = value
            return True
    try:
        whole[key] = value
    except IndexError:
        return False
    return True


def take_back(array: Fields, base: Root) -> None:
    """Turns a lent array into a view of the base, as it is now; not where it no longer shows elements of the base."""
    data = array._np
    memory = base.memory
    if data is None or array._base is not base or data.dtype != memory.dtype:
        return
    itemsize = data.itemsize
    offset = address_of(data) - address_of(memory)
    view = IndexMap(offset // itemsize, data.shape, tuple([step // itemsize for step in data.strides]))
    array._map = view
    array._part = None
    array._fixed = not data.flags.writeable
    array._node = None
    array._np = None


recall.append(take_back)
