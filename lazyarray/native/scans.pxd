# Running sums and products of a small array, for `direct.pxd`.
from lazyarray.native.folds cimport ufunc_of

cdef extern from *:
    """
    /* Running results along the middle axis, in the order of elements: NumPy's loop hands each on through memory. */
    #define LAZYARRAY_SCAN(NAME, WITH, FROM, TO, ROUND, OP) \\
        WITH LAZYARRAY_VECTORS static void lazyarray_scan_##NAME( \\
            char *made, const char *given, const lazyarray_blocks *blocks \\
        ) { \\
            TO *restrict to = (TO *)made; \\
            const FROM *restrict from = (const FROM *)given; \\
            npy_intp outer, k, j, inner = blocks->inner; \\
            for (outer = 0; outer < blocks->outer; outer++) { \\
                if (inner == 1) { \\
                    TO last = (TO)(ROUND)*from++; \\
                    *to++ = last; \\
                    for (k = 1; k < blocks->extent; k++) *to++ = last = last OP (TO)(ROUND)*from++; \\
                    continue; \\
                } \\
                for (j = 0; j < inner; j++) to[j] = (TO)(ROUND)from[j]; \\
                for (k = 1, to += inner, from += inner; k < blocks->extent; k++, to += inner, from += inner) { \\
                    const TO *last = to - inner; \\
                    TO *next = to; \\
                    for (j = 0; j < inner; j++) next[j] = last[j] OP (TO)(ROUND)from[j]; \\
                } \\
            } \\
        }
    #define LAZYARRAY_SCANS(NAME, FROM, TO, ROUND) \\
        LAZYARRAY_BOTH(LAZYARRAY_SCAN, sum_##NAME, FROM, TO, ROUND, +) \\
        LAZYARRAY_BOTH(LAZYARRAY_SCAN, product_##NAME, FROM, TO, ROUND, *)
    LAZYARRAY_SCANS(double, double, double, double)
    LAZYARRAY_SCANS(float, float, float, float)
    LAZYARRAY_SCANS(bool, npy_bool, npy_ulong, npy_ulong)
    LAZYARRAY_SCANS(byte, npy_byte, npy_ulong, npy_long)
    LAZYARRAY_SCANS(ubyte, npy_ubyte, npy_ulong, npy_ulong)
    LAZYARRAY_SCANS(short, npy_short, npy_ulong, npy_long)
    LAZYARRAY_SCANS(ushort, npy_ushort, npy_ulong, npy_ulong)
    LAZYARRAY_SCANS(int, npy_int, npy_ulong, npy_long)
    LAZYARRAY_SCANS(uint, npy_uint, npy_ulong, npy_ulong)
    LAZYARRAY_SCANS(long, npy_ulong, npy_ulong, npy_ulong)

    typedef void (*lazyarray_scan)(char *, const char *, const lazyarray_blocks *);

    #define LAZYARRAY_ONE_SCAN(TYPE, NAME) case TYPE: \\
        return product ? LAZYARRAY_PICK(scan, product_##NAME) : LAZYARRAY_PICK(scan, sum_##NAME);

    /* `made`: the type of the result, NumPy's for sums and products: of integers the widest. NULL for other types. */
    static lazyarray_scan lazyarray_scan_of(int type, int product, int *made) {
        int inexact = type == NPY_DOUBLE || type == NPY_FLOAT;
        *made = inexact ? type : PyTypeNum_ISUNSIGNED(type) ? NPY_ULONG : NPY_LONG;
        if (!inexact && sizeof(npy_long) != 8) return NULL;
        switch (type) {
            LAZYARRAY_ONE_SCAN(NPY_DOUBLE, double)
            LAZYARRAY_ONE_SCAN(NPY_FLOAT, float)
            LAZYARRAY_ONE_SCAN(NPY_BOOL, bool)
            LAZYARRAY_ONE_SCAN(NPY_BYTE, byte)
            LAZYARRAY_ONE_SCAN(NPY_UBYTE, ubyte)
            LAZYARRAY_ONE_SCAN(NPY_SHORT, short)
            LAZYARRAY_ONE_SCAN(NPY_USHORT, ushort)
            LAZYARRAY_ONE_SCAN(NPY_INT, int)
            LAZYARRAY_ONE_SCAN(NPY_UINT, uint)
            LAZYARRAY_ONE_SCAN(NPY_LONG, long)
            LAZYARRAY_ONE_SCAN(NPY_ULONG, long)
        }
        return NULL;
    }

    /* NULL without an error: NumPy is to run. */
    static PyArrayObject *lazyarray_scan_blocks(
        PyArrayObject *a, const lazyarray_blocks *blocks, int rank, npy_intp *dims, int product
    ) {
        int type, raised;
        lazyarray_scan run = lazyarray_scan_of(PyArray_TYPE(a), product, &type);
        PyArrayObject *made;
        if (!run || !PyArray_IS_C_CONTIGUOUS(a)) return NULL;
        if (!(made = (PyArrayObject *)lazyarray_new(type, rank, dims))) return NULL;
        lazyarray_forget_errors();
        {
            NPY_BEGIN_THREADS_DEF;
            if (PyArray_SIZE(a) >= LAZYARRAY_UNHELD) { NPY_BEGIN_THREADS; }
            run(PyArray_BYTES(made), PyArray_BYTES(a), blocks);
            NPY_END_THREADS;
        }
        raised = fetestexcept(LAZYARRAY_ERRORS);
        if (raised && lazyarray_tell("accumulate", raised) < 0) Py_CLEAR(made);
        return made;
    }

    static PyArrayObject *lazyarray_scan_along(PyArrayObject *a, long axis, int product) {
        lazyarray_blocks blocks;
        if (!lazyarray_blocks_of(a, axis, &blocks)) return NULL;
        return lazyarray_scan_blocks(a, &blocks, PyArray_NDIM(a), PyArray_DIMS(a), product);
    }

    static PyObject *lazyarray_scan_all(PyArrayObject *a, size_t count, int product) {
        lazyarray_blocks all = {1, PyArray_SIZE(a), 1};
        if (count || !lazyarray_is_line(a)) return NULL;
        return (PyObject *)lazyarray_scan_blocks(a, &all, 1, &all.extent, product);
    }

    static PyObject *lazyarray_do_cumsum(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        (void)rest, (void)limit;
        return lazyarray_scan_all((PyArrayObject *)first, count, 0);
    }

    static PyObject *lazyarray_do_cumprod(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        (void)rest, (void)limit;
        return lazyarray_scan_all((PyArrayObject *)first, count, 1);
    }
    """
    object scan_all "lazyarray_scan_all" (object a, size_t count, int product)
