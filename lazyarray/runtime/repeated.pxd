# C's side of `repeated.py`.
cimport cython

from lazyarray.ir.node cimport Key, Node, Spec
from lazyarray.native.primitives cimport count
from lazyarray.runtime.floating cimport wanted
from lazyarray.runtime.remote cimport Remote

cdef long ALONE

cdef Py_ssize_t _count_of_item(list nodes, Py_ssize_t place)

cdef class Step:
    cdef public Key key
    cdef public tuple args
    cdef public object code, errors
    cdef public long instruction, place, uses, wanted
    cdef public bint kept

cdef class Repeat:
    cdef public object _device, _graphs, made
    cdef public list _asked, _leaves, _numbers, _read, _steps, outputs
    cdef public dict _memo
    cdef public Py_ssize_t length, size
    cdef public bint reduces, _alone

    @cython.locals(found=list, at=Py_ssize_t, place=Py_ssize_t, step=Step, node=Node, args=tuple, site=tuple, named=bint, kept=Node)
    cpdef list match(self, list targets)
    @cython.locals(place=Py_ssize_t, home=bint, node=Node, given=list, made=list, remote=Remote)
    cpdef list queue(self, list found)
    @cython.locals(at=Py_ssize_t, place=Py_ssize_t, node=Node)
    cpdef settle(self, list found, list made)

cdef bint _is_same(number, known) except -1
