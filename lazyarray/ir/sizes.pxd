# C's side of `sizes.py`.
cpdef draw(tuple signature)
cpdef tuple structure_of(expression)
cdef _drawn(attr, list sizes)
