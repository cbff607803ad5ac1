"""Where emitted kernels run in these tests: Triton's interpreter, or with LAZYARRAY_TEST_DEVICE=cuda a GPU."""

from __future__ import annotations

import os

ON_DEVICE = os.environ.get("LAZYARRAY_TEST_DEVICE") == "cuda"

if ON_DEVICE:
    from tests.triton.device import launch
else:
    from tests.triton.interpreter import launch

__all__ = ["ON_DEVICE", "launch"]
