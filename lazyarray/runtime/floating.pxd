# C's side of `floating.py`.
cimport cython

from lazyarray.ir.node cimport Key, Node

cdef class Last:
    cdef public object waits
    cdef public int bits

cdef Last _last

cpdef int wanted(Node node) except -1
cpdef hand_over(Node node)
@cython.locals(node=Node, place=Py_ssize_t, told=tuple, site=tuple, known=tuple)
cpdef bint are_told_so(list nodes, list tolds) except -1
