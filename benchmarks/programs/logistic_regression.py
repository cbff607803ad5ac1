"""Classes of digits by softmax regression, trained by gradient descent with momentum on mini-batches.

C. M. Bishop, "Pattern Recognition and Machine Learning" (Springer, 2006), section 4.3.4.
"""

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 1e-8
SMALL = (6000, 40, 3)
LARGE = (100_000, 100, 6)

Matrix = NDArray[np.float64]

CLASSES, BATCH, RATE, MOMENTUM = 10, 200, 0.1, 0.9


def prepare(samples: int, features: int, epochs: int) -> tuple[Matrix, NDArray[np.int64], int]:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((samples, features))
    labels = (x @ rng.standard_normal((features, CLASSES))).argmax(axis=1)
    return x, labels, epochs


def run(x: Matrix, labels: NDArray[np.int64], epochs: int) -> tuple[Matrix, NDArray[np.float64], float]:
    rng = np.random.default_rng(2)
    weights = np.zeros((x.shape[1], CLASSES))
    speed = np.zeros_like(weights)
    losses = []
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x), BATCH):
            chosen = order[start : start + BATCH]
            inputs, targets = x[chosen], labels[chosen]
            logits = inputs @ weights
            logits -= logits.max(axis=1, keepdims=True)
            likely = np.exp(logits)
            likely /= likely.sum(axis=1, keepdims=True)
            losses.append(-np.mean(np.log(likely[np.arange(len(chosen)), targets])))
            likely[np.arange(len(chosen)), targets] -= 1.0
            gradient = inputs.T @ likely / len(chosen) + 1e-4 * weights
            speed = MOMENTUM * speed - RATE * gradient
            weights += speed
    accuracy = float(np.mean((x @ weights).argmax(axis=1) == labels))
    return weights, np.array(losses), accuracy
