"""Owns devices as programs see them: which one is used, where an array lives, moving it, and what a device's own
library computes in NumPy's place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend import library_nodes
from lazyarray.frontend.array import from_node, from_node_as, ndarray, scalar_from_node, take_over, value, wrap
from lazyarray.frontend.copies import copied_order
from lazyarray.frontend.record import COMPILED, call_, flush_if_long
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.ir.expression import pending_closure
from lazyarray.ir.node import PINNED, Node, leaf, leaf_key, spec_of
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.along import is_pending, pending, unused
from lazyarray.runtime.device import (
    Device,
    Remote,
    configured,
    in_use,
    is_host,
    names_device,
    open_device,
    placement,
    send,
    upload,
)
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.remote import HOST

CHANGES: Final = "the device changes"
MOVED: Final = "to_device() was called"
PLACING: Final = "an array was made on a device"

# Functions that take `device=`; NumPy's own know one device, "cpu".
PLACED: Final = frozenset(
    """
    asarray asanyarray zeros ones empty full arange linspace eye zeros_like ones_like empty_like full_like
    """.split()
)


def set_device(name: str) -> None:
    """Evaluates on another device from now on: "cpu", "cuda", "cuda:1". What is pending is evaluated first."""
    if not is_host(name):
        open_device(name)
    if name != config.device:
        with boundary.lock:
            boundary.evaluate(unused(pending()), CHANGES, stay=True)
            config.device = name


@contextmanager
def device(name: str) -> Iterator[None]:
    """A block whose operations are evaluated on a device, those of its arrays that live nowhere else."""
    before = config.device
    set_device(name)
    try:
        yield
    finally:
        set_device(before)


# ---- where arrays live


def device_of(node: Node) -> Device | None:
    """Where a node's value is made, or will be; None for the host."""
    remote = node.remote
    if remote is not None and remote.home:
        found: Device = remote.device
        return found
    if node.data is not None:
        return None
    return placement([arg for inner in pending_closure([node]) for arg in inner.args])


def device_name(array: Any) -> str:
    """`array.device`."""
    if array._np is not None or not in_use():
        return HOST
    node = array._node
    if node is None:
        node = array._base.node
        if node is None:
            return HOST
    found = device_of(node)
    return HOST if found is None else found.name


def remote_leaf(array: Any, place: Device) -> Node:
    """A node over a device's array, C-contiguous and of a compiled dtype."""
    node = Node(leaf_key(spec_of(tuple(array.shape), np.dtype(array.dtype.str))), ())
    node.remote = Remote(array, place)
    return node


def to_device(array: ndarray, name: str, stream: Any = None) -> ndarray:
    """The array on another device; itself where it lives there."""
    if not is_host(name) and ":" not in name:
        name = open_device(name).name
    if device_name(array) == name:
        return array
    if array._np is not None and not is_host(name) and array.dtype in COMPILED:
        place = open_device(name)
        with place.active():  # as it lies: no copy on the host first
            return from_node(remote_leaf(upload(array._np, place, MOVED), place))
    node = value(array)
    if is_host(name):
        boundary.evaluate((node,), MOVED)
        assert node.data is not None
        return from_node(leaf(node.data.copy()))
    if array.dtype not in COMPILED:
        raise TypeError(f"arrays of dtype {array.dtype} do not go to {name}")
    place = open_device(name)
    if is_pending(node):
        boundary.evaluate((node,), MOVED, stay=True)
    with place.active():
        remote = node.remote
        if remote is not None and remote.device is place:
            return from_node(remote_leaf(remote.array, place))
        return from_node(remote_leaf(send(node, place, MOVED), place))


def placed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function that makes an array, knowing devices other than NumPy's one.

    Functions called `..._like` make it where their argument lives, as in the array API.
    """
    like = name.endswith("_like")

    def call(*args: Any, **options: Any) -> Any:
        asked = where = options.get("device")
        if where is None and like and args and type(args[0]) is ndarray and args[0]._np is None:
            where = device_name(args[0])
        if where is None or where == HOST or not isinstance(where, str):
            return function(*args, **options)
        if asked is not None and not names_device(asked):
            return function(*args, **options)  # NumPy's error
        options.pop("device", None)
        place = open_device(where)
        if asked is None and configured() is place:
            return function(*args, **options)
        before = config.device
        with boundary.lock:
            config.device = place.name
            try:
                made = function(*args, **options)
                if made._np is None and is_pending(value(made)):
                    boundary.evaluate((value(made),), PLACING, alone=True, stay=True)
            finally:
                config.device = before
        return to_device(made, place.name)

    return call


# ---- memory shared with other libraries of the device


def from_device(given: Any, copy: Any = None) -> ndarray | None:
    """An array over the memory of an object of a GPU library (CuPy, PyTorch, ...); None where it is none of these.

    The memory is shared unless `copy`: whoever writes it changes what arrays hold that were not yet evaluated.
    """
    if getattr(given, "__cuda_array_interface__", None) is None:
        return None
    place: Any = open_device("cuda")
    return _adopted(place.from_others(given), copy)


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """`numpy.from_dlpack`, also of what lies on a GPU."""
    kind = getattr(x, "__dlpack_device__", None)
    where = (1, 0) if kind is None else kind()
    if where[0] != _DLPACK_CUDA or type(x) is ndarray or device == HOST:
        if device is not None and device != HOST:
            return to_device(from_dlpack(x, copy=copy), device)
        if type(x) is ndarray and device is None and copy is not True:
            return x[...]
        options = {} if copy is None else {"copy": copy}
        return wrap(np.from_dlpack(x, device=device, **options))
    place: Any = open_device(f"cuda:{where[1]}")
    made = _adopted(place.from_dlpack(x), copy)
    return made if device is None else to_device(made, device)


_DLPACK_CUDA: Final = 2


def _adopted(array: Any, copy: Any) -> ndarray:
    place = open_device(f"cuda:{array.device.id}")
    with place.active():
        dtype = np.dtype(array.dtype.str)
        if dtype not in COMPILED:
            return wrap(array.get())  # type: ignore[no-any-return]
        shared = array.flags.c_contiguous and not copy
        if copy is False and not shared:
            raise ValueError("the memory lies in an order that is kept only by copying it")
        node = remote_leaf(array if shared else array.copy(order="C"), place)
    node.remote.exported = shared
    return from_node(node)


def device_array(array: ndarray) -> tuple[Device, Any] | None:
    """The array as its device's library has it, in the same memory; None where it lives on the host."""
    if device_name(array) == HOST:
        return None
    view = None
    node = array._node
    if node is None:
        node = value(array) if array._part is not None else array._base.node
        view = array._map if array._part is None else None
    assert node is not None
    boundary.evaluate((node,), "memory on its device was asked for", stay=True)
    remote = node.remote
    if remote is None:
        return None
    remote.exported = True
    place: Device = remote.device
    with place.active():
        return place, remote.array if view is None else place.view(remote.array, view)


