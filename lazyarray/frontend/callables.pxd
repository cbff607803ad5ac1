# C's side of `callables.py`.
cimport cython

from lazyarray.frontend.quick cimport INT64, Known, Limits, Op, known, limits, wrapped
from lazyarray.frontend.usual cimport binary, unary
from lazyarray.frontend.small cimport REFUSED, small_call, small_items


cdef class UfuncCall:
    cdef public int nin
    cdef public Op _op
    cdef public object _product, _plain
    cdef size_t vector

cdef class Builtin:
    cdef public object function, source
    cdef public int guard
    cdef int asks
    cdef size_t direct, vector
    cdef dict __dict__

cdef class Served:
    cdef public object function, inner, method, source, views
    cdef public int guard
    cdef int asks
    cdef size_t direct, vector
    cdef dict __dict__

@cython.locals(size=Py_ssize_t)
cpdef Py_ssize_t extent_of(shape)
cdef bint _is_dtype(dict kwargs)
