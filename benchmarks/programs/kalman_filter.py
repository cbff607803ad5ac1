"""A Kalman filter that follows one object with matrices of four by four, and the smoother back over its track.

R. E. Kalman, "A new approach to linear filtering and prediction problems" (Journal of Basic Engineering 82, 1960); H.
E. Rauch, F. Tung and C. T. Striebel, "Maximum likelihood estimates of linear dynamic systems" (AIAA Journal 3, 1965).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (180,)
LARGE = (12_000,)

Matrix = NDArray[np.float64]

STEP = 0.1


def prepare(steps: int) -> tuple[Matrix]:
    t = STEP * np.arange(steps)
    track = np.stack((10 * np.cos(0.2 * t), 8 * np.sin(0.3 * t)), axis=1)
    return (track + np.random.default_rng(1).normal(0.0, 0.5, track.shape),)


def run(seen: Matrix) -> tuple[Matrix, Matrix, float]:
    steps = len(seen)
    move = np.eye(4)
    move[0, 2] = move[1, 3] = STEP
    observe = np.zeros((2, 4))
    observe[0, 0] = observe[1, 1] = 1.0
    process = 0.05 * np.diag([STEP**2, STEP**2, 1.0, 1.0])
    noise = 0.25 * np.eye(2)
    state, spread = np.zeros(4), 10.0 * np.eye(4)
    states, spreads = np.zeros((steps, 4)), np.zeros((steps, 4, 4))
    likelihood = 0.0
    for i in range(steps):
        state = move @ state
        spread = move @ spread @ move.T + process
        surprise = seen[i] - observe @ state
        expected = observe @ spread @ observe.T + noise
        gain = spread @ observe.T @ np.linalg.inv(expected)
        state = state + gain @ surprise
        spread = (np.eye(4) - gain @ observe) @ spread
        likelihood -= 0.5 * (surprise @ np.linalg.solve(expected, surprise) + np.log(np.linalg.det(expected)))
        states[i], spreads[i] = state, spread
    smooth = states.copy()
    for i in range(steps - 2, -1, -1):
        ahead = move @ spreads[i] @ move.T + process
        back = spreads[i] @ move.T @ np.linalg.inv(ahead)
        smooth[i] += back @ (smooth[i + 1] - move @ states[i])
    return states, smooth, likelihood
