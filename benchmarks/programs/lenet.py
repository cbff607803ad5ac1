"""Inference of LeNet-5: convolutions as sums over windows, pooling, dense layers, class of each image.

Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, "Gradient-based learning applied to document recognition" (Proceedings
of the IEEE 86, 1998).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 1e-5
SMALL = (3,)
LARGE = (300,)

Tensor = NDArray[Any]


def prepare(images: int) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    rng = np.random.default_rng(1)

    def draw(*shape: int) -> Tensor:
        return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)

    batch = rng.random((images, 32, 32, 1), dtype=np.float32)
    weights = [draw(5, 5, 1, 6), draw(5, 5, 6, 16), draw(400, 120), draw(120, 84), draw(84, 10)]
    biases = [draw(weight.shape[-1]) for weight in weights]
    return batch, weights, biases


def relu(x: Tensor) -> Tensor:
    return np.maximum(x, 0)


def convolve(x: Tensor, weight: Tensor) -> Tensor:
    size, out_height, out_width = weight.shape[0], x.shape[1] - weight.shape[0] + 1, x.shape[2] - weight.shape[1] + 1
    y = np.empty((x.shape[0], out_height, out_width, weight.shape[3]), dtype=np.float32)
    for i in range(out_height):
        for j in range(out_width):
            y[:, i, j, :] = np.sum(
                x[:, i : i + size, j : j + size, :, np.newaxis] * weight[np.newaxis, :, :, :], axis=(1, 2, 3)
            )
    return y


def pool(x: Tensor) -> Tensor:
    y = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]), dtype=x.dtype)
    for i in range(y.shape[1]):
        for j in range(y.shape[2]):
            y[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return y


def run(batch: Tensor, weights: list[Tensor], biases: list[Tensor]) -> tuple[Tensor, NDArray[np.intp]]:
    x = pool(relu(convolve(batch, weights[0]) + biases[0]))
    x = pool(relu(convolve(x, weights[1]) + biases[1]))
    x = np.reshape(x, (x.shape[0], -1))
    x = relu(x @ weights[2] + biases[2])
    x = relu(x @ weights[3] + biases[3])
    logits = x @ weights[4] + biases[4]
    return logits, np.argmax(logits, axis=1)
