"""Evaluation, storage, caches and the backend protocol."""
