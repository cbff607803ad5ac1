# C's side of `recipes.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields, Known, Limits, known, limits, managed, record_node
from lazyarray.frontend.lent cimport evaluate_lent, stand_in
from lazyarray.ir.node cimport Key, Node
from lazyarray.native.primitives cimport site_outside


cdef class Step:
    cdef public Key key
    cdef public tuple places, constants

cdef class Recipes:
    cdef public object function
    cdef public dict known
    cdef public Py_ssize_t operands
    cdef public bint lent, there

    cpdef call(self, tuple args, dict kwargs)

@cython.locals(some=bint)
cdef stand_ins(item, site)
@cython.locals(node=Node)
cpdef at_once(Recipes recipes, others, tuple args, dict kwargs)
@cython.locals(node=Node)
cdef Node _node_under(Fields array)
@cython.locals(at=Py_ssize_t)
cpdef token_of(tuple args, dict kwargs, list nodes, Py_ssize_t operands)
cdef bint _describe(item, list found, list nodes, bint arrays) except -1
@cython.locals(node=Node, at=Py_ssize_t)
cdef bint _describe_array(Fields array, list found, list nodes) except -1
@cython.locals(node=Node)
cdef bint are_there(list nodes) except -1
@cython.locals(step=Step, args=list, place=Py_ssize_t, at=Py_ssize_t, steps=tuple)
cdef follow(recipe, list nodes)
cpdef learn(Recipes recipes, token, list nodes, tuple args, dict kwargs)
