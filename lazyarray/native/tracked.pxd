# C's side of `tracked.py`: what the collector ceases to track is in no list of its, what it tracks then is a young one.
cdef extern from *:
    """
    static int lazyarray_track_again(PyObject *one) {
        if (PyObject_GC_IsTracked(one)) {
            PyObject_GC_UnTrack(one);
            PyObject_GC_Track(one);
        }
        return 1;
    }
    """
    bint track_again "lazyarray_track_again" (object one)
