from numpy.lib.scimath import *
from numpy.lib.scimath import (
    arccos as arccos,
    arcsin as arcsin,
    arctanh as arctanh,
    log as log,
    log10 as log10,
    log2 as log2,
    logn as logn,
    power as power,
    sqrt as sqrt,
)
