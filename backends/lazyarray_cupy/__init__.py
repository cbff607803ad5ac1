"""NVIDIA GPUs through CuPy: memory, copies, streams and library calls of lazyarray's device "cuda"."""
