# C's side of `liveness.py`.
cimport cython

from lazyarray.ir.node cimport Key, Node
from lazyarray.native.primitives cimport count

cdef long EXPENSIVE, MOST, NAMELESS, LARGE

cdef Py_ssize_t _count_of_item(list closure, Py_ssize_t place)
cdef long own_cost(Key key) except -3
@cython.locals(node=Node)
cpdef bint reduces(list closure) except -1
@cython.locals(node=Node)
cpdef bint writes(list closure) except -1
@cython.locals(node=Node, old=Node, olds=set)
cpdef set overwritten(list closure)
@cython.locals(node=Node, given=Node, values=list, held=dict, place=Py_ssize_t)
cpdef dict held_by(list nodes)
@cython.locals(target=Node, node=Node, place=Py_ssize_t, named=bint, asked=bint, writing=bint, surviving=bint, again=long, kept=list, olds=set)
cpdef tuple named_and_dear(list closure, list targets)
cdef int learn(Node node) except -1
cdef bint is_carried(Node node) except -1
@cython.locals(reader=Node, given=Node)
cdef bint reads_several(Node node) except -1
@cython.locals(given=Node)
cdef bint saves_a_copy(Node node, set olds) except -1
@cython.locals(node=Node, given=Node, args=tuple)
cdef int count_uses(list closure) except -1
@cython.locals(node=Node, given=Node, place=Py_ssize_t, held=set)
cdef int leave_uses(list closure) except -1
@cython.locals(node=Node, old=Node, found=dict)
cdef dict uses_of_old(list closure)
@cython.locals(node=Node, given=Node, found=dict)
cpdef dict uses_of_ending(list closure, dict uses)
@cython.locals(given=Node, total=long)
cdef long cost_again(Node node) except -3
