# C's side of `callables.py`.
from lazyarray.frontend.quick cimport Known, Op, binary, known, unary


cdef class UfuncCall:
    cdef public int nin
    cdef public Op _op
    cdef public object _product

cdef class Builtin:
    cdef public object function
    cdef dict __dict__
