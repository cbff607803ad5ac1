# Sums, means, spreads and extremes of all of a small array, in NumPy's order, for `direct.pxd`.
from lazyarray.native.masks cimport select_masked

cdef extern from *:
    """
    static PyObject *lazyarray_ufunc_of(const char *name) {
        PyObject *numpy = PyImport_ImportModule("numpy"), *found = numpy ? PyObject_GetAttrString(numpy, name) : NULL;
        Py_XDECREF(numpy);
        return found;  /* kept for good */
    }

    /* A ufunc that is in no public module, in `kept` from the first call on; NULL without an error where this NumPy has
       none there. */
    static PyObject *lazyarray_hidden_ufunc(PyObject **kept, const char *module, const char *name) {
        if (!*kept) {
            PyObject *home = PyImport_ImportModule(module);
            *kept = home ? PyObject_GetAttrString(home, name) : NULL;
            Py_XDECREF(home);
            if (!*kept || !Py_IS_TYPE(*kept, &PyUFunc_Type)) {
                PyErr_Clear();
                Py_INCREF(Py_None);
                Py_XSETREF(*kept, Py_None);
            }
        }
        return *kept == Py_None ? NULL : *kept;
    }

    /* Elements that a loop takes one after another, as NumPy's iterator would have it take them. */
    static int lazyarray_is_line(PyArrayObject *a) {
        int type = PyArray_TYPE(a);
        return lazyarray_is_plain_type(type) && PyArray_DESCR(a) == lazyarray_own(type) && PyArray_ISALIGNED(a)
            && PyArray_NDIM(a) && PyArray_SIZE(a) && (PyArray_NDIM(a) == 1 || PyArray_IS_C_CONTIGUOUS(a));
    }

    /* Runs a ufunc's loop of two operands over elements from `begin` on, into `value`. 0: NumPy is to run, as it is
       where anything was raised, which it then tells. */
    static int lazyarray_fold(PyObject *ufunc, PyArrayObject *a, npy_intp begin, char *value) {
        lazyarray_loop found = lazyarray_loop_of(ufunc, PyArray_TYPE(a));
        npy_intp steps[3] = {0, 0, 0}, count = PyArray_SIZE(a) - begin;
        char *places[3];
        if (!found.loop || found.made != PyArray_TYPE(a)) return 0;
        steps[1] = PyArray_NDIM(a) == 1 ? PyArray_STRIDE(a, 0) : PyArray_ITEMSIZE(a);
        places[0] = places[2] = value;
        places[1] = PyArray_BYTES(a) + begin * steps[1];
        if (count) {
            lazyarray_forget_errors();
            (*found.loop)(places, &count, steps, found.data);
            return lazyarray_is_quiet(LAZYARRAY_ERRORS);
        }
        return 1;
    }

    static PyObject *lazyarray_do_extreme(PyObject *ufunc, PyObject *first, size_t count) {
        PyArrayObject *a = (PyArrayObject *)first;
        double value[2];
        if (count || !ufunc || !lazyarray_is_line(a)) return NULL;
        memcpy(value, PyArray_BYTES(a), PyArray_ITEMSIZE(a));
        if (!lazyarray_fold(ufunc, a, 1, (char *)value)) return NULL;
        return PyArray_Scalar(value, PyArray_DESCR(a), NULL);
    }

    static PyObject *lazyarray_do_max(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        static PyObject *maximum = NULL;
        (void)rest, (void)limit;
        if (!maximum && !(maximum = lazyarray_ufunc_of("maximum"))) return NULL;
        return lazyarray_do_extreme(maximum, first, count);
    }

    static PyObject *lazyarray_do_min(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        static PyObject *minimum = NULL;
        (void)rest, (void)limit;
        if (!minimum && !(minimum = lazyarray_ufunc_of("minimum"))) return NULL;
        return lazyarray_do_extreme(minimum, first, count);
    }

    /* Sums of integers, whose order changes nothing; several side by side, so that none waits for the one before. */
    #define LAZYARRAY_TOTAL(NAME, WITH, KIND) \\
        WITH LAZYARRAY_VECTORS static npy_uint64 lazyarray_total_##NAME(const char *given, npy_intp step, npy_intp count) { \\
            npy_uint64 totals[16] = {0}, total = 0; \\
            const KIND *at = (const KIND *)given; \\
            npy_intp k = 0, j; \\
            if (step == (npy_intp)sizeof(KIND)) \\
                for (; k + 16 <= count; k += 16) \\
                    for (j = 0; j < 16; j++) totals[j] += (npy_uint64)(npy_int64)at[k + j]; \\
            for (; k < count; k++) total += (npy_uint64)(npy_int64)*(const KIND *)(given + k * step); \\
            for (j = 0; j < 16; j++) total += totals[j]; \\
            return total; \\
        }
    #define LAZYARRAY_TOTALS(NAME, KIND) \\
        LAZYARRAY_TOTAL(NAME, , KIND) \\
        LAZYARRAY_TOTAL(NAME##_avx2, LAZYARRAY_AVX2, KIND)
    LAZYARRAY_TOTALS(byte, npy_byte)
    LAZYARRAY_TOTALS(ubyte, npy_ubyte)
    LAZYARRAY_TOTALS(short, npy_short)
    LAZYARRAY_TOTALS(ushort, npy_ushort)
    LAZYARRAY_TOTALS(int, npy_int)
    LAZYARRAY_TOTALS(uint, npy_uint)
    LAZYARRAY_TOTALS(long, npy_long)
    LAZYARRAY_TOTALS(ulong, npy_ulong)

    /* The sum of integers; 0 for other types. */
    static int lazyarray_total_of(PyArrayObject *a, npy_uint64 *total) {
        npy_uint64 (*run)(const char *, npy_intp, npy_intp) = NULL;
        int wide = LAZYARRAY_HAS_AVX2;
        switch (PyArray_TYPE(a)) {
            case NPY_BYTE: run = wide ? lazyarray_total_byte_avx2 : lazyarray_total_byte; break;
            case NPY_UBYTE: run = wide ? lazyarray_total_ubyte_avx2 : lazyarray_total_ubyte; break;
            case NPY_SHORT: run = wide ? lazyarray_total_short_avx2 : lazyarray_total_short; break;
            case NPY_USHORT: run = wide ? lazyarray_total_ushort_avx2 : lazyarray_total_ushort; break;
            case NPY_INT: run = wide ? lazyarray_total_int_avx2 : lazyarray_total_int; break;
            case NPY_UINT: run = wide ? lazyarray_total_uint_avx2 : lazyarray_total_uint; break;
            case NPY_LONG: run = wide ? lazyarray_total_long_avx2 : lazyarray_total_long; break;
            case NPY_ULONG: run = wide ? lazyarray_total_ulong_avx2 : lazyarray_total_ulong; break;
        }
        if (!run) return 0;
        *total = run(PyArray_BYTES(a), PyArray_NDIM(a) == 1 ? PyArray_STRIDE(a, 0) : PyArray_ITEMSIZE(a), PyArray_SIZE(a));
        return 1;
    }

    /* The sum of floating-point elements in NumPy's order. It starts from zero, as there. */
    static int lazyarray_add_up(PyArrayObject *a, double *value) {
        static PyObject *add = NULL;
        if (!lazyarray_is_inexact(PyArray_TYPE(a))) return 0;
        if (!add && !(add = lazyarray_ufunc_of("add"))) return 0;
        if (PyArray_TYPE(a) == NPY_FLOAT || PyArray_TYPE(a) == NPY_CFLOAT)
            ((float *)value)[0] = ((float *)value)[1] = 0.0f;
        else value[0] = value[1] = 0.0;
        return lazyarray_fold(add, a, 0, (char *)value);
    }

    static PyObject *lazyarray_do_sum(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        npy_uint64 total;
        double value[2];
        (void)rest, (void)limit;
        if (count) return NULL;
        if (lazyarray_is_mask(a)) {
            total = (npy_uint64)lazyarray_count_true(a);
            return PyArray_Scalar(&total, lazyarray_own(NPY_LONG), NULL);
        }
        if (sizeof(npy_long) != sizeof total || !lazyarray_is_line(a)) return NULL;
        if (lazyarray_total_of(a, &total))
            return PyArray_Scalar(&total, lazyarray_own(PyArray_ISSIGNED(a) ? NPY_LONG : NPY_ULONG), NULL);
        return lazyarray_add_up(a, value) ? PyArray_Scalar(value, PyArray_DESCR(a), NULL) : NULL;
    }

    /* As `_mean` in NumPy's numpy/_core/_methods.py. Integers of up to 32 bits are added up exactly there, too. */
    static PyObject *lazyarray_do_mean(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *a = (PyArrayObject *)first;
        npy_uint64 total;
        double value[2];
        float *narrow = (float *)value;
        int type = PyArray_TYPE(a);
        (void)rest, (void)limit;
        if (count || !PyArray_SIZE(a)) return NULL;
        if (lazyarray_is_mask(a)) value[0] = (double)lazyarray_count_true(a) / (double)PyArray_SIZE(a);
        else if (!lazyarray_is_line(a)) return NULL;
        else if (type == NPY_DOUBLE || type == NPY_FLOAT) {
            if (!lazyarray_add_up(a, value)) return NULL;
            if (type == NPY_DOUBLE) value[0] /= (double)PyArray_SIZE(a);
            else narrow[0] /= (float)PyArray_SIZE(a);
            if (!lazyarray_is_quiet(LAZYARRAY_ERRORS)) return NULL;
            return PyArray_Scalar(value, PyArray_DESCR(a), NULL);
        }
        else if (PyArray_ITEMSIZE(a) > 4 || !lazyarray_total_of(a, &total)) return NULL;
        else value[0] = (double)(npy_int64)total / (double)PyArray_SIZE(a);
        lazyarray_forget_errors();
        return PyArray_Scalar(value, lazyarray_own(NPY_DOUBLE), NULL);
    }

    /* An array as blocks of lines of places: what is folded is the middle one of three axes. */
    typedef struct { npy_intp outer, extent, inner; } lazyarray_blocks;

    /* 0: an axis, or an array, that NumPy is asked about. */
    static int lazyarray_blocks_of(PyArrayObject *a, long axis, lazyarray_blocks *found) {
        int rank = PyArray_NDIM(a), place;
        if (axis < 0) axis += rank;
        if (axis < 0 || axis >= rank || rank < 2 || rank > LAZYARRAY_AXES || !lazyarray_is_line(a)) return 0;
        found->outer = found->inner = 1;
        found->extent = PyArray_DIM(a, axis);
        for (place = 0; place < axis; place++) found->outer *= PyArray_DIM(a, place);
        for (place = (int)axis + 1; place < rank; place++) found->inner *= PyArray_DIM(a, place);
        return 1;
    }

    #define LAZYARRAY_DEVIATIONS(NAME, WITH, KIND) \\
        WITH LAZYARRAY_VECTORS static void lazyarray_deviations_##NAME( \\
            char *made, const char *given, const char *means, const lazyarray_blocks *blocks \\
        ) { \\
            KIND *restrict to = (KIND *)made; \\
            const KIND *restrict from = (const KIND *)given, *restrict mean = (const KIND *)means; \\
            npy_intp outer, k, j; \\
            for (outer = 0; outer < blocks->outer; outer++, mean += blocks->inner) { \\
                if (blocks->inner == 1) { \\
                    for (k = 0; k < blocks->extent; k++) to[k] = (from[k] - mean[0]) * (from[k] - mean[0]); \\
                    to += blocks->extent; \\
                    from += blocks->extent; \\
                } else for (k = 0; k < blocks->extent; k++, to += blocks->inner, from += blocks->inner) \\
                    for (j = 0; j < blocks->inner; j++) to[j] = (from[j] - mean[j]) * (from[j] - mean[j]); \\
            } \\
        }
    LAZYARRAY_BOTH(LAZYARRAY_DEVIATIONS, double, double)
    LAZYARRAY_BOTH(LAZYARRAY_DEVIATIONS, float, float)

    /* As `_var` and `_std` there, of all of an array of floats. Quotients in float64 have float32's bits once they are
       rounded to that. */
    static PyObject *lazyarray_spread_of(PyArrayObject *a, int root) {
        int wide = PyArray_TYPE(a) == NPY_DOUBLE;
        lazyarray_blocks all = {1, PyArray_SIZE(a), 1};
        double value[2], count = (double)all.extent;
        float *narrow = (float *)value;
        PyArrayObject *squares;
        if ((!wide && PyArray_TYPE(a) != NPY_FLOAT) || !lazyarray_is_line(a) || !PyArray_IS_C_CONTIGUOUS(a)) return NULL;
        if (!lazyarray_add_up(a, value)) return NULL;
        if (!(squares = (PyArrayObject *)lazyarray_new(PyArray_TYPE(a), 1, &all.extent))) return NULL;
        if (wide) value[0] /= count;
        else narrow[0] = (float)(narrow[0] / count);
        (wide ? LAZYARRAY_PICK(deviations, double) : LAZYARRAY_PICK(deviations, float))(
            PyArray_BYTES(squares), PyArray_BYTES(a), (char *)value, &all);
        if (fetestexcept(LAZYARRAY_ERRORS) || !lazyarray_add_up(squares, value)) {
            feclearexcept(LAZYARRAY_ERRORS);
            Py_DECREF(squares);
            return NULL;
        }
        Py_DECREF(squares);
        if (wide) value[0] = root ? sqrt(value[0] / count) : value[0] / count;
        else {
            narrow[0] = (float)(narrow[0] / count);
            if (root) narrow[0] = sqrtf(narrow[0]);
        }
        if (fetestexcept(LAZYARRAY_ERRORS) || npy_isnan(wide ? value[0] : narrow[0])) {
            feclearexcept(LAZYARRAY_ERRORS);
            return NULL;
        }
        return PyArray_Scalar(value, PyArray_DESCR(a), NULL);
    }

    static PyObject *lazyarray_do_var(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        (void)rest, (void)limit;
        return count ? NULL : lazyarray_spread_of((PyArrayObject *)first, 0);
    }

    static PyObject *lazyarray_do_std(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        (void)rest, (void)limit;
        return count ? NULL : lazyarray_spread_of((PyArrayObject *)first, 1);
    }

    static PyObject *lazyarray_truth(int value) {
        npy_bool found = value != 0;
        return PyArray_Scalar(&found, lazyarray_own(NPY_BOOL), NULL);
    }

    static PyObject *lazyarray_do_any(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *mask = (PyArrayObject *)first;
        (void)rest, (void)limit;
        return count || !lazyarray_is_mask(mask) ? NULL : lazyarray_truth(!lazyarray_is_uniform(mask, 0));
    }

    static PyObject *lazyarray_do_all(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *mask = (PyArrayObject *)first;
        (void)rest, (void)limit;
        if (count || !lazyarray_is_mask(mask)) return NULL;
        return lazyarray_truth(lazyarray_is_uniform(mask, 1));
    }
    """
    object ufunc_of "lazyarray_ufunc_of" (const char *name)
