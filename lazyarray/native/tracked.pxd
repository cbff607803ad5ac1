# C's side of `tracked.py`: what the collector ceases to track is in no list of its, what it tracks then is a young one.
cdef extern from *:
    """
    static int lazyarray_track_again(PyObject *one) {
    #ifdef Py_GIL_DISABLED  /* the collector has no lists there: what is frozen says so itself */
        return 0;
    #else
        if (PyObject_GC_IsTracked(one)) {
            PyObject_GC_UnTrack(one);
            PyObject_GC_Track(one);
        }
        return 1;
    #endif
    }
    """
    bint track_again "lazyarray_track_again" (object one)
