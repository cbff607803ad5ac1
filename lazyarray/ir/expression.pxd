# C's side of `expression.py`.
cimport cython

from lazyarray.ir.node cimport Key, Node, Spec

cdef long long _passes

cdef long long next_pass() except -1
@cython.locals(mark=cython.longlong, node=Node, needed=Node, found=list, stack=list)
cpdef list pending_closure(targets)
@cython.locals(node=Node, other=Node, place=Py_ssize_t, to=Py_ssize_t, moves=Py_ssize_t)
cdef in_recorded_order(list found)
@cython.locals(mark=cython.longlong, at=Py_ssize_t, k=Py_ssize_t, node=Node, given=Node, key=Key, items=list, sources=list, floats=dict)
cpdef tuple capture(nodes, outputs)
