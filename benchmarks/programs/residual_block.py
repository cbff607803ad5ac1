"""Inference of a bottleneck residual block: 1x1, 3x3 and 1x1 convolutions, batch norms, and the sum with the input.

K. He, X. Zhang, S. Ren and J. Sun, "Deep residual learning for image recognition" (CVPR, 2016).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 1e-5
SMALL = (8, 28, 128, 32)
LARGE = (32, 56, 256, 64)

Tensor = NDArray[Any]


def prepare(images: int, side: int, channels: int, inner: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    rng = np.random.default_rng(1)
    x = rng.random((images, side, side, channels), dtype=np.float32)
    reduce = rng.random((1, 1, channels, inner), dtype=np.float32)
    spatial = rng.random((3, 3, inner, inner), dtype=np.float32)
    expand = rng.random((1, 1, inner, channels), dtype=np.float32)
    return x, reduce, spatial, expand


def relu(x: Tensor) -> Tensor:
    return np.maximum(x, 0)


def convolve(x: Tensor, weight: Tensor) -> Tensor:
    size = weight.shape[0]
    height, width = x.shape[1] - size + 1, x.shape[2] - size + 1
    y = np.zeros((x.shape[0], height, width, weight.shape[3]), dtype=np.float32)
    for i in range(size):
        for j in range(size):
            y += np.tensordot(x[:, i : i + height, j : j + width, :], weight[i, j], axes=1)
    return y


def normalise(x: Tensor, eps: float = 1e-5) -> Tensor:
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std + eps)


def run(x: Tensor, reduce: Tensor, spatial: Tensor, expand: Tensor) -> Tensor:
    padded = np.zeros((x.shape[0], x.shape[1] + 2, x.shape[2] + 2, reduce.shape[3]), dtype=np.float32)
    padded[:, 1:-1, 1:-1, :] = convolve(x, reduce)
    y = relu(normalise(padded))
    y = relu(normalise(convolve(y, spatial)))
    y = normalise(convolve(y, expand))
    return relu(y + x)
