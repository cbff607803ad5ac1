# C's side of `node.py`: the fields that the other hot modules reach without a look-up.
cimport cython


cdef long long _sequence

cpdef long long next_sequence() except -1

cdef class Key

cdef class Spec:
    cdef public object shape, dtype, code, size, nbytes, ndim
    cdef public Key leaf


cdef class Key:
    cdef public object kind, attr, entry
    cdef public Spec spec
    cdef public int raises, cost
    cdef public bint reads_all, writes


cdef class Pinned:
    cdef public long long nbytes, unseen
    cdef public bint due, over

    cpdef clear(self)
    cpdef seen(self)
    cpdef add(self, long long nbytes)

cdef class Waiting:
    cdef public bint open
    cdef public object close

cdef Waiting _waiting

cpdef finish_waiting()
cpdef Spec spec_of(shape, dtype)
cpdef Key leaf_key(Spec spec)
@cython.locals(spec=Spec)
cpdef Node leaf(data)


cdef class Node:
    cdef public Key key
    cdef public object args, data, remote, errors, made, site
    cdef public long long sequence
    cdef public long long mark
    cdef public long visits, place, uses, cost
    cdef object __weakref__
