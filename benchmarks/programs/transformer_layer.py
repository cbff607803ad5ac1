"""A decoder layer of a language model: attention over the past, and a feed-forward part, with layer norms.

A. Vaswani et al., "Attention is all you need" (NIPS, 2017), with the norm before each part as in GPT-2.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 1e-5
SMALL = (3, 64, 4, 96)
LARGE = (12, 320, 8, 256)

Tensor = NDArray[Any]


def prepare(batch: int, length: int, heads: int, width: int) -> tuple[Tensor, dict[str, Tensor], int]:
    rng = np.random.default_rng(1)

    def draw(*shape: int) -> Tensor:
        return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    weights = {
        "qkv": draw(width, 3 * width),
        "out": draw(width, width),
        "up": draw(width, 4 * width),
        "down": draw(4 * width, width),
        "gain": np.ones(width, dtype=np.float32),
        "shift": draw(width),
    }
    return rng.standard_normal((batch, length, width), dtype=np.float32), weights, heads


def normalise(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(variance + 1e-5) + shift


def softmax(x: Tensor) -> Tensor:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi).astype(np.float32) * (x + 0.044715 * x**3)))


def attend(x: Tensor, weights: dict[str, Tensor], heads: int) -> Tensor:
    batch, length, width = x.shape
    q, k, v = (
        part.reshape(batch, length, heads, -1).transpose(0, 2, 1, 3)
        for part in np.split(x @ weights["qkv"], 3, axis=-1)
    )
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(np.float32(width // heads))
    future = np.triu(np.ones((length, length), dtype=bool), 1)
    scores = np.where(future, np.float32(-1e10), scores)
    mixed = (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(batch, length, width)
    return mixed @ weights["out"]


def run(x: Tensor, weights: dict[str, Tensor], heads: int) -> Tensor:
    x = x + attend(normalise(x, weights["gain"], weights["shift"]), weights, heads)
    hidden = gelu(normalise(x, weights["gain"], weights["shift"]) @ weights["up"])
    return x + hidden @ weights["down"]
