"""Owns the digests that name and check what is kept on disk."""

from __future__ import annotations

try:
    # What `hashlib.blake2b` is: without OpenSSL, which `hashlib` loads for other digests and which takes milliseconds.
    from _blake2 import blake2b
except ImportError:  # other Pythons
    from hashlib import blake2b

SIZE = 32  # bytes


def digest_of(data: bytes) -> bytes:
    """The digest of bytes."""
    return blake2b(data, digest_size=SIZE).digest()


def name_of(text: str) -> str:
    """The digest of a text, in hexadecimal digits."""
    return digest_of(text.encode()).hex()
