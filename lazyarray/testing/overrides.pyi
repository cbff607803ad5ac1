from numpy.testing.overrides import *
from numpy.testing.overrides import (
    allows_array_function_override as allows_array_function_override,
    allows_array_ufunc_override as allows_array_ufunc_override,
    get_overridable_numpy_array_functions as get_overridable_numpy_array_functions,
    get_overridable_numpy_ufuncs as get_overridable_numpy_ufuncs,
)
