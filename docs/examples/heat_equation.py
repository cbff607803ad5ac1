"""Heat in a square plate: explicit time steps of the heat equation, then Jacobi sweeps.

The plate starts cold with a hot disc in it; its left edge is held at 100 degrees and the others at 0.
"""

import numpy as np

SIZE = 1000
STEPS = 200
SWEEPS = 150
DIFFUSIVITY = 1.0e-4


def make_plate(size):
    axis = np.linspace(0.0, 1.0, size)
    x, y = np.meshgrid(axis, axis)
    plate = np.zeros((size, size))
    plate[(x - 0.6) ** 2 + (y - 0.5) ** 2 < 0.15**2] = 80.0
    plate[:, 0] = 100.0
    return plate


def step(u, factor):
    """One explicit step; the edges keep their values."""
    lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
    u[1:-1, 1:-1] += factor * lap


def sweep(old, new):
    """One Jacobi sweep with a weight on the middle."""
    new[1:-1, 1:-1] = 0.2 * (old[1:-1, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:] + old[2:, 1:-1] + old[:-2, 1:-1])


def main():
    plate = make_plate(SIZE)
    spacing = 1.0 / (SIZE - 1)
    time_step = 0.2 * spacing**2 / DIFFUSIVITY
    factor = DIFFUSIVITY * time_step / spacing**2
    print(f"{SIZE} x {SIZE} plate, time step {time_step:.5f} s")

    for n in range(STEPS + 1):
        if n % 50 == 0:
            centre = plate[SIZE // 2, SIZE // 2]
            print(f"t = {n * time_step:7.4f} s  mean {plate.mean():8.5f}  centre {centre:8.5f}")
        step(plate, factor)

    old, new = plate, plate.copy()
    for _ in range(SWEEPS):
        sweep(old, new)
        old, new = new, old
    change = np.abs(new - old).max()
    print(f"after {SWEEPS} Jacobi sweeps: last change {change:.6f}, mean {old.mean():.6f}")
    print("temperature along the middle row:", np.round(old[SIZE // 2, :: SIZE // 8], 3))
    hot = np.count_nonzero(old > 50.0)
    print(f"{100.0 * hot / old.size:.3f} % of the plate is hotter than 50 degrees")


if __name__ == "__main__":
    main()
