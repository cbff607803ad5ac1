# C's side of `recycled.py`.
cdef extern from *:
    """
    /* Instances of one class, whose fields are objects and weak references alone, made from memory of earlier ones.
       A module of its own for each: only `quick.py` takes this file. */
    #define LAZYARRAY_SPARE 128

    static PyTypeObject *lazyarray_spared = NULL;
    static PyObject *lazyarray_spares[LAZYARRAY_SPARE];
    static int lazyarray_spare = 0;

    static void lazyarray_fill(PyObject *self, PyTypeObject *type) {
        PyObject **field = (PyObject **)((char *)self + sizeof(PyObject));
        PyObject **end = (PyObject **)((char *)self + type->tp_basicsize);
        PyObject **weak = (PyObject **)((char *)self + type->tp_weaklistoffset);
        for (; field < end; field++) {
            if (field == weak) *field = NULL;
            else { Py_INCREF(Py_None); *field = Py_None; }
        }
    }

    static PyObject *lazyarray_reused(PyObject *cls) {
        PyTypeObject *type = (PyTypeObject *)cls;
        PyObject *self;
        if (type != lazyarray_spared || !lazyarray_spare) {
            self = type->tp_alloc(type, 0);
            if (!self) return NULL;
            lazyarray_fill(self, type);
            return self;
        }
        self = lazyarray_spares[--lazyarray_spare];
        lazyarray_fill(self, type);
        PyObject_Init(self, type);
        PyObject_GC_Track(self);
        return self;
    }

    static void lazyarray_dealloc(PyObject *self) {
        PyTypeObject *type = Py_TYPE(self);
        PyObject **field = (PyObject **)((char *)self + sizeof(PyObject));
        PyObject **end = (PyObject **)((char *)self + lazyarray_spared->tp_basicsize);
        PyObject **weak = (PyObject **)((char *)self + lazyarray_spared->tp_weaklistoffset);
        PyObject_GC_UnTrack(self);
        if (*weak) PyObject_ClearWeakRefs(self);
        for (; field < end; field++)
            if (field != weak) Py_CLEAR(*field);
        if (type == lazyarray_spared && lazyarray_spare < LAZYARRAY_SPARE) lazyarray_spares[lazyarray_spare++] = self;
        else type->tp_free(self);
        Py_DECREF(type); /* an instance of a class made by `class` refers to it */
    }

    static int lazyarray_recycle(PyObject *cls) {
    #ifndef Py_GIL_DISABLED
        PyTypeObject *type = (PyTypeObject *)cls;
        if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !PyType_IS_GC(type) || !type->tp_weaklistoffset || type->tp_itemsize
            || type->tp_finalize || (type->tp_basicsize - sizeof(PyObject)) % sizeof(PyObject *)) return 0;
        lazyarray_spared = type;
        type->tp_dealloc = lazyarray_dealloc;
    #endif
        return 0;
    }
    """
    object reused "lazyarray_reused" (object cls)
    int recycle "lazyarray_recycle" (object cls) except -1
