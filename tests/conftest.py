"""Owns what holds for all tests: arrays of a few thousand elements are recorded and compiled, not only large ones.

The break-even that users get (`eager_below` of `config.py`) would have tests compute on a hundred times the memory.
`LAZYARRAY_EAGER_BELOW` in the environment comes before this.
"""

import os

os.environ.setdefault("LAZYARRAY_EAGER_BELOW", "4096")
