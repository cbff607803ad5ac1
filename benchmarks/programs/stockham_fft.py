"""A Fourier transform by Stockham's stages, written with slices, and a convolution by it.

W. T. Cochran et al., "What is the fast Fourier transform?" (Proceedings of the IEEE 55, 1967), which gives Stockham's
version that needs no bit reversal.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (15,)
LARGE = (20,)

Signal = NDArray[np.complex128]


def prepare(power: int) -> tuple[Signal, Signal]:
    rng = np.random.default_rng(1)
    n = 2**power
    signal = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    response = np.exp(-np.arange(n) / 50.0) + 0j
    return signal, response


def transform(x: Signal, sign: float) -> Signal:
    n = len(x)
    y = x.reshape(1, n)
    while y.shape[1] > 1:
        stages, half = y.shape[0], y.shape[1] // 2
        even, odd = y[:, :half], y[:, half:]
        twiddle = np.exp(sign * 1j * np.pi * np.arange(stages) / stages)[:, np.newaxis]
        y = np.concatenate((even + twiddle * odd, even - twiddle * odd))
    return y.ravel()


def run(signal: Signal, response: Signal) -> tuple[Signal, Signal]:
    spectrum = transform(signal, -1.0)
    product = spectrum * transform(response, -1.0)
    return spectrum, transform(product, 1.0) / len(signal)
