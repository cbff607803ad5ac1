"""Primes by a sieve with strides, then gaps between them, and smallest factors of all numbers.

The sieve of Eratosthenes (Nicomachus of Gerasa, "Introduction to Arithmetic", about 100 AD).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (800_000,)
LARGE = (24_000_000,)


def prepare(limit: int) -> tuple[int]:
    return (limit,)


def run(limit: int) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int32]]:
    prime = np.ones(limit, dtype=bool)
    prime[:2] = False
    smallest = np.arange(limit, dtype=np.int32)
    for i in range(2, int(limit**0.5) + 1):
        if prime[i]:
            prime[i * i :: i] = False
            multiples = smallest[i * i :: i]
            multiples[multiples == np.arange(i * i, limit, i)] = i
    primes = np.flatnonzero(prime)
    gaps = np.bincount(np.diff(primes))
    return primes, gaps, smallest
