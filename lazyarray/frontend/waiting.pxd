# C's side of `waiting.py`.
cimport cython

from lazyarray.frontend.pauses cimport is_paused
from lazyarray.frontend.quick cimport REFLECTED, UNARY, Fields, Key, Known, Limits, Node, Op, find_key, in_range, known, limits, managed, new_node, part_in, reordered
from lazyarray.ir.node cimport Spec, Waiting, leaf_key, next_sequence, spec_of
from lazyarray.native.primitives cimport count, create, is_of, present, referent, site_here, span_here, thread_here, weak, whole_of
from lazyarray.runtime.along cimport is_pending
from lazyarray.runtime.evaluate cimport Interpreted, evaluate
from lazyarray.runtime.remote cimport stays_home
from lazyarray.runtime.floating cimport Last


cdef class Run:
    cdef public list leaves, nodes
    cdef public dict stores, takers, windows
    cdef public set counted
    cdef public object code, stored
    cdef public Spec spec
    cdef public unsigned long thread

    cpdef forget(self)
    @cython.locals(spans=tuple)
    cpdef turn_to(self, code)

cdef Run _run
cdef Waiting _waiting
cdef Last _last
cdef object _state
cdef Interpreted _interpreted
cdef dict _pauses, _spans
cdef dict _counted, _renewed, _seen_to_need
cdef int _MOST_TURNS, _NEW_RUNS, _RUNS, _TURNS
cdef int _ARRAY, _LAST, _MASK
cdef Py_ssize_t _ALONE

@cython.locals(thread=cython.ulong, site=tuple)
cpdef start(Op op, Fields self, other, int form, int plain, int compiled)
@cython.locals(span=int)
cpdef go_on(Op op, Fields self, other, int form, int plain, int compiled)
@cython.locals(
    own=Node, right=Node, node=Node, key=Key, entries=list, mine=Py_ssize_t, theirs=Py_ssize_t,
)
cdef _record(Op op, Fields self, other, int form, tuple site, bint going)
cdef _drop(Py_ssize_t place)
@cython.locals(made=tuple)
cdef bint _takes(tuple site, Node node) except -1
cdef bint _is_own(Fields array) except -1
cdef Py_ssize_t _seen(Fields array) except -1
@cython.locals(entries=list, at=Py_ssize_t)
cdef Py_ssize_t _place_of(Node node) except -2
@cython.locals(leaf=Node, node=Node, spec=Spec)
cdef Node _operand(Fields array, site)
@cython.locals(node=Node)
cdef Node lent(Spec spec, whole)
cdef bint _decides(Node node, shape) except -1
@cython.locals(above=Node, below=Node, left=list, parts=int)
cdef int _needed(Node node, int expected, int handed) except -1
cdef int _handed(Node node) except -1
cdef _count_once(Node node, tuple site, int expected, int handed)
cdef _count(tuple site, int needed, int expected)
@cython.locals(node=Node)
cdef _end(Fields array, tuple site, int expected)
cpdef look_back(tuple site)
cdef _note_new_sizes(tuple site, known)
@cython.locals(node=Node, nodes=list)
cpdef close()
@cython.locals(node=Node)
cdef _settle_stored(Fields value)
@cython.locals(made=tuple)
cdef int _expected(Node node) except -1
cdef count_stored(Node node)
