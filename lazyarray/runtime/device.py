"""Owns devices that have memory of their own: their protocol, finding them, where evaluations run, and transfers.

A node's value lies in host memory (`node.data`), on a device (`node.remote`), or in both. What a kernel computed on a
device stays there until the host asks for it; what the host has is sent once and kept at both ends. Neither copy is
ever written while the node is alive, so that the two cannot differ.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from lazyarray.config import config
from lazyarray.errors import BackendError, DeviceMemoryError
from lazyarray.ir.index_map import IndexMap, c_strides
from lazyarray.ir.node import Library, Node
from lazyarray.runtime.backend import _loaded, entry_point, has_entry_point, load
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.pool import allocate
from lazyarray.runtime.remote import HOST, Remote, no_room, seen

if TYPE_CHECKING:
    from lazyarray.runtime.run import AnyRun
    from lazyarray.schedule.kernel import Kernel

Array = np.ndarray[Any, Any]
DeviceArray = Any  # a C-contiguous array of the device's own library, such as CuPy's

GROUP: Final = "lazyarray.devices"


class DeviceProgram(Protocol):
    """A kernel compiled for one device."""

    @property
    def source(self) -> str:
        """The emitted code, for reading."""
        ...

    @property
    def words(self) -> Mapping[int, int]:
        """The values that can raise floating-point errors, each with the number of its word."""
        ...

    def launcher(
        self, extents: tuple[int, ...], strides: tuple[tuple[int, ...], ...], sizes: tuple[int, ...]
    ) -> DeviceLauncher:
        """The kernel at fixed extents and strides; `sizes`: bytes of the memory behind each access."""
        ...


class DeviceLauncher(Protocol):
    """A kernel at fixed extents and strides, to be run with any memory."""

    def start(
        self, pointers: list[int], scalars: list[Any], bases: list[int], flags: int = 0, run: AnyRun | None = None
    ) -> None:
        """Queues one run of the kernel; does not wait for it. Pointers are device addresses.

        `bases`: where the memory behind each access begins. `flags`: the address of one int32 word more than `words`
        has, all 0; into the first the bits of errors are set, the last is the program's own. 0 for a run that looks
        for no errors. `run`: what queues a kernel that writes over what it reads. Its `launched` gets a record that can
        tell, by `ran()`, whether the kernel was queued: a signal handler, or an error, may come before or after.
        """
        ...

    # A launcher may also have this: before a plan's first run it is told of the launches that will come.
    # def foresee(self, pointers: list[int], scalars: list[Any], bases: list[int], flags: int) -> None
    #     As `start`, which follows with the same scalars; pointers and bases are aligned, and equal to one another,
    #     as they will be then, as far as that is known; `flags` is not 0 if errors will be looked for.


class Compiler(Protocol):
    """What a backend has to offer to be used for a device."""

    name: str

    def compile_for(self, device: Device, kernel: Kernel) -> DeviceProgram:
        """The program of `kernel`; raises `CompileError` for a kernel that this backend cannot run."""
        ...


class Device(Protocol):
    """Memory, copies and libraries of one device. All work is queued in order; only `download` and `wait` wait."""

    name: str  # such as "cuda:0"
    compiler: str  # the backend that compiles for it, by the name of its entry point

    def active(self) -> AbstractContextManager[Any]:
        """A block in which this is the device that the calling thread works on.

        What is queued there is run, also in the middle of a record that this thread makes: a signal handler may
        evaluate then.
        """
        ...

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        """New memory. Raises `DeviceMemoryError` when there is none."""
        ...

    def allocate(self, nbytes: int) -> tuple[Any, int]:
        """New memory and its address. Raises `DeviceMemoryError` when there is none."""
        ...

    def shaped(self, memory: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        """A C-contiguous array over memory that was allocated."""
        ...

    def address(self, array: DeviceArray) -> int:
        """Where an array's memory begins, as kernels take it."""
        ...

    def upload(self, data: Array) -> DeviceArray:
        """A copy of C-contiguous host memory, which may be written as soon as this returns."""
        ...

    def download(self, arrays: Sequence[DeviceArray], targets: Sequence[Array]) -> None:
        """Copies arrays into host memory; returns when they are there."""
        ...

    def copy(self, array: DeviceArray) -> DeviceArray:
        """A copy on the device."""
        ...

    def put(self, address: int, array: DeviceArray) -> None:
        """Copies an array to an address on the device."""
        ...

    def clear(self, array: DeviceArray) -> None:
        """Sets all bytes of an array to 0."""
        ...

    def view(self, array: DeviceArray, view: IndexMap) -> DeviceArray:
        """The part of an array's memory that an index map describes."""
        ...

    def call(self, library: Library, args: Sequence[DeviceArray], out: DeviceArray | None) -> DeviceArray:
        """A library call on the device; NotImplemented where the device has none that means the same."""
        ...

    def wait(self) -> None:
        """Returns when all that was queued has run."""
        ...

    # A device may also have `survives_fork`: its memory and what is queued there are those of a process's child too.

    # Transforms and sorts are recorded where a device says that `call` runs them in plans; elsewhere they are called at
    # once.
    # def takes(self, library: Library) -> bool
    #     True for the library calls named as NumPy's functions that `call` runs.

    # A device may also have these; plans that come again are then queued as one (`runtime/device_graphs.py`).
    # def recordable(self, library: Library, shapes: Sequence[tuple[int, ...]], codes: Sequence[str]) -> bool
    #     True where a library call on C-contiguous arrays can be part of a record.
    # def record(self, queue: Callable[[], None]) -> Callable[[], None]
    #     What `queue` queues, which is not run: a call queues all of it.
    # def append(self, taken: DeviceArray, words: DeviceArray) -> None
    #     Puts int32 words behind those that `taken`, whose first element counts them, has; and sets them to 0.


