"""Owns floating-point errors on devices: words that kernels leave there, told when the host next waits for the device.

A kernel on a device cannot be asked after each launch without waiting for it.  What each word belongs to is noted at
the launch, and the node counts as told; a warning then names the line that recorded it, only later.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from lazyarray.ir.index_map import IndexMap
from lazyarray.ir.node import Node
from lazyarray.runtime.device import Device, DeviceArray, told_by
from lazyarray.runtime.floating import Told, tell_later

_WORDS: Final = 1 << 14
_INT: Final = np.dtype(np.int32)


class Look:
    """Words that are copied to the host: an array there, memory here; what each run is to tell, by its first word."""

    __slots__ = ("array", "found", "rows", "start")

    def __init__(
        self, device: Any, words: DeviceArray, size: int, rows: list[tuple[int, Sequence[tuple[int, Told]]]], start: int
    ) -> None:
        self.found: Any = np.empty(size, _INT)
        self.array = device.view(words, IndexMap(0, self.found.shape, (1,)))
        self.rows = rows
        self.start = start  # what comes before it are no words

    @property
    def is_odd(self) -> bool:
        """True if there is something to tell, once the words are here."""
        return bool(np.count_nonzero(self.found[self.start :]))

    def tell(self) -> None:
        """Warns."""
        for first, notes in self.rows:
            for word, told in notes:
                bits = int(self.found[first + word])
                if bits:
                    tell_later(told, bits)


class Words:
    """The words of one device, handed out one after another and read all together."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._array: DeviceArray = None
        self._used = 0
        self._waiting: list[tuple[int, Sequence[tuple[int, Told]]]] = []
        self._logs: list[Log] = []  # those in which something is to be looked at
        self._looks: list[Look] = []  # what was found and is not told yet

    def take(self, count: int) -> tuple[int, int]:
        """The number and the address of as many words, all zero and aligned to 16 bytes."""
        if self._array is not None and self._used + count > self._array.size:
            self.tell()  # where nothing is to be told, all words are free again
        if self._array is None or self._used + count > self._array.size:
            self._array = self.device.upload(np.zeros(max(_WORDS, count), _INT))
            self._used = 0
        first = self._used
        self._used += count + 3 & -4
        return first, self.device.address(self._array) + 4 * first

    def note(self, first: int, notes: Sequence[tuple[int, Told]]) -> None:
        """What a kernel leaves in its words, of which this is the first, is to be told so."""
        self._waiting.append((first, notes))

    def log(self, log: Log) -> None:
        """A log has words that are to be told."""
        self._logs.append(log)

    def download(self, arrays: Sequence[DeviceArray], targets: Sequence[Any]) -> None:
        """Copies arrays into host memory, and the words of all that was queued along with them: one wait for both."""
        logs, self._logs = self._logs, []
        looks = [log.look() for log in logs]
        waiting, self._waiting, used = self._waiting, [], self._used
        if waiting:
            looks.append(Look(self.device, self._array, used, waiting, 0))
        self.device.download([*arrays, *[look.array for look in looks]], [*targets, *[look.found for look in looks]])
        for log in logs:
            log.clear()
        odd = [look for look in looks if look.is_odd]
        if waiting:
            if odd and odd[-1] is looks[-1]:
                self._array = None  # words that are not zero are not used again
            elif self._used == used:
                self._used = 0
        self._looks += odd

    def tell(self) -> None:
        """Waits for the device if anything may have to be told, and warns."""
        if self._logs or self._waiting:
            with self.device.active():
                self.download([], [])
        if self._looks:
            looks, self._looks = self._looks, []
            for look in looks:
                look.tell()


class Log:
    """The words of what is recorded once and queued many times: those of one run are put behind those of the last.

    The device keeps count itself, so that queueing a record takes no more of the host for them.
    """

    __slots__ = ("_device", "_rows", "_taken", "_waiting", "_width", "_words", "address")

    def __init__(self, device: Any, width: int) -> None:
        self._device = device
        self._width = width
        self._rows = max(1, _WORDS // width)
        self._words = device.upload(np.zeros(width, _INT))  # of the run that is under way
        self._taken = device.upload(np.zeros(1 + self._rows * width, _INT))  # how many are there, and they themselves
        self._waiting: list[list[tuple[int, Told]]] = []
        self.address: int = device.address(self._words)
        self.queue()  # what it takes is made now, and not while a record is
        self.clear()

    def queue(self) -> None:
        """Queues what a run ends with: its words are put away, and are 0 again."""
        self._device.append(self._taken, self._words)

    def clear(self) -> None:
        """No words are put away any more."""
        self._device.clear(self._taken)

    def note(self, notes: list[tuple[int, Told]]) -> None:
        """A run is queued next, of whose words this is to be told: there is room for them."""
        waiting = self._waiting
        if not waiting:
            words_of(self._device).log(self)
        elif len(waiting) == self._rows:
            words_of(self._device).tell()
            words_of(self._device).log(self)
        waiting = self._waiting
        waiting.append(notes)

    def look(self) -> Look:
        """What the runs that were queued leave; none of them waits any more."""
        waiting, self._waiting = self._waiting, []
        rows: list[Any] = [(1 + row * self._width, notes) for row, notes in enumerate(waiting)]
        return Look(self._device, self._taken, 1 + len(waiting) * self._width, rows, 1)


def words_of(device: Device) -> Words:
    """The words of a device."""
    found = told_by.get(device.name)
    if found is None or found.device is not device:
        found = told_by[device.name] = Words(device)
    return found


def tell_waiting() -> None:
    """Tells the errors of everything that was launched."""
    if told_by:
        for words in list(told_by.values()):
            words.tell()


def equal_sources(sources: list[Any]) -> dict[int, list[int]]:
    """For each pending node in an evaluation's sources, the places of all that say the same: plans compute it once."""
    same: dict[int, int] = {}
    groups: dict[Any, list[int]] = {}
    for place, node in enumerate(sources):
        if type(node) is Node and node.data is None and node.remote is None:
            args = [same.get(id(a), id(a)) if type(a) is Node or type(a) is float else object() for a in node.args]
            group = groups.setdefault((node.key, *args), [])
            group.append(place)
            same[id(node)] = id(sources[group[0]])
    return {place: group for group in groups.values() for place in group}
