# C's side of `run.py`.

cdef class AnyRun:
    cdef public bint caught_up
    cdef public object launched, over, plan, uses
    cdef public list sources, memory, raised
    cdef public set done
    cdef public dict taken

    cpdef begin(self, plan, list sources, uses)
    cpdef run(self)
