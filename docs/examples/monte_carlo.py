"""Monte Carlo: pi from random points, and an Asian and a barrier option from simulated price paths."""

import numpy as np

POINTS = 4_000_000
PATHS = 60_000
DAYS = 126
SPOT, STRIKE, BARRIER = 100.0, 105.0, 130.0
RATE, VOLATILITY, YEARS = 0.02, 0.25, 0.5


def estimate_pi(rng, points):
    x = rng.random(points)
    y = rng.random(points)
    inside = np.count_nonzero(x * x + y * y < 1.0)
    share = inside / points
    return 4.0 * share, 4.0 * np.sqrt(share * (1.0 - share) / points)


def simulate_paths(rng, paths, days):
    """Daily prices under geometric Brownian motion, each path with its mirror image (antithetic)."""
    step = YEARS / days
    shocks = rng.standard_normal((paths // 2, days))
    shocks = np.concatenate([shocks, -shocks])
    moves = (RATE - 0.5 * VOLATILITY**2) * step + VOLATILITY * np.sqrt(step) * shocks
    return SPOT * np.exp(np.cumsum(moves, axis=1))


def value(payoff):
    """Discounted mean of a payoff and its standard error (pairs of mirrored paths taken together)."""
    discounted = np.exp(-RATE * YEARS) * payoff
    pairs = 0.5 * (discounted[: len(payoff) // 2] + discounted[len(payoff) // 2 :])
    return discounted.mean(), pairs.std(ddof=1) / np.sqrt(len(pairs))


def main():
    rng = np.random.default_rng(2024)
    pi, error = estimate_pi(rng, POINTS)
    print(f"pi is about {pi:.6f} +- {error:.6f}")

    prices = simulate_paths(rng, PATHS, DAYS)
    final = prices[:, -1]
    payoffs = {
        "European call": np.maximum(final - STRIKE, 0.0),
        "Asian call": np.maximum(prices.mean(axis=1) - STRIKE, 0.0),
        "lookback put": prices.max(axis=1) - final,
        "barrier call": np.where(prices.max(axis=1) < BARRIER, np.maximum(final - STRIKE, 0.0), 0.0),
    }
    for name, payoff in payoffs.items():
        mean, error = value(payoff)
        print(f"{name:14s} {mean:9.5f} +- {error:.5f}   paid on {100.0 * np.mean(payoff > 0.0):6.3f} % of paths")

    losses = SPOT - final
    worst = np.percentile(losses, 99)
    print(f"99 % value at risk {worst:.4f}, expected shortfall {losses[losses >= worst].mean():.4f}")
    returns = np.diff(np.log(prices), axis=1)
    print(f"realised volatility {returns.std() * np.sqrt(DAYS / YEARS):.5f}")
    drawdown = (1.0 - prices / np.maximum.accumulate(prices, axis=1)).max(axis=1)
    print(f"mean largest drawdown {100.0 * drawdown.mean():.4f} %")


if __name__ == "__main__":
    main()
