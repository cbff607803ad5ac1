# C's side of `recorded.py`.
cimport cython

from lazyarray.frontend.lent cimport evaluate_lent, lent_operand, lent_turned, map_of_turned
from lazyarray.frontend.quick cimport BINARY, Fields, Known, Op, REFLECTED, UNARY, find_key, in_range, known, managed
from lazyarray.frontend.quick cimport node_of, operand_of, record_node, turned_value
from lazyarray.ir.node cimport Key, Node, Waiting, finish_waiting
from lazyarray.native.primitives cimport site_here

cdef Waiting _waiting

cdef Node _node_of(Key key, tuple args, site, bint lent)

@cython.locals(own=Node, right=Node, second=Fields, lent=bint)
cdef record_turned(Op op, Fields self, other, int form, site)
@cython.locals(value=Node, key=Key, lent=bint)
cpdef record_unary(Op op, Fields self, site)
@cython.locals(left=Node, right=Node, second=Fields, key=Key, lent=bint)
cpdef record_binary(Op op, Fields self, other, int plain, int compiled)
@cython.locals(right=Node, key=Key, lent=bint)
cpdef record_reflected(Op op, Fields self, number)
@cython.locals(value=Node, left=Node, right=Node, node=Node)
cpdef bint write_into(Op op, Fields out, Fields self, other, int form, int plain, int compiled) except -1
