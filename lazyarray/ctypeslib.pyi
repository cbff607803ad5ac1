from numpy.ctypeslib import *
from numpy.ctypeslib import (
    as_array as as_array,
    as_ctypes as as_ctypes,
    as_ctypes_type as as_ctypes_type,
    c_intp as c_intp,
    load_library as load_library,
    ndpointer as ndpointer,
)
