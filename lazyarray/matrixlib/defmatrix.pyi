from numpy.matrixlib.defmatrix import *
from numpy.matrixlib.defmatrix import (
    asmatrix as asmatrix,
    bmat as bmat,
    matrix as matrix,
)
