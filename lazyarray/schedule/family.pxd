# C's side of `family.py`.
cimport cython

@cython.locals(at=Py_ssize_t, place=Py_ssize_t, made=list, rises=tuple, parts=tuple)
cpdef filled(part, list steps)
