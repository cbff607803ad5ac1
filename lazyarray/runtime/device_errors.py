"""Owns floating-point errors on devices: words that kernels leave there, told when the host next waits for the device.

A kernel on a device cannot be asked after each launch without waiting for it.  What each word belongs to is noted at
the launch, and the node counts as told; a warning then names the line that recorded it, only later.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.ir.index_map import IndexMap
from lazyarray.ir.node import Node
from lazyarray.runtime.device import Device, DeviceArray
from lazyarray.runtime.floating import Told, tell_later

_WORDS: Final = 1 << 14
_INT: Final = np.dtype(np.int32)


class Words:
    """The words of one device, handed out one after another and read all together."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._array: DeviceArray = None
        self._used = 0
        self._waiting: list[tuple[int, Told]] = []

    def take(self, count: int) -> tuple[int, int]:
        """The number and the address of as many words, all zero and aligned to 16 bytes."""
        if self._array is None or self._used + count > self._array.size:
            self.tell()
            self._array = self.device.upload(np.zeros(max(_WORDS, count), _INT))
            self._used = 0
        first = self._used
        self._used += count + 3 & -4
        return first, self.device.address(self._array) + 4 * first

    def gather(self, words: DeviceArray, count: int) -> int:
        """The number of the first of as many words, which are to have the values of the given ones."""
        first, address = self.take(count)
        self.device.put(address, words)
        return first

    def note(self, word: int, told: Told) -> None:
        """What the kernel leaves in a word is to be told so."""
        self._waiting.append((word, told))

    def tell(self) -> None:
        """Waits for the device if anything may have to be told, and warns."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        found = np.empty(self._used, _INT)
        with self.device.active():
            self.device.download([self.device.view(self._array, IndexMap(0, found.shape, (1,)))], [found])
        if found.any():
            self._array = None  # words that are not zero are not used again
            for word, told in waiting:
                bits = int(found[word])
                if bits:
                    tell_later(told, bits)


_known: Final[dict[str, Words]] = {}


def words_of(device: Device) -> Words:
    """The words of a device."""
    found = _known.get(device.name)
    if found is None or found.device is not device:
        found = _known[device.name] = Words(device)
    return found


def tell_waiting() -> None:
    """Tells the errors of everything that was launched."""
    if _known:
        for words in list(_known.values()):
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
