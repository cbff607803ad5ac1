"""Two-dimensional turbulence: vorticity in Fourier space, products in real space, Runge-Kutta steps.

S. A. Orszag, "On the elimination of aliasing in finite-difference schemes by filtering high-wavenumber components"
(Journal of the Atmospheric Sciences 28, 1971): pseudo-spectral, with the two-thirds rule.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (64, 8)
LARGE = (384, 20)

Real = NDArray[np.float64]
Spectrum = NDArray[np.complex128]

VISCOSITY, TIME_STEP = 1e-4, 1e-3


def prepare(n: int, steps: int) -> tuple[Real, int]:
    return np.random.default_rng(1).standard_normal((n, n)), steps


def run(vorticity: Real, steps: int) -> tuple[Real, Real]:
    n = vorticity.shape[0]
    kx = np.fft.fftfreq(n, 1.0 / n)[:, None]
    ky = np.fft.rfftfreq(n, 1.0 / n)[None, :]
    k_squared = kx**2 + ky**2
    inverse = np.where(k_squared > 0, 1.0 / np.where(k_squared > 0, k_squared, 1.0), 0.0)
    keep = (np.abs(kx) < n / 3) & (np.abs(ky) < n / 3)

    def derive(w: Spectrum) -> Spectrum:
        stream = w * inverse
        u = np.fft.irfft2(1j * ky * stream, s=(n, n))
        v = np.fft.irfft2(-1j * kx * stream, s=(n, n))
        wx = np.fft.irfft2(1j * kx * w, s=(n, n))
        wy = np.fft.irfft2(1j * ky * w, s=(n, n))
        return -np.fft.rfft2(u * wx + v * wy) * keep - VISCOSITY * k_squared * w

    w = np.fft.rfft2(vorticity) * keep
    energy = np.empty(steps)
    for i in range(steps):
        k1 = derive(w)
        k2 = derive(w + 0.5 * TIME_STEP * k1)
        k3 = derive(w + 0.5 * TIME_STEP * k2)
        k4 = derive(w + TIME_STEP * k3)
        w = w + TIME_STEP / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
        energy[i] = 0.5 * np.sum(np.abs(w) ** 2 * inverse) / n**4
    return np.fft.irfft2(w, s=(n, n)), energy
