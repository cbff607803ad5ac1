"""CRC-16-CCITT: over one message a byte at a time by a table, and over many messages side by side, bit by bit.

W. W. Peterson and D. T. Brown, "Cyclic codes for error detection" (Proceedings of the IRE 49, 1961).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALL = (8000, 64, 128)
LARGE = (1_200_000, 2000, 1024)

POLYNOMIAL = 0x1021


def prepare(length: int, messages: int, each: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    rng = np.random.default_rng(1)
    return rng.integers(0, 256, length, dtype=np.uint8), rng.integers(0, 256, (messages, each), dtype=np.uint8)


def make_table() -> NDArray[Any]:
    table = np.arange(256, dtype=np.uint16) << 8
    for _ in range(8):
        table = np.where(table & 0x8000, (table << 1) ^ POLYNOMIAL, table << 1)
    return table


def run(message: NDArray[np.uint8], many: NDArray[np.uint8]) -> tuple[int, NDArray[np.uint16]]:
    table = make_table()
    crc = 0xFFFF
    for byte in message:
        crc = ((crc << 8) & 0xFFFF) ^ int(table[(crc >> 8) ^ int(byte)])

    crcs = np.full(many.shape[0], 0xFFFF, dtype=np.uint16)
    for column in many.T:
        crcs ^= column.astype(np.uint16) << 8
        for _ in range(8):
            crcs = np.where(crcs & 0x8000, (crcs << 1) ^ POLYNOMIAL, crcs << 1)
    return crc, crcs
