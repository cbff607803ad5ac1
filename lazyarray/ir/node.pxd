# C's side of `node.py`: the fields that the other hot modules reach without a look-up.
cimport cython


cdef class Spec:
    cdef public object shape, dtype, code, size, nbytes, ndim


cdef class Key:
    cdef public object kind, attr, entry
    cdef public Spec spec
    cdef public int raises


cdef class Node:
    cdef public Key key
    cdef public object args, data, errors, made, site
    cdef public long long sequence
    cdef public long visits
    cdef object __weakref__
