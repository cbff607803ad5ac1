# C's side of `evaluate.py`.
cimport cython

from lazyarray.ir.node cimport Key, Node

@cython.locals(targets=list)
cpdef evaluate(nodes, reason=*, bint alone=*)
@cython.locals(closure=list, outputs=list, extra=list, sources=list)
cpdef evaluate_pending(list targets, reason, bint alone=*)
@cython.locals(node=Node)
cpdef run_plan(run, list outputs)
cpdef settle(Node node, value)
