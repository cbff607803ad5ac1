# C's side of `running.py`.
cimport cython

from lazyarray.ir.node cimport Node
from lazyarray.runtime.run cimport AnyRun
from lazyarray.runtime.settling cimport hand_out

cdef class Settings:
    cdef public object backend
    cdef public bint away, exact, home, progress
    cdef public long changes, tries

    cpdef work_out(self)

cdef class Running:
    cdef public long depth
    cdef public unsigned long thread
    cdef public set apart

    cpdef bint here(self) except -1

cdef list _runs, _runs_there, _under_way
cdef Running _running
cdef Settings settings

cdef bint is_planned(signature) except -1
cdef enter()
cdef leave()
cdef AnyRun run_there(plan, list sources, device, uses)
cdef AnyRun run_of(plan, list sources, backend, uses)
@cython.locals(finished=bint)
cpdef run_plan(AnyRun run, list outputs, tuple wanted)
