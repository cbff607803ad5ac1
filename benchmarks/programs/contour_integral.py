"""Eigenvalues inside a circle from integrals over it: a complex linear solve in each node of the contour.

T. Sakurai and H. Sugiura, "A projection method for generalized eigenvalue problems using numerical integration"
(Journal of Computational and Applied Mathematics 159, 2003), as contour-integral codes for quantum transport use it.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (70, 40, 24)
LARGE = (350, 150, 40)

Matrix = NDArray[np.complex128]

RADIUS = 3.0


def prepare(n: int, probes: int, nodes: int) -> tuple[Matrix, Matrix, Matrix]:
    rng = np.random.default_rng(1)
    hopping = (rng.random((3, n, n)) + 1j * rng.random((3, n, n))) / np.sqrt(n)
    probe = rng.random((n, probes)) + 1j * rng.random((n, probes))
    angles = 2 * np.pi * (np.arange(nodes) + 0.5) / nodes
    return hopping, probe, RADIUS * np.exp(1j * angles)


def run(hopping: Matrix, probe: Matrix, nodes: Matrix) -> tuple[Matrix, Matrix]:
    moment0 = np.zeros(probe.shape, dtype=np.complex128)
    moment1 = np.zeros(probe.shape, dtype=np.complex128)
    identity = np.eye(len(probe))
    for z in nodes:
        system = z * identity
        for power in range(len(hopping)):
            system = system - z ** (power - 1) * hopping[power]
        x = np.linalg.solve(system, probe)
        if abs(z) < 1.0:
            x = -x
        moment0 += z * x
        moment1 += z * z * x
    return moment0 / len(nodes), moment1 / len(nodes)
