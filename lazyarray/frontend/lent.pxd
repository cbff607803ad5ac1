# C's side of `lent.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields, Known, Limits, known, limits, managed, Op, part_in, reordered, reshaped_to_turn, shown_of, wrapped
from lazyarray.ir.node cimport Key, Node, Spec, leaf, spec_of
from lazyarray.native.loops cimport run_into
from lazyarray.native.parts cimport read_at, write_at
from lazyarray.native.primitives cimport count, holds_in_c_order, holds_numbers, is_open, selected_by, size_of_memory, whole_of
from lazyarray.runtime.evaluate cimport evaluate
from lazyarray.runtime.ledger cimport Ledger
from lazyarray.runtime.root cimport Root

cdef Ledger ledger
cdef Py_ssize_t _ALONE, _ALONE_BELOW
cdef type _nparray

cdef dict _REVERSED

@cython.locals(base=Root)
cdef _memory_of(Fields array)
cpdef bint is_lent(Fields array) except -1
cpdef read_lent(Fields array, key)
cpdef bint write_lent(Fields array, key, value) except -1
@cython.locals(second=Fields, node=Node)
cpdef bint update_lent(Op op, Fields array, other) except -1
@cython.locals(spec=Spec, node=Node, shown=Node)
cpdef Node lent_operand(Fields array, site)
@cython.locals(spec=Spec, plain=bint)
cpdef Node lent_turned(Fields array, site)
@cython.locals(spec=Spec)
cpdef map_of_turned(Fields array, Node node)
@cython.locals(node=Node)
cpdef stand_in(Fields array, site)
cpdef evaluate_lent(Node node)
cdef Py_ssize_t _seen(Fields array)
cdef Py_ssize_t _seen_below(Fields array)
