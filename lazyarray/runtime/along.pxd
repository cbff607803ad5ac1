# C's side of `along.py`.
cimport cython

from lazyarray.ir.node cimport Key, Node

cpdef bint is_pending(Node node) except -1
@cython.locals(node=Node, found=list)
cpdef list pending()
@cython.locals(node=Node, needed=Node, mark=cython.longlong, place=Py_ssize_t, found=list)
cpdef list unused(list nodes)
@cython.locals(node=Node, found=list, mark=cython.longlong)
cpdef list others(list closure)
@cython.locals(node=Node, mark=cython.longlong)
cpdef bint stands_apart(list closure) except -1
