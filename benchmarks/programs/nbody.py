"""Bodies under each other's gravity by leapfrog steps, with the energies after each step.

P. Mocz, "Create your own N-body simulation (with Python)" (2020); softened gravity as in S. J. Aarseth,
"Gravitational N-Body Simulations" (Cambridge, 2003).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (80, 20)
LARGE = (1000, 18)

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

G, SOFTENING, TIME_STEP = 1.0, 0.1, 0.01


def prepare(bodies: int, steps: int) -> tuple[Matrix, Matrix, Vector, int]:
    rng = np.random.default_rng(17)
    mass = 20.0 * np.ones((bodies, 1)) / bodies
    position = rng.standard_normal((bodies, 3))
    velocity = rng.standard_normal((bodies, 3))
    velocity -= np.mean(mass * velocity, axis=0) / np.mean(mass)
    return position, velocity, mass, steps


def accelerate(position: Matrix, mass: Vector) -> Matrix:
    x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inverse = dx**2 + dy**2 + dz**2 + SOFTENING**2
    inverse[inverse > 0] = inverse[inverse > 0] ** (-1.5)
    ax = G * (dx * inverse) @ mass
    ay = G * (dy * inverse) @ mass
    az = G * (dz * inverse) @ mass
    return np.hstack((ax, ay, az))


def measure_energy(position: Matrix, velocity: Matrix, mass: Vector) -> tuple[float, float]:
    kinetic = 0.5 * np.sum(np.sum(mass * velocity**2))
    x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inverse = np.sqrt(dx**2 + dy**2 + dz**2)
    inverse[inverse > 0] = 1.0 / inverse[inverse > 0]
    potential = G * np.sum(np.sum(np.triu(-(mass * mass.T) * inverse, 1)))
    return kinetic, potential


def run(position: Matrix, velocity: Matrix, mass: Vector, steps: int) -> tuple[Matrix, Vector, Vector]:
    kinetic = np.zeros(steps + 1)
    potential = np.zeros(steps + 1)
    acceleration = accelerate(position, mass)
    kinetic[0], potential[0] = measure_energy(position, velocity, mass)
    for i in range(steps):
        velocity += acceleration * TIME_STEP / 2.0
        position += velocity * TIME_STEP
        acceleration = accelerate(position, mass)
        velocity += acceleration * TIME_STEP / 2.0
        kinetic[i + 1], potential[i + 1] = measure_energy(position, velocity, mass)
    return position, kinetic, potential
