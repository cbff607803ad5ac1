"""Filters of stereo audio: a windowed-sinc low-pass, an echo, a biquad over channels, a compressor, a spectrogram.

U. Zölzer (editor), "DAFX: Digital Audio Effects" (2nd edition, Wiley, 2011), chapters 2 and 4.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (60_000, 31)
LARGE = (2_000_000, 31)

Audio = NDArray[np.float64]

RATE, FRAME, HOP, BLOCK = 44_100, 512, 256, 64


def prepare(samples: int, taps: int) -> tuple[Audio, int]:
    t = np.arange(samples) / RATE
    left = np.sin(2 * np.pi * 440 * t) + 0.3 * np.sin(2 * np.pi * 5000 * t)
    right = np.sin(2 * np.pi * 220 * t * (1 + t))
    noise = 0.05 * np.random.default_rng(1).standard_normal((samples, 2))
    return np.stack((left, right), axis=1) + noise, taps


def filter_low(audio: Audio, taps: int, cutoff: float) -> Audio:
    n = np.arange(taps) - (taps - 1) / 2
    kernel = np.sinc(2 * cutoff / RATE * n) * np.hamming(taps)
    kernel /= kernel.sum()
    return np.stack([np.convolve(channel, kernel, mode="same") for channel in audio.T], axis=1)


def add_echo(audio: Audio, delay: int, gain: float) -> Audio:
    wet = audio.copy()
    for repeat in range(1, 4):
        wet[repeat * delay :] += gain**repeat * audio[: -repeat * delay]
    return wet


def compress(audio: Audio, threshold: float, ratio: float) -> Audio:
    blocks = len(audio) // BLOCK
    loudness = np.sqrt((audio[: blocks * BLOCK].reshape(blocks, BLOCK, 2) ** 2).mean(axis=(1, 2)))
    smooth = np.empty(blocks)
    level = 0.0
    for i in range(blocks):
        level = 0.9 * level + 0.1 * loudness[i]
        smooth[i] = level
    gain = np.where(smooth > threshold, (smooth / threshold) ** (1 / ratio - 1), 1.0)
    out = audio.copy()
    out[: blocks * BLOCK] *= np.repeat(gain, BLOCK)[:, np.newaxis]
    return out


def measure_spectrogram(audio: Audio) -> Audio:
    mono = audio.mean(axis=1)
    frames = np.lib.stride_tricks.sliding_window_view(mono, FRAME)[::HOP]
    power = np.abs(np.fft.rfft(frames * np.hanning(FRAME), axis=1)) ** 2
    return 10.0 * np.log10(power + 1e-10)


def run(audio: Audio, taps: int) -> tuple[Audio, Audio, NDArray[np.int16]]:
    audio = filter_low(audio, taps, 4000.0)
    audio = add_echo(audio, len(audio) // 8, 0.4)
    audio = compress(audio, 0.5, 4.0)
    audio = audio / np.max(np.abs(audio))
    samples = np.clip(np.floor(audio * 32767), -32768, 32767).astype(np.int16)
    return audio, measure_spectrogram(audio), samples
