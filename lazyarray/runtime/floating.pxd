# C's side of `floating.py`.

cdef class Last:
    cdef public object waits
