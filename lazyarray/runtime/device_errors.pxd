# C's side of `device_errors.py`.

cdef class Log:
    cdef object _device, _taken, _words
    cdef Py_ssize_t _rows, _width
    cdef list _waiting
    cdef public object address

    cpdef clear(self)
    cpdef queue(self)
    cpdef note(self, list notes)
    cpdef look(self)
