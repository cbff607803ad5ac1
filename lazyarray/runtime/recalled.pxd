# C's side of `recalled.py`.
cimport cython

from lazyarray.ir.node cimport Key, Node, Spec
from lazyarray.native.primitives cimport count
from lazyarray.runtime.run cimport AnyDirect

cdef long ALONE

cdef Py_ssize_t _count_of_item(list nodes, Py_ssize_t place)

cdef class Step:
    cdef public Key key
    cdef public tuple args
    cdef public long numbers, place, uses
    cdef public bint asked, left, named, visited

cdef class Recalled:
    cdef public object plan, wanted
    cdef public list _asked, _heirs, _leaves, _olds, _outputs, _steps
    cdef public Py_ssize_t _size
    cdef public bint indirect, reduces, writes
    cdef public AnyDirect direct

    cpdef prepare(self, backend)
    @cython.locals(place=Py_ssize_t, uses=Py_ssize_t)
    cpdef bint ends(self, list sources) except -1
    @cython.locals(found=list, at=Py_ssize_t, place=Py_ssize_t, step=Step, node=Node, mark=cython.longlong)
    cpdef list match(self, list targets)
    @cython.locals(step=Step)
    cpdef list nodes_of(self, list sources)
    @cython.locals(place=Py_ssize_t)
    cpdef list outputs_of(self, list sources, list targets)
    cpdef dict uses_of(self, list sources)
    @cython.locals(step=Step, node=Node)
    cpdef leave(self, list sources)

@cython.locals(args=tuple, given=Node, at=Py_ssize_t, place=Py_ssize_t)
cdef bint _take_args(Node node, Step step, list found, long long mark) except -1
