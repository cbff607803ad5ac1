# C's side of `unusual.py`.
cdef class Keys:
    cdef public object copy, transpose, divmod, iterate, ufunc, element, get, matmul, matmul_in_place, pick, power, power_in_place, product, put, put_any
    cdef public object reflected_divmod, reflected_matmul, reflected_power, slice_at, take_over, turned, view_at

cdef Keys keys
