"""Owns what holds for all tests: arrays of a few thousand elements are recorded and compiled, not only large ones.

The break-even that users get (`eager_below` of `config.py`) would have tests compute on a hundred times the memory;
first evaluations (`compile_at`) would have NumPy compute what kernels are to. What the environment says comes before.
"""

import os

os.environ.setdefault("LAZYARRAY_EAGER_BELOW", "4096")
os.environ.setdefault("LAZYARRAY_COMPILE_AT", "1")
