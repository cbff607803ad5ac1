# C's side of `small.py`.
cimport cython

from lazyarray.frontend.quick cimport FLOAT64, Fields, Known, Limits, known, limits, wrapped
from lazyarray.ir.node cimport finish_waiting
from lazyarray.native.lists cimport numbers_of
from lazyarray.native.primitives cimport holds_numbers, size_of_memory

cdef type _nparray
cdef object REFUSED
cdef object INERT
cdef Py_ssize_t _ALL

@cython.locals(place=Py_ssize_t, array=Fields)
cpdef small_items(items, Py_ssize_t limit=*)
cpdef listed(items)
@cython.locals(found=dict)
cdef _small_named(dict named, Py_ssize_t limit)
@cython.locals(passed=tuple, named=dict)
cpdef small_call(source, tuple args, dict kwargs)
@cython.locals(passed=tuple, named=dict)
cpdef large_call(str name, source, tuple args, dict kwargs)
@cython.locals(place=Py_ssize_t)
cdef _answer(source, tuple passed, dict named, tuple args, dict kwargs)