_devices: Final[dict[str, Device]] = {}
_opening: Final = threading.RLock()
PART_BYTES: Final = 64 << 10  # of a part that is copied by itself
_left: Final[set[str]] = set()  # devices that this process's parent had opened, and that end with a fork


def _leave_devices() -> None:
    """In a child that was forked: what has to run runs on the host, and values that are only on a device are lost."""
    _constants.clear()
    _left.update([one.name for one in _devices.values() if not getattr(one, "survives_fork", False)])
    if config.device != HOST and getattr(_devices.get(config.device), "name", "") in _left:
        config.device = HOST


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_devices)


def _lost(device: Device) -> BackendError:
    return BackendError(
        f"a value lies on {device.name}, which a process that was forked cannot use: evaluate it to the host before "
        'the fork (numpy.asarray), or start processes by the method "spawn" or "forkserver"'
    )


def open_device(name: str) -> Device:
    """The device called `name` ("cuda", "cuda:1"), from the entry points of the group "lazyarray.devices"."""
    found = _devices.get(name)
    if found is not None and found.name in _left:
        raise BackendError(f"{found.name} was used before this process was forked: it cannot be used in both")
    if found is None:
        kind, _, number = name.partition(":")
        if number and not number.isdecimal():
            raise BackendError(f"{name!r} names no device: a kind and a number are wanted, such as 'cuda:1'")
        with _opening:
            full = f"{kind}:{int(number or 0)}"
            found = _devices.get(full)
            if found is None:
                make = entry_point(GROUP, kind, "device")
                found = _devices[full] = make(int(number or 0))
            _devices[name] = found
    return found


def names_device(name: str) -> bool:
    """Whether the name is one of a device that is open, or that an installed package knows, be it there or not."""
    kind, colon, number = name.partition(":")
    if colon and not number.isdecimal():
        return False
    return f"{kind}:{int(number or 0)}" in _devices or has_entry_point(GROUP, kind)


def in_use() -> bool:
    """True when there may be values on devices, or will be."""
    return seen.any or config.device != HOST or hasattr(_loaded.get(config.backend), "device_kind")


def is_host(name: str) -> bool:
    """True for the device that is NumPy's memory."""
    return name == HOST


def compiler_for(device: Device) -> Compiler:
    """The backend that compiles for a device."""
    backend: Any = load(device.compiler)
    return backend  # type: ignore[no-any-return]


def configured() -> Device | None:
    """The device that `config` names; None for the host."""
    name = config.device
    if name != HOST:
        return open_device(name)
    if config.backend != seen.backend:
        seen.kind = getattr(load(config.backend), "device_kind", None)
        seen.backend = config.backend
    return None if seen.kind is None else open_device(seen.kind)


def placement(leaves: Iterable[Any]) -> Device | None:
    """Where an evaluation from these leaves runs: on the device where any of them was made, else as configured.

    None is the host. Values that were made on several devices do not meet unasked, as in the array API.
    """
    if seen.any:
        found: Device | None = None
        for node in leaves:
            remote = node.remote if type(node) is Node else None
            if remote is not None and remote.home and remote.device is not found:
                if remote.device.name in _left:
                    if node.data is None:
                        raise _lost(remote.device)
                    continue
                if found is not None:
                    raise ValueError(
                        f"arrays on {found.name} and {remote.device.name} in one operation: "
                        "move one of them with to_device() first"
                    )
                found = remote.device
        if found is not None:
            return found
    return configured()