# ---- what the device's library computes


def run_there(name: str, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """A function of NumPy's on the device where its arrays live; NotImplemented where the host has to run it."""
    return _Call(name, args, options).run()


class _Call:
    """One function with its arguments, whose arrays are evaluated once."""

    def __init__(self, name: str, args: Sequence[Any], options: Mapping[str, Any]) -> None:
        self.name, self.args, self.options = name, args, options
        self.nodes: dict[int, Node] = {}  # of arrays that are managed, by the array's id

    def run(self) -> Any:
        for arg in (*self.args, *self.options.values()):
            if type(arg) is ndarray:
                take_over(arg)
                if arg._np is None:
                    self.nodes[id(arg)] = value(arg)
            elif type(arg) in (list, tuple) and _has_arrays(arg):
                return NotImplemented
        if not self.nodes:
            return NotImplemented
        recorded = self.recorded() if self.name in library_nodes.NAMES else None
        if recorded is not None:
            return recorded
        nodes = list(self.nodes.values())
        pending = pending_closure(nodes)
        place = placement([*nodes, *[arg for inner in pending for arg in inner.args]])
        function = None if place is None else getattr(place, "function", _no_function)(self.name)
        if place is None or function is None:
            return NotImplemented
        boundary.evaluate(nodes, f"{self.name} was called", stay=True)
        start = perf_counter()
        with place.active():
            given = [self.there(arg, place) for arg in self.args]
            named = {key: self.there(arg, place) for key, arg in self.options.items()}
            if any(arg is NotImplemented for arg in (*given, *named.values())):
                return NotImplemented
            try:
                found = function(*given, **named)
            except NotImplementedError:  # as CuPy says it of arguments that it does not take
                return NotImplemented
            if found is NotImplemented:
                return NotImplemented
            made = self.laid_out(found, place)
        read, written = sum([node.key.spec.nbytes for node in nodes]), getattr(found, "nbytes", 0)
        if ledger.listening:
            place.wait()
        ledger.library_call(self.name, read, written, seconds=perf_counter() - start, start=start)
        flush_if_long()
        return made

    def recorded(self) -> Any:
        """The call as a node; None for what is called at once."""
        like: Any = self.args[0] if self.args else None
        node = self.nodes.get(id(like))
        if node is None or len(self.nodes) > 1 or copied_order(like) is not None:
            return None
        spec = node.key.spec
        found = library_nodes.wanted(self.name, spec.shape, spec.dtype, self.args[1:], self.options)
        if found is None or not library_nodes.takes(library_nodes.place_of(node), found.library):
            return None
        return from_node(call_(found.library, (node,), found.shape, found.dtype))

    def laid_out(self, found: Any, place: Device) -> Any:
        """What the device's function returned, in the order of memory that NumPy's gives it."""
        like = self.args[0] if self.args else None
        if type(like) is ndarray and (self.name == "sort" or self.name.startswith("fft.")):
            perm = copied_order(like)
            if perm is not None and len(perm) == found.ndim:
                return from_node_as(_leaf_of(found.transpose(perm), place), perm)
        return _wrapped(found, place)

    def there(self, arg: Any, place: Device) -> Any:
        """An argument as the device's function takes it."""
        kind = type(arg)
        if kind is LazyScalar:
            return arg._now()
        if kind is ndarray:
            node = self.nodes.get(id(arg))
            if node is not None:
                return send(node, place, _ARGUMENT)
            arg, kind = arg._np, np.ndarray
        if kind is np.ndarray:
            return upload(arg, place, _ARGUMENT) if arg.dtype in COMPILED else NotImplemented
        return arg


_ARGUMENT: Final = "an argument of a call there"


def _no_function(name: str) -> None:
    return None


def _has_arrays(items: Any) -> bool:
    return any(type(item) in (ndarray, LazyScalar, np.ndarray) for item in items)


def _wrapped(found: Any, place: Device) -> Any:
    if isinstance(found, tuple):
        return tuple([_wrapped(item, place) for item in found])
    node = _leaf_of(found, place)
    return from_node(node) if found.shape else scalar_from_node(node)


def _leaf_of(found: Any, place: Device) -> Node:
    made = remote_leaf(found if found.flags.c_contiguous else found.copy(), place)
    PINNED.add(made.key.spec.nbytes)  # as with what NumPy returns on the host, a loop may pile it up
    return made
