# C's side of `loops.py`.
from lazyarray.ir.node cimport Key

cdef class Ranged:
    cdef public Key key
    cdef public object dtypes, high, low, name
