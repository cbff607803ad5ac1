"""Alignment of two sequences by dynamic programming, the table filled by scalar indexing, and traced back.

S. B. Needleman and C. D. Wunsch, "A general method applicable to the search for similarities in the amino acid
sequence of two proteins" (Journal of Molecular Biology 48, 1970).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (100,)
LARGE = (800,)

Sequence = NDArray[np.uint8]

MATCH, MISMATCH, GAP = 1, -1, -2


def prepare(n: int) -> tuple[Sequence, Sequence]:
    rng = np.random.default_rng(1)
    first = rng.integers(0, 4, n, dtype=np.uint8)
    second = first.copy()
    second[rng.random(n) < 0.2] = 2
    return first, np.delete(second, np.arange(0, n, 17))


def run(first: Sequence, second: Sequence) -> tuple[NDArray[np.int64], int]:
    rows, columns = len(first) + 1, len(second) + 1
    table = np.zeros((rows, columns), dtype=np.int64)
    table[:, 0] = GAP * np.arange(rows)
    table[0, :] = GAP * np.arange(columns)
    for i in range(1, rows):
        for j in range(1, columns):
            score = MATCH if first[i - 1] == second[j - 1] else MISMATCH
            table[i, j] = max(table[i - 1, j - 1] + score, table[i - 1, j] + GAP, table[i, j - 1] + GAP)
    i, j, gaps = rows - 1, columns - 1, 0
    while i > 0 and j > 0:
        if table[i, j] == table[i - 1, j] + GAP:
            i, gaps = i - 1, gaps + 1
        elif table[i, j] == table[i, j - 1] + GAP:
            j, gaps = j - 1, gaps + 1
        else:
            i, j = i - 1, j - 1
    return table, gaps
