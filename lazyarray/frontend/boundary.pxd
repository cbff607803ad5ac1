# C's side of `boundary.py`.
cimport cython

from lazyarray.frontend.quick cimport Fields
from lazyarray.ir.node cimport Node

@cython.locals(nodes=list, pending=list, node=Node)
cpdef evaluate_all(tuple arrays)
@cython.locals(array=Fields, node=Node)
cpdef collect_nodes(items, list nodes)
