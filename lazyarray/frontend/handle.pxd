# C's side of `handle.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields, Known, Limits, UNARY, Op, known, limits, wrapped
from lazyarray.frontend.usual cimport binary, in_place, join, of_left, of_number, raised, reflected, unary
from lazyarray.frontend.measures cimport elements_of
from lazyarray.frontend.lent cimport is_lent, read_lent, write_lent
from lazyarray.frontend.lending cimport lend, overwrite, put_picked, poke, peek, pick
from lazyarray.frontend.unusual cimport Keys, keys
from lazyarray.frontend.small cimport REFUSED, small_items
from lazyarray.ir.node cimport Waiting, finish_waiting
from lazyarray.native.parts cimport pick_at, put_at, read_at, write_at
from lazyarray.native.loops cimport run_unary
from lazyarray.native.products cimport run_product
from lazyarray.native.primitives cimport holds_numbers, item_at, item_of, length_of, put_item, size_of_memory, wrap_slots


cdef class Rows:
    cdef object _data
    cdef Py_ssize_t _place

cdef class Handle(Fields):
    pass

cdef type _nparray
cdef dict _BY_UFUNC
cdef bint _READS_SCALARS
cdef Waiting _waiting
cdef Op ADD, SUBTRACT, MULTIPLY, DIVIDE, FLOOR_DIVIDE, REMAINDER, BITWISE_AND, BITWISE_OR, BITWISE_XOR, LEFT_SHIFT
cdef Op RIGHT_SHIFT, EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, NEGATIVE, POSITIVE, ABSOLUTE, INVERT

cdef bint _is_element(key)
cdef bint is_basic(key)
@cython.locals(found=Fields)
cdef bint _shows(Fields array, key, Fields view)
@cython.locals(place=Py_ssize_t, array=Fields, found=list)
cdef _plain_key(key)
cdef _picked(data, key)
@cython.locals(array=Fields)
cdef _memory_or(value)
