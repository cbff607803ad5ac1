"""Prices of Asian and barrier options from simulated paths of a stock, with the standard errors.

P. Glasserman, "Monte Carlo Methods in Financial Engineering" (Springer, 2004), sections 3.2 and 3.4.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (5000, 90)
LARGE = (50_000, 100)

Paths = NDArray[np.float64]

SPOT, STRIKE, BARRIER, RATE, VOLATILITY, YEARS = 100.0, 102.0, 85.0, 0.03, 0.25, 1.0


def prepare(paths: int, steps: int) -> tuple[Paths]:
    return (np.random.default_rng(1).standard_normal((paths // 2, steps)),)


def summarise(payoff: Paths) -> tuple[float, float]:
    discounted = np.exp(-RATE * YEARS) * payoff
    return discounted.mean(), discounted.std(ddof=1) / np.sqrt(len(discounted))


def run(draws: Paths) -> tuple[tuple[float, float], tuple[float, float], Paths]:
    step = YEARS / draws.shape[1]
    normals = np.concatenate((draws, -draws))
    growth = (RATE - 0.5 * VOLATILITY**2) * step + VOLATILITY * np.sqrt(step) * normals
    prices = SPOT * np.exp(np.cumsum(growth, axis=1))
    asian = np.maximum(prices.mean(axis=1) - STRIKE, 0.0)
    alive = np.all(prices > BARRIER, axis=1)
    barrier = np.where(alive, np.maximum(prices[:, -1] - STRIKE, 0.0), 0.0)
    lowest = (prices - np.maximum.accumulate(prices, axis=1)).min(axis=1)
    return summarise(asian), summarise(barrier), lowest
