from numpy.f2py import *
from numpy.f2py import (
    get_include as get_include,
    run_main as run_main,
)
