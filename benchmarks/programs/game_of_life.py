"""Conway's Game of Life: sums of neighbours by slices, births and survivals by logical operations.

M. Gardner, "The fantastic combinations of John Conway's new solitaire game 'life'" (Scientific American 223, 1970);
the slices as in N. P. Rougier, "From Python to Numpy" (2017), section 4.2.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (180, 40)
LARGE = (1500, 60)

Board = NDArray[np.uint8]


def prepare(side: int, steps: int) -> tuple[Board, int]:
    board = np.zeros((side + 2, side + 2), dtype=np.uint8)
    board[1:-1, 1:-1] = np.random.default_rng(1).integers(0, 2, (side, side))
    return board, steps


def run(board: Board, steps: int) -> tuple[Board, NDArray[np.int64]]:
    living = np.zeros(steps, dtype=np.int64)
    for step in range(steps):
        neighbours = (
            board[0:-2, 0:-2]
            + board[0:-2, 1:-1]
            + board[0:-2, 2:]
            + board[1:-1, 0:-2]
            + board[1:-1, 2:]
            + board[2:, 0:-2]
            + board[2:, 1:-1]
            + board[2:, 2:]
        )
        birth = (neighbours == 3) & (board[1:-1, 1:-1] == 0)
        survive = ((neighbours == 2) | (neighbours == 3)) & (board[1:-1, 1:-1] == 1)
        board[...] = 0
        board[1:-1, 1:-1][birth | survive] = 1
        living[step] = board.sum()
    return board, living
