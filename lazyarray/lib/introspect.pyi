from numpy.lib.introspect import *
from numpy.lib.introspect import (
    opt_func_info as opt_func_info,
)
