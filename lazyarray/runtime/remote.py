"""Owns values on devices: memory there, its address, and new memory for a result.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

from lazyarray.config import _DEFAULTS, config
from lazyarray.errors import DeviceMemoryError
from lazyarray.runtime.backend import _loaded

# The build reads such imports by the line.
# isort: split
from lazyarray.ir.node import Spec  # cimport
from lazyarray.native.primitives import create  # cimport

HOST: Final = "cpu"
_UNKNOWN: Final = 2
_DEFAULT: Final = _DEFAULTS["backend"]


class Seen:
    """What this process has seen of devices."""

    __slots__ = ("any", "backend", "home", "kind")

    def __init__(self) -> None:
        self.any = False  # values have been there: leaves decide where an evaluation runs
        self.backend = ""  # the last backend that was asked for its kind of device
        self.kind: str | None = None
        self.forget()

    def forget(self) -> None:
        """Settings have changed."""
        self.home: int = _UNKNOWN  # what `stays_home` says of them


seen: Final = Seen()
_seen: Final = seen  # in C
config.followers.append(seen.forget)


def stays_home() -> bool:
    """True when what is computed from the host's values alone is computed on the host."""
    home = _seen.home
    if home == _UNKNOWN:
        backend = _loaded.get(config.backend)
        home = config.device == HOST and not hasattr(backend, "device_kind")
        # One that is not loaded may yet turn out to be a device's, but for the default.
        if backend is not None or config.backend == _DEFAULT:
            _seen.home = home
    return bool(home)


# Results come and go with each evaluation. In C memory is kept of as many:
# freelist 64
class Remote:
    """A value on a device. `home`: it was made there; else it is a copy of what the host has.

    `exported`: others know the memory, so that it is never taken over for another value.
    """

    __slots__ = ("_array", "_memory", "_spec", "address", "device", "exported", "home")

    def __init__(self, array: Any, device: Any, home: bool = True) -> None:
        self._array = array
        self._memory: Any = None
        self._spec: Spec | None = None
        self.address: Any = device.address(array)
        self.device = device
        self.home = home
        self.exported = False
        _seen.any = True

    @property
    def array(self) -> Any:
        """The value as an array of the device's library; many are only read by kernels, and never need one."""
        found = self._array
        if found is None:
            spec = self._spec
            assert spec is not None
            found = self._array = self.device.shaped(self._memory, spec.shape, spec.dtype)
        return found

    def copy(self) -> Remote:
        """Another of the same value."""
        with self.device.active():
            return Remote(self.device.copy(self.array), self.device)


def reserve(device: Any, spec: Spec) -> Remote:
    """New memory for a value."""
    try:
        found = device.allocate(spec.nbytes)
    except DeviceMemoryError as error:
        raise no_room(spec.shape, spec.dtype, str(error)) from None
    made: Remote = create(Remote)
    made._array = None
    made._memory = found[0]
    made._spec = spec
    made.address = found[1]
    made.device = device
    made.home = True
    made.exported = False
    if not _seen.any:
        _seen.any = True
    return made


def share(remote: Remote, spec: Spec) -> Remote:
    """The memory that was reserved for a value, for another one of as many bytes."""
    made: Remote = create(Remote)
    made._array = None
    made._memory = remote._memory
    made._spec = spec
    made.address = remote.address
    made.device = remote.device
    made.home = True
    made.exported = False
    return made


def no_room(shape: tuple[int, ...], dtype: Any, why: str) -> DeviceMemoryError:
    """The error in NumPy's words, and of its class, for an array that has no room; its note says where and why."""
    from numpy._core._exceptions import _ArrayMemoryError

    class ArrayMemoryError(DeviceMemoryError, _ArrayMemoryError):
        """A device has no room for an array."""

        __init__ = _ArrayMemoryError.__init__
        __str__ = _ArrayMemoryError.__str__

    made: DeviceMemoryError = ArrayMemoryError(shape, dtype)
    made.add_note(f"lazyarray: {why}")
    return made


__all__ = ["HOST", "Remote", "Seen", "no_room", "reserve", "share", "stays_home"]
