# Sums, means and extremes of all of a small array, with NumPy's own loops, for `direct.pxd`.
from lazyarray.native.masks cimport select_masked

cdef extern from *:
    """
    static PyObject *lazyarray_ufunc_of(const char *name) {
        PyObject *numpy = PyImport_ImportModule("numpy"), *found = numpy ? PyObject_GetAttrString(numpy, name) : NULL;
        Py_XDECREF(numpy);
        return found;  /* kept for good */
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
        int raised = 0;
        if (!found.loop || found.made != PyArray_TYPE(a)) return 0;
        steps[1] = PyArray_NDIM(a) == 1 ? PyArray_STRIDE(a, 0) : PyArray_ITEMSIZE(a);
        places[0] = places[2] = value;
        places[1] = PyArray_BYTES(a) + begin * steps[1];
        if (count) {
            lazyarray_forget_errors();
            (*found.loop)(places, &count, steps, found.data);
            raised = fetestexcept(LAZYARRAY_ERRORS);
            if (raised) feclearexcept(LAZYARRAY_ERRORS);
        }
        return !raised;
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
            if (fetestexcept(LAZYARRAY_ERRORS)) { feclearexcept(LAZYARRAY_ERRORS); return NULL; }
            return PyArray_Scalar(value, PyArray_DESCR(a), NULL);
        }
        else if (PyArray_ITEMSIZE(a) > 4 || !lazyarray_total_of(a, &total)) return NULL;
        else value[0] = (double)(npy_int64)total / (double)PyArray_SIZE(a);
        lazyarray_forget_errors();
        return PyArray_Scalar(value, lazyarray_own(NPY_DOUBLE), NULL);
    }

    /* Along an axis alone (`axes.pxd`). */
    static PyObject *lazyarray_do_var(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        (void)first, (void)rest, (void)count, (void)limit;
        return NULL;
    }

    static PyObject *lazyarray_do_std(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        (void)first, (void)rest, (void)count, (void)limit;
        return NULL;
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
