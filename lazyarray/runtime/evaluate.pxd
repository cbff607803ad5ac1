# C's side of `evaluate.py`.
cimport cython

from lazyarray.ir.node cimport Key, Node
from lazyarray.runtime.ledger cimport Ledger

cdef Ledger ledger

@cython.locals(absent=list, targets=list, node=Node)
cpdef evaluate(nodes, reason=*, bint alone=*, bint stay=*)
cpdef bint is_pending(Node node)
@cython.locals(outputs=list, sources=list, node=Node)
cpdef evaluate_pending(list targets, reason, bint alone=*)
@cython.locals(closure=list, outputs=list, small=list, readers=list, holders=list, sources=list)
cpdef tuple expression_for(list targets, bint alone, bint unasked=*)
@cython.locals(node=Node)
cpdef run_plan(run, list outputs, tuple wanted)
cpdef settle(Node node, value)
@cython.locals(node=Node)
cpdef tuple sites_of(list sources)
