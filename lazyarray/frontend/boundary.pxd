# C's side of `boundary.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields
from lazyarray.ir.node cimport Node

@cython.locals(nodes=list)
cpdef evaluate_all(tuple arrays)
@cython.locals(array=Fields, node=Node)
cpdef collect_absent(items, list nodes)
