from numpy.matrixlib import *
from numpy.matrixlib import (
    asmatrix as asmatrix,
    bmat as bmat,
    matrix as matrix,
)
