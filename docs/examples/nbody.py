"""Gravity among many bodies: a star cluster moved by leapfrog steps, with its energy and momentum watched."""

import numpy as np

BODIES = 700
STEPS = 40
TIME_STEP = 0.002
SOFTENING = 0.05


def make_cluster(count, rng):
    """A Plummer sphere: positions, velocities and masses, at rest as a whole."""
    radius = 1.0 / np.sqrt(rng.uniform(0.05, 0.95, count) ** (-2.0 / 3.0) - 1.0)
    direction = rng.normal(size=(count, 3))
    direction /= np.sqrt((direction**2).sum(axis=1, keepdims=True))
    positions = radius[:, np.newaxis] * direction
    velocities = rng.normal(scale=0.32, size=(count, 3))
    masses = np.full(count, 1.0 / count)
    positions -= np.average(positions, axis=0, weights=masses)
    velocities -= np.average(velocities, axis=0, weights=masses)
    return positions, velocities, masses


def accelerations(positions, masses):
    offsets = positions[np.newaxis, :, :] - positions[:, np.newaxis, :]
    squared = (offsets**2).sum(axis=-1) + SOFTENING**2
    strength = masses * squared**-1.5
    return (offsets * strength[:, :, np.newaxis]).sum(axis=1)


def energy(positions, velocities, masses):
    kinetic = 0.5 * (masses * (velocities**2).sum(axis=1)).sum()
    offsets = positions[np.newaxis, :, :] - positions[:, np.newaxis, :]
    distance = np.sqrt((offsets**2).sum(axis=-1) + SOFTENING**2)
    pairs = masses[:, np.newaxis] * masses[np.newaxis, :] / distance
    potential = -0.5 * (pairs.sum() - np.trace(pairs))
    return kinetic, potential


def report(step, positions, velocities, masses, start):
    kinetic, potential = energy(positions, velocities, masses)
    drift = (kinetic + potential - start) / abs(start)
    half = np.median(np.sqrt((positions**2).sum(axis=1)))
    print(f"step {step:3d}  kinetic {kinetic:.6f}  potential {potential:.6f}  half-radius {half:.6f}")
    print(f"          energy drift below 1e-4: {bool(abs(drift) < 1e-4)}")


def main():
    rng = np.random.default_rng(11)
    positions, velocities, masses = make_cluster(BODIES, rng)
    start = sum(energy(positions, velocities, masses))
    report(0, positions, velocities, masses, start)

    pull = accelerations(positions, masses)
    for step in range(1, STEPS + 1):
        velocities += 0.5 * TIME_STEP * pull
        positions += TIME_STEP * velocities
        pull = accelerations(positions, masses)
        velocities += 0.5 * TIME_STEP * pull
        if step % 20 == 0:
            report(step, positions, velocities, masses, start)

    momentum = (masses[:, np.newaxis] * velocities).sum(axis=0)
    print("momentum is zero to 1e-12:", bool((np.abs(momentum) < 1e-12).all()))
    spin = np.cross(positions, velocities * masses[:, np.newaxis]).sum(axis=0)
    print("angular momentum:", np.round(spin, 5))


if __name__ == "__main__":
    main()
