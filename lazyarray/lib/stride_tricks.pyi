from numpy.lib.stride_tricks import *
from numpy.lib.stride_tricks import (
    as_strided as as_strided,
    sliding_window_view as sliding_window_view,
)
