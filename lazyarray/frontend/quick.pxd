# C's side of `quick.py`.
cimport cython

from lazyarray.frontend.loops cimport Ranged
from lazyarray.ir.node cimport Key, Node, Waiting, leaf, next_sequence, finish_waiting, spec_of
from lazyarray.native.loops cimport run_binary, run_into, run_unary
from lazyarray.native.primitives cimport bytes_of_memory, copy_of, create, holds_in_c_order, same_shape, site_here, size_of_memory, span_here, weak


from lazyarray.runtime.floating cimport Last
from lazyarray.native.recycled cimport quicken, quicken_below, quicken_flat, recent, recycle, reused


cdef class Limits:
    cdef public Py_ssize_t eager, middle

cdef class Op:
    cdef public tuple earlier
    cdef public object compute, in_place, memo, name, own, reflected, slow, swift
    cdef public dict known
    cdef public tuple last
    cdef public bint reads_exponents

cdef class Known:
    cdef public object adopt, array, flat, go_on, is_turned, memory, note_errors, order_of, power, scalar, show, square, start, take, turn, update_key, view_key, wake, window, write_now

cdef class Fields:
    cdef public object _base, _fixed, _map, _np, _part
    cdef public Node _node
    cdef object __weakref__

cdef Limits limits
cdef int UNARY, BINARY, REFLECTED
cdef Known known
cdef type _nparray
cdef object FLOAT64
cdef list _tape
cdef Waiting _waiting
cdef dict _spans
cdef Last _last
cdef object _state
cdef Py_ssize_t _TAPE_LIMIT, _ROW_COST, _HANDED
cdef dict _TURNED, _VIEW_KEYS

@cython.locals(last=tuple, earlier=tuple)
cdef find_key(Op op, left, right)
cdef _own_of(Op op, a, b)

@cython.locals(
    size=Py_ssize_t, rows=Py_ssize_t, extent=Py_ssize_t, other=Py_ssize_t, place=Py_ssize_t, lead=Py_ssize_t, way=int,
    here=int, straight=bint,
)
cpdef Py_ssize_t broadcast_cost(tuple a, tuple b)

cpdef Node record_node(Key key, tuple args, site)
@cython.locals(node=Node)
cpdef Node new_node(Key key, tuple args, site)
@cython.locals(array=Fields)
cpdef managed(Node node)
@cython.locals(array=Fields)
cpdef wrapped(data)
@cython.locals(node=Node, key=Key)
cpdef Node node_of(Fields array, site)
@cython.locals(node=Node)
cpdef Node turned(Fields array)
@cython.locals(own=Node, right=Node, second=Fields)
cdef _record_turned(Op op, Fields self, other, int form, site)
@cython.locals(key=Key)
cpdef Node operand_of(Fields array, site)
@cython.locals(ranged=Ranged)
cdef in_range(key, number)
cpdef of_float(Op op, number)
@cython.locals(value=Node, key=Key, large=bint)
cpdef unary(Op op, Fields self, int plain, int compiled)
@cython.locals(limit=Py_ssize_t, n=Py_ssize_t, m=Py_ssize_t, right=Fields, plainly=bint, gaps=bint)
cpdef binary(Op op, Fields self, other, int plain, int compiled)
@cython.locals(span=int)
cpdef join(Op op, Fields self, other, int form, int plain, int compiled)
@cython.locals(left=Node, right=Node, second=Fields, key=Key)
cdef _record_binary(Op op, Fields self, other, int plain, int compiled)
@cython.locals(large=bint)
cpdef reflected(Op op, Fields self, other)
cpdef raised(Op op, base, exponent)
cpdef of_number(Op op, Fields self, number)
@cython.locals(right=Node, key=Key)
cdef _record_reflected(Op op, Fields self, number)
@cython.locals(limit=Py_ssize_t, left=Node, node=Node, second=Fields, value=Node)
cpdef in_place(Op op, Fields self, other)
@cython.locals(value=Node, left=Node, right=Node, node=Node)
cpdef bint write_into(Op op, Fields out, Fields self, other, int form, int plain, int compiled) except -1