# ---- transfers


def send(node: Node, device: Device, reason: str) -> DeviceArray:
    """The node's value on a device, sent there if it is not."""
    remote = node.remote
    if remote is None or remote.device is not device:
        if node.data is None:
            fetch([node], f"moved to {device.name}")
        data = node.data
        assert data is not None
        array = None
        token = _token_of(data, device)
        if token is not None:
            array = _constants.get(token)
        if array is None:
            array = upload(data, device, reason)
            kept = token is not None and _keep(token, array)
        else:
            kept = True
        if remote is not None and remote.home:
            return array
        remote = node.remote = Remote(array, device, home=False)
        remote.exported = kept
    return remote.array


# What is sent again and again, such as the weights of a filter, which is another node in each turn of a loop, is sent
# once. What changes from turn to turn is not kept: its memory is to come again, by which graphs are found.
CONSTANT_BYTES: Final = 8192
_CONSTANTS_LIMIT: Final = 256
_constants: Final[dict[Any, DeviceArray]] = {}
_sent: Final[dict[Any, None]] = {}


def _token_of(data: Array, device: Device) -> Any:
    """What names a small array on a device by what it holds; None for others."""
    if data.nbytes > CONSTANT_BYTES or not data.nbytes:
        return None
    return device.name, data.shape, data.dtype.str, data.tobytes()


def _keep(token: Any, array: DeviceArray) -> bool:
    """True if an array was sent before and is kept now; nobody writes it from then on."""
    if _sent.pop(token, False) is None:
        if len(_constants) >= _CONSTANTS_LIMIT:
            del _constants[next(iter(_constants))]
        _constants[token] = array
        return True
    if len(_sent) >= _CONSTANTS_LIMIT:
        del _sent[next(iter(_sent))]
    _sent[token] = None
    return False


# By a device's name: who looks for floating-point errors when the host waits for the device (`device_errors.py`).
told_by: Final[dict[str, Any]] = {}


def upload(data: Array, device: Device, reason: str) -> DeviceArray:
    """A copy of host memory on a device."""
    if data.ndim and not data.flags.c_contiguous:
        data = np.ascontiguousarray(data)
    ledger.transfer(f"to {device.name}", data.nbytes, reason)
    try:
        return device.upload(data)
    except DeviceMemoryError as error:
        raise no_room(data.shape, data.dtype, str(error)) from None


def fetch(nodes: Iterable[Node], reason: str) -> None:
    """Gives nodes whose values are on devices host memory with the same values; waits for them."""
    wanted: dict[Device, list[Node]] = {}
    for node in nodes:
        if node.data is None and node.remote is not None:
            wanted.setdefault(node.remote.device, []).append(node)
    for device, group in wanted.items():
        arrays = [node.remote.array for node in group if node.remote is not None]
        for node, data in zip(group, download(arrays, [n.key.spec for n in group], device, reason), strict=True):
            node.data = data


def fetch_part(node: Node, reason: str) -> bool:
    """Gives a small part of a value that is on a device alone its host memory, if it is one piece; False elsewhere.

    A plan has the place that it reads within it: a loop over elements would make one for each.
    """
    key = node.key
    if key.kind != "view" or key.spec.nbytes > PART_BYTES or not key.spec.size:
        return False
    whole = node.args[0]
    if type(whole) is not Node or whole.data is not None or whole.remote is None:
        return False
    attr: Any = key.attr
    shape = key.spec.shape
    for extent, stride, wanted in zip(shape, attr[1], c_strides(shape), strict=True):
        if extent > 1 and stride != wanted:
            return False
    remote = whole.remote
    part = remote.device.view(remote.array, IndexMap(attr[0], shape, c_strides(shape)))
    (node.data,) = download([part], [key.spec], remote.device, reason)
    node.args = ()
    return True


def download(arrays: Sequence[DeviceArray], specs: Sequence[Any], device: Device, reason: str) -> list[Array]:
    """Host copies of device arrays, of the given shapes and dtypes."""
    if device.name in _left:
        raise _lost(device)
    ledger.transfer(f"from {device.name}", sum([s.nbytes for s in specs]), reason, len(arrays))
    targets = [allocate(s.shape, s.dtype) for s in specs]
    words = told_by.get(device.name)
    with device.active():
        (device if words is None or words.device is not device else words).download(arrays, targets)
    return targets


__all__ = ["Compiler", "Device", "DeviceMemoryError", "DeviceProgram", "Remote", "fetch", "open_device", "placement"]
