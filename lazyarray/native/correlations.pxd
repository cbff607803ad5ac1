# C's side of `correlations.py`.
from lazyarray.native.lines cimport runner
from lazyarray.native.targets cimport has_avx2

cdef extern from *:
    """
    #define LAZYARRAY_CORRELATED 1024  /* results that a thread takes at once */
    #define LAZYARRAY_FEW_TAPS 11  /* NumPy's loops for no more of them add one product after the other */

    typedef struct lazyarray_correlation {
        lazyarray_shared shared;
        void (*few)(const char *a, const char *v, npy_intp taps, char *out, npy_intp count);
        PyArray_DotFunc *dot;
        const char *a, *v;
        char *out;
        npy_intp many, taps, count, left, itemsize;
    } lazyarray_correlation;

    #define LAZYARRAY_TAPS_1(T) T(0)
    #define LAZYARRAY_TAPS_2(T) LAZYARRAY_TAPS_1(T) T(1)
    #define LAZYARRAY_TAPS_3(T) LAZYARRAY_TAPS_2(T) T(2)
    #define LAZYARRAY_TAPS_4(T) LAZYARRAY_TAPS_3(T) T(3)
    #define LAZYARRAY_TAPS_5(T) LAZYARRAY_TAPS_4(T) T(4)
    #define LAZYARRAY_TAPS_6(T) LAZYARRAY_TAPS_5(T) T(5)
    #define LAZYARRAY_TAPS_7(T) LAZYARRAY_TAPS_6(T) T(6)
    #define LAZYARRAY_TAPS_8(T) LAZYARRAY_TAPS_7(T) T(7)
    #define LAZYARRAY_TAPS_9(T) LAZYARRAY_TAPS_8(T) T(8)
    #define LAZYARRAY_TAPS_10(T) LAZYARRAY_TAPS_9(T) T(9)
    #define LAZYARRAY_TAPS_11(T) LAZYARRAY_TAPS_10(T) T(10)
    #define LAZYARRAY_TAP(J) sum += a[k + (J)] * v[J];
    #define LAZYARRAY_SLIDE(COUNT, TYPE) \\
        case COUNT: \\
            for (k = 0; k < count; k++) { TYPE sum = 0; LAZYARRAY_TAPS_##COUNT(LAZYARRAY_TAP) out[k] = sum; } \\
            break;
    /* `small_correlate` (multiarray/arraytypes.c.src), several results at a time. */
    #define LAZYARRAY_FEW(NAME, WITH, TYPE) \\
        WITH LAZYARRAY_VECTORS static void lazyarray_slide_##NAME( \\
            const char *given, const char *window, npy_intp taps, char *made, npy_intp count \\
        ) { \\
            const TYPE *restrict a = (const TYPE *)given, *restrict v = (const TYPE *)window; \\
            TYPE *restrict out = (TYPE *)made; \\
            npy_intp k; \\
            switch (taps) { \\
                LAZYARRAY_SLIDE(1, TYPE) LAZYARRAY_SLIDE(2, TYPE) LAZYARRAY_SLIDE(3, TYPE) LAZYARRAY_SLIDE(4, TYPE) \\
                LAZYARRAY_SLIDE(5, TYPE) LAZYARRAY_SLIDE(6, TYPE) LAZYARRAY_SLIDE(7, TYPE) LAZYARRAY_SLIDE(8, TYPE) \\
                LAZYARRAY_SLIDE(9, TYPE) LAZYARRAY_SLIDE(10, TYPE) LAZYARRAY_SLIDE(11, TYPE) \\
            } \\
        }
    LAZYARRAY_BOTH(LAZYARRAY_FEW, double, npy_double)
    LAZYARRAY_BOTH(LAZYARRAY_FEW, float, npy_float)
    LAZYARRAY_BOTH(LAZYARRAY_FEW, long, npy_uint64)
    LAZYARRAY_BOTH(LAZYARRAY_FEW, int, npy_uint32)

    static void lazyarray_run_correlation(lazyarray_shared *record, npy_intp begin, npy_intp end) {
        const lazyarray_correlation *c = (const lazyarray_correlation *)record;
        npy_intp k = begin * LAZYARRAY_CORRELATED, stop = end * LAZYARRAY_CORRELATED, size = c->itemsize;
        npy_intp whole = c->left + c->many - c->taps + 1;  /* up to here all of `v` is there */
        if (stop > c->count) stop = c->count;
        while (k < stop) {
            npy_intp at = k - c->left, from = at < 0 ? -at : 0, to = c->many - at, n = 1;
            const char *a = c->a + (at + from) * size;
            char *out = c->out + k * size;
            if (to > c->taps) to = c->taps;
            if (at >= 0 && k < whole) n = (stop < whole ? stop : whole) - k;
            k += n;
            if (c->few && to - from == c->taps) c->few(a, c->v, c->taps, out, n);
            else for (; n; n--, a += size, out += size)
                c->dot((void *)a, size, (void *)(c->v + from * size), size, out, to - from, NULL);
        }
    }

    static PyObject *lazyarray_correlation_of(PyObject *given, PyObject *window, npy_intp left, PyObject *result) {
        PyArrayObject *a = (PyArrayObject *)given, *v = (PyArrayObject *)window, *out = (PyArrayObject *)result;
        lazyarray_correlation *c;
        PyObject *made;
        int type;
        if (!PyArray_API && _import_array() < 0) return NULL;
        type = PyArray_TYPE(a);
        if (PyArray_TYPE(v) != type || PyArray_TYPE(out) != type || PyArray_SIZE(a) < PyArray_SIZE(v)) Py_RETURN_NONE;
        if (!PyArray_ISCARRAY_RO(a) || !PyArray_ISCARRAY_RO(v) || !PyArray_ISCARRAY(out)) Py_RETURN_NONE;
        if (!(made = PyBytes_FromStringAndSize(NULL, sizeof(lazyarray_correlation)))) return NULL;
        c = (lazyarray_correlation *)PyBytes_AS_STRING(made);
        c->many = PyArray_SIZE(a);
        c->taps = PyArray_SIZE(v);
        c->count = PyArray_SIZE(out);
        c->left = left;
        c->itemsize = PyArray_ITEMSIZE(a);
        c->a = PyArray_BYTES(a);
        c->v = PyArray_BYTES(v);
        c->out = PyArray_BYTES(out);
        c->dot = PyDataType_GetArrFuncs(PyArray_DESCR(a))->dotfunc;
        c->few = NULL;
        switch (c->taps <= LAZYARRAY_FEW_TAPS ? type : NPY_NOTYPE) {
            case NPY_DOUBLE: c->few = LAZYARRAY_PICK(slide, double); break;
            case NPY_FLOAT: c->few = LAZYARRAY_PICK(slide, float); break;
            /* Integers wrap, in whatever order they are added. */
            case NPY_INT64: case NPY_UINT64: c->few = LAZYARRAY_PICK(slide, long); break;
            case NPY_INT32: case NPY_UINT32: c->few = LAZYARRAY_PICK(slide, int); break;
        }
        c->shared.run = lazyarray_run_correlation;
        c->shared.raised = 0;
        c->shared.count = (c->count + LAZYARRAY_CORRELATED - 1) / LAZYARRAY_CORRELATED;
        return made;
    }
    """
    object correlation_of "lazyarray_correlation_of" (object a, object v, Py_ssize_t left, object out)
