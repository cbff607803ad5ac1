# C's side of `small.py`.
cimport cython

from lazyarray.frontend.quick cimport FLOAT64, Fields, Known, Limits, known, limits, wrapped
from lazyarray.ir.node cimport finish_waiting
from lazyarray.native.lists cimport numbers_of
from lazyarray.native.primitives cimport holds_numbers, size_of_memory

cdef type _nparray
cdef object REFUSED
cdef object INERT

@cython.locals(place=Py_ssize_t, array=Fields)
cpdef small_items(items)
cpdef listed(items)
@cython.locals(found=dict)
cdef _small_named(dict named)
@cython.locals(place=Py_ssize_t, passed=tuple, named=dict)
cpdef small_call(source, tuple args, dict kwargs)
