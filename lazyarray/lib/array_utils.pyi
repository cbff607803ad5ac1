from numpy.lib.array_utils import *
from numpy.lib.array_utils import (
    byte_bounds as byte_bounds,
    normalize_axis_index as normalize_axis_index,
    normalize_axis_tuple as normalize_axis_tuple,
)
