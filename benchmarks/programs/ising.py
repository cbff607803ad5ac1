"""The Ising magnet by Monte Carlo: the two colours of a chessboard in turn, neighbours by rolled arrays.

N. Metropolis et al., "Equation of state calculations by fast computing machines" (Journal of Chemical Physics 21,
1953).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (120, 15)
LARGE = (1000, 20)

Spins = NDArray[np.int8]

TEMPERATURE = 2.2


def prepare(n: int, sweeps: int) -> tuple[Spins, int]:
    return np.random.default_rng(1).choice(np.array([-1, 1], dtype=np.int8), (n, n)), sweeps


def run(spins: Spins, sweeps: int) -> tuple[Spins, NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(2)
    rows, columns = np.indices(spins.shape)
    colours = [(rows + columns) % 2 == 0, (rows + columns) % 2 == 1]
    magnetisation = np.zeros(sweeps)
    energy = np.zeros(sweeps)
    for sweep in range(sweeps):
        for colour in colours:
            neighbours = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            change = 2 * spins * neighbours
            accepted = (rng.random(spins.shape) < np.exp(-change / TEMPERATURE)) & colour
            spins[accepted] *= -1
        magnetisation[sweep] = spins.mean()
        energy[sweep] = -np.mean(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1)))
    return spins, magnetisation, energy
