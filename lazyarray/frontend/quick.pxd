# C's side of `quick.py`.
cimport cython

from lazyarray.frontend.loops cimport Ranged
from lazyarray.ir.node cimport Key, Node, leaf, next_sequence, finish_waiting, spec_of
from lazyarray.native.primitives cimport copy_of, create, holds_in_c_order, kind_of_memory, part_of, present, size_of_memory, token_of, weak
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
    cdef public object adopt, array, flat, go_on, is_unaware, memory, note_errors, order_of, part_key, power, put_waiting, read_present, scalar, show, square, start, take, take_over, turn, unaware, update_key, view_key, wake, way_turned, window, write_now

cdef class Fields:
    cdef public object _base, _fixed, _map, _np, _part
    cdef public Node _node
    cdef object __weakref__

cdef Limits limits
cdef int UNARY, BINARY, REFLECTED
cdef Known known
cdef type _nparray
cdef object COMPLEX128, FLOAT64, INT64, _ZERO
cdef list _tape
cdef Last _last
cdef object _state
cdef Py_ssize_t _TAPE_LIMIT
cdef dict KINDS, _PARTS, _TURNED, _VIEW_KEYS
cdef object _ALL, _NEW

@cython.locals(last=tuple, earlier=tuple)
cdef find_key(Op op, left, right)
cdef own_of_floats(Op op, bint two)
@cython.locals(first=int, second=int)
cdef own_of(Op op, a, b)
cdef _own_of_floats(Op op, a, b)

cpdef Node record_node(Key key, tuple args, site)
@cython.locals(node=Node)
cpdef Node new_node(Key key, tuple args, site)
@cython.locals(node=Node)
cpdef Node record_silent(Key key, tuple args, site)
@cython.locals(node=Node)
cdef Node _put(Key key, tuple args, site)
@cython.locals(array=Fields)
cpdef managed(Node node)
@cython.locals(array=Fields)
cpdef wrapped(data)
@cython.locals(node=Node)
cpdef Node node_of(Fields array, site)
@cython.locals(key=Key)
cpdef Node shown_of(Fields array, Node node, site)
cpdef Node part_in(Node leaf, data, site)
cdef _key_of_part(spec, part)
@cython.locals(outer=Py_ssize_t, step=Py_ssize_t)
cpdef bint reordered(Node node) except -1
@cython.locals(node=Node)
cpdef Node turned(Fields array)
@cython.locals(node=Node)
cpdef Node turned_value(Fields array, site)
@cython.locals(node=Node)
cdef Node _value_under(Fields array)
cpdef Node reshaped_to_turn(Fields array, Node node, site)
cpdef way_turned(Fields array, spec)
@cython.locals(key=Key)
cpdef Node operand_of(Fields array, site)
@cython.locals(ranged=Ranged)
cdef in_range(key, number)
