"""k-means on scikit-learn's scanned digits: clusters of 8 x 8 pictures, judged by the digits people wrote."""

import numpy as np
from sklearn.datasets import load_digits

CLUSTERS = 10
RESTARTS = 8
ROUNDS = 40


def distances(points, centres):
    """Squared distances of every point to every centre."""
    return ((points[:, np.newaxis, :] - centres[np.newaxis, :, :]) ** 2).sum(axis=2)


def spread_centres(points, count, rng):
    """Starting centres far from each other (k-means++)."""
    centres = points[rng.integers(len(points))][np.newaxis]
    while len(centres) < count:
        nearest = distances(points, centres).min(axis=1)
        chosen = rng.choice(len(points), p=nearest / nearest.sum())
        centres = np.concatenate([centres, points[chosen][np.newaxis]])
    return centres


def k_means(points, count, rng):
    centres = spread_centres(points, count, rng)
    labels = np.zeros(len(points), dtype=np.intp)
    for _ in range(ROUNDS):
        squared = distances(points, centres)
        new_labels = squared.argmin(axis=1)
        if np.array_equal(new_labels, labels):
            break
        labels = new_labels
        for k in range(count):
            members = points[labels == k]
            if len(members) > 0:
                centres[k] = members.mean(axis=0)
    inertia = distances(points, centres).min(axis=1).sum()
    return labels, centres, inertia


def draw(picture):
    shades = " .:-=+*#%@"
    for row in picture.reshape(8, 8):
        print("  " + "".join(2 * shades[int(v)] for v in np.clip(row * 9.0, 0, 9)))


def main():
    digits = load_digits()
    points = np.asarray(digits.data) / 16.0
    written = np.asarray(digits.target)
    rng = np.random.default_rng(3)

    best = min((k_means(points, CLUSTERS, rng) for _ in range(RESTARTS)), key=lambda result: result[2])
    labels, centres, inertia = best
    print(f"{points.shape[0]} pictures, {CLUSTERS} clusters, inertia {inertia:.4f}")

    correct = 0
    for k in range(CLUSTERS):
        counts = np.bincount(written[labels == k], minlength=10)
        correct += counts.max()
        print(f"cluster {k}: {counts.sum():4d} pictures, mostly {counts.argmax()} ({counts.max()})")
    print(f"purity {correct / len(points):.4f}")
    print(f"centre of the largest cluster ({np.bincount(labels).max()} pictures):")
    draw(centres[np.bincount(labels).argmax()])


if __name__ == "__main__":
    main()
