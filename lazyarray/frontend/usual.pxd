# C's side of `usual.py`.
cimport cython

from lazyarray.frontend.quick cimport BINARY, Fields, Known, Limits, Op, REFLECTED, UNARY, in_range, known, limits, node_of, operand_of
from lazyarray.frontend.quick cimport own_of, own_of_floats, record_node, wrapped
from lazyarray.frontend.lent cimport update_lent
from lazyarray.frontend.recorded cimport record_binary, record_reflected, record_unary
from lazyarray.frontend.small cimport listed
from lazyarray.ir.node cimport Key, Node, Waiting, finish_waiting
from lazyarray.native.loops cimport doubles_of, run_binary, run_into, run_numbers, run_unary
from lazyarray.native.primitives cimport bytes_of_memory, holds_in_c_order, kind_of_memory, same_shape, site_here, size_of_memory, span_here

cdef type _nparray
cdef Waiting _waiting
cdef dict _spans
cdef Py_ssize_t _PER, _ROW_COST, _SHORT_ROW

@cython.locals(
    size=Py_ssize_t, rows=Py_ssize_t, row=Py_ssize_t, extent=Py_ssize_t, other=Py_ssize_t, place=Py_ssize_t,
    lead=Py_ssize_t, way=int, here=int, turns=int,
)
cpdef Py_ssize_t broadcast_cost(tuple a, tuple b, bint joined=*)

cpdef of_float(Op op, number)
cpdef of_floats(Op op, x, y)
cpdef of_complex(Op op, x, y)
@cython.locals(few=bint, joined=bint)
cdef bint _spreads(a, b, Py_ssize_t n, Py_ssize_t m) except -1
cdef _of_listed(Op op, a, other, bint reflected)
@cython.locals(m=Py_ssize_t)
cpdef bint lies_beside(a, Py_ssize_t n, other) except -1
@cython.locals(n=Py_ssize_t)
cpdef of_memory(Op op, a, b)
@cython.locals(large=bint)
cpdef unary(Op op, Fields self, int plain, int compiled)
@cython.locals(limit=Py_ssize_t, n=Py_ssize_t, m=Py_ssize_t, right=Fields, plainly=bint, gaps=bint)
cpdef binary(Op op, Fields self, other, int plain, int compiled)
@cython.locals(span=int)
cpdef join(Op op, Fields self, other, int form, int plain, int compiled)
@cython.locals(large=bint)
cpdef reflected(Op op, Fields self, other)
cpdef raised(Op op, base, exponent)
cpdef of_left(Op op, number, Fields self)
cpdef of_number(Op op, Fields self, number)
@cython.locals(limit=Py_ssize_t, left=Node, node=Node, second=Fields, value=Node)
cpdef in_place(Op op, Fields self, other)
