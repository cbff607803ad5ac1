# C's side of `recipes.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields, Known, Limits, known, limits, managed, operand_of, record_node, record_silent
from lazyarray.frontend.lent cimport stand_in
from lazyarray.ir.node cimport Key, Node, Spec, spec_of
from lazyarray.native.primitives cimport holds_in_c_order, site_outside, size_of_memory
from lazyarray.runtime.evaluate cimport evaluate


cdef class Step:
    cdef public Key key
    cdef public tuple places, constants
    cdef public bint silent

cdef class Recipes:
    cdef public object function
    cdef public dict known
    cdef public Py_ssize_t operands, lent
    cdef public bint mixed, there

    cpdef call(self, tuple args, dict kwargs)

cdef class Shown:
    cdef public list arrays, others

    cpdef of_all(self, tuple args, dict kwargs, site, Py_ssize_t read)
    @cython.locals(at=Py_ssize_t, before=Py_ssize_t)
    cpdef of(self, item, site)
    @cython.locals(node=Node)
    cdef bint is_new(self, result, list pending) except -1

cdef class Lending:
    cdef public object function
    cdef public Py_ssize_t read

    cpdef call(self, tuple args, dict kwargs)

cpdef at_once(Shown shown, result, function, tuple args, dict kwargs)
@cython.locals(node=Node)
cdef Node _node_under(Fields array)
@cython.locals(at=Py_ssize_t, arrays=int)
cpdef token_of(tuple args, dict kwargs, list nodes, Py_ssize_t operands, bint mixed)
cdef bint _describe(item, list found, list nodes, int arrays) except -1
@cython.locals(size=Py_ssize_t, spec=Spec)
cdef bint _describe_small(Fields array, list found, list nodes) except -1
@cython.locals(node=Node, at=Py_ssize_t)
cdef bint _describe_array(Fields array, list found, list nodes, bint mixed) except -1
@cython.locals(node=Node)
cdef bint are_there(list nodes) except -1
@cython.locals(step=Step, args=list, place=Py_ssize_t, at=Py_ssize_t, steps=tuple)
cdef follow(recipe, list nodes)
cpdef learn(Recipes recipes, token, list nodes, tuple args, dict kwargs)
