# C's side of `searches.py`.
from lazyarray.native.lines cimport runner
from lazyarray.native.targets cimport has_avx2

cdef extern from *:
    """
    #define LAZYARRAY_SEARCHED 16  /* values at once: while memory answers one, the others ask */
    #define LAZYARRAY_SEARCH_PART 256  /* values that a thread takes at once */

    typedef struct lazyarray_search {
        lazyarray_shared shared;
        void (*find)(const struct lazyarray_search *search, npy_intp first, npy_intp n);
        const char *keys, *values;
        char *out;
        npy_intp many, count;
        const double *heights, *slopes;
        double left, right;
    } lazyarray_search;

    static void lazyarray_run_search(lazyarray_shared *record, npy_intp begin, npy_intp end) {
        const lazyarray_search *search = (const lazyarray_search *)record;
        npy_intp first = begin * LAZYARRAY_SEARCH_PART, stop = end * LAZYARRAY_SEARCH_PART;
        if (stop > search->count) stop = search->count;
        for (; first < stop; first += LAZYARRAY_SEARCH_PART)
            search->find(search, first, stop - first < LAZYARRAY_SEARCH_PART ? stop - first : LAZYARRAY_SEARCH_PART);
    }

    /* How many keys each of `LANES` values passes, in NumPy's order (npysort/binsearch.cpp): `PASSED` says it of a key,
       with no jump that nothing could foresee. */
    #define LAZYARRAY_HALVE(TYPE, LANES, PASSED) { \\
        npy_intp left = many, half; \\
        for (j = 0; j < (LANES); j++) at[j] = 0; \\
        for (; left > 1; left -= half) { \\
            half = left / 2; \\
            for (j = 0; j < (LANES); j++) { \\
                const TYPE key = keys[at[j] + half - 1], v = value[j]; \\
                at[j] += half & -(npy_intp)(PASSED); \\
            } \\
        } \\
        for (j = 0; j < (LANES); j++) { \\
            const TYPE key = keys[at[j]], v = value[j]; \\
            at[j] += (npy_intp)(PASSED); \\
        } \\
    }

    /* The same where neither keys nor values are NaN. */
    #define LAZYARRAY_HALVE_NUMBERS(TYPE, BEFORE) { \\
        const TYPE *reached[LAZYARRAY_SEARCHED]; \\
        npy_intp left = many, half; \\
        for (j = 0; j < LAZYARRAY_SEARCHED; j++) reached[j] = keys; \\
        for (; left > 1; left -= half) { \\
            half = left / 2; \\
            for (j = 0; j < LAZYARRAY_SEARCHED; j++) { \\
                const TYPE *next = reached[j] + half; \\
                reached[j] = next[-1] BEFORE value[j] ? next : reached[j]; \\
            } \\
        } \\
        for (j = 0; j < LAZYARRAY_SEARCHED; j++) at[j] = reached[j] - keys + (*reached[j] BEFORE value[j]); \\
    }

    /* Values that come in order lie between the first and the last of them: what is left to search is short, or nothing. */
    #define LAZYARRAY_NARROW(TYPE, PASSED, FIRST, LAST) { \\
        const TYPE value[2] = {FIRST, LAST}; \\
        npy_intp j, at[2]; \\
        LAZYARRAY_HALVE(TYPE, 2, PASSED) \\
        keys += at[0]; \\
        begin += at[0]; \\
        many = at[1] - at[0]; \\
    }

    #define LAZYARRAY_SEARCH(NAME, TYPE, LESS, PASSED, BEFORE) \\
        LAZYARRAY_VECTORS static void lazyarray_seek_few_##NAME( \\
            const TYPE *keys, npy_intp many, const TYPE *values, npy_intp n, int odd, npy_intp begin, npy_intp *at \\
        ) { \\
            TYPE value[LAZYARRAY_SEARCHED]; \\
            npy_intp j; \\
            for (j = 0; j < LAZYARRAY_SEARCHED; j++) value[j] = values[j < n ? j : n - 1]; \\
            if (odd) LAZYARRAY_HALVE(TYPE, LAZYARRAY_SEARCHED, PASSED) \\
            else LAZYARRAY_HALVE_NUMBERS(TYPE, BEFORE) \\
            for (j = 0; j < LAZYARRAY_SEARCHED; j++) at[j] += begin; \\
        } \\
        /* Whether any is NaN; else also whether they do not rise. */ \\
        LAZYARRAY_COMPARES static int lazyarray_look_over_##NAME(const TYPE *values, npy_intp n, int *turned) { \\
            npy_intp j; \\
            int odd = 0, falls = 0; \\
            for (j = 0; j < n; j++) odd |= values[j] != values[j]; \\
            for (j = 1; j < n; j++) falls |= values[j] < values[j - 1]; \\
            *turned = falls; \\
            return odd; \\
        } \\
        /* Of a part, which has no more than LAZYARRAY_SEARCH_PART values; as many places are written as whole rounds take. */ \\
        LAZYARRAY_VECTORS static void lazyarray_seek_##NAME( \\
            const lazyarray_search *search, npy_intp first, npy_intp n, npy_intp *at \\
        ) { \\
            const TYPE *part = (const TYPE *)search->keys, *values = (const TYPE *)search->values + first; \\
            npy_intp j, k, left, parts = search->many, before = 0; \\
            int turned, odd = lazyarray_look_over_##NAME(values, n, &turned); \\
            for (j = 1; odd && j < n; j++) turned |= LESS(values[j], values[j - 1]); \\
            odd |= part[parts - 1] != part[parts - 1]; \\
            if (!turned) { \\
                const TYPE *keys = part; \\
                npy_intp many = parts, begin = 0; \\
                LAZYARRAY_NARROW(TYPE, PASSED, values[0], values[n - 1]) \\
                part = keys; parts = many; before = begin; \\
            } \\
            for (k = 0; k < n; k += LAZYARRAY_SEARCHED) { \\
                const TYPE *keys = part; \\
                npy_intp many = parts, begin = before; \\
                left = n - k < LAZYARRAY_SEARCHED ? n - k : LAZYARRAY_SEARCHED; \\
                if (!turned && many) LAZYARRAY_NARROW(TYPE, PASSED, values[k], values[k + left - 1]) \\
                if (many) lazyarray_seek_few_##NAME(keys, many, values + k, left, odd, begin, at + k); \\
                else for (j = 0; j < LAZYARRAY_SEARCHED; j++) at[k + j] = begin; \\
            } \\
        } \\
        static void lazyarray_find_##NAME(const lazyarray_search *search, npy_intp first, npy_intp n) { \\
            npy_intp at[LAZYARRAY_SEARCH_PART]; \\
            lazyarray_seek_##NAME(search, first, n, at); \\
            memcpy((npy_intp *)search->out + first, at, n * sizeof(npy_intp)); \\
        }

    /* Of floats NaN is behind all. */
    #define LAZYARRAY_LESS_FLOAT(a, b) (((a) < (b)) | (((b) != (b)) & ((a) == (a))))
    #define LAZYARRAY_LESS_INT(a, b) ((a) < (b))
    LAZYARRAY_SEARCH(left_double, npy_double, LAZYARRAY_LESS_FLOAT, LAZYARRAY_LESS_FLOAT(key, v), <)
    LAZYARRAY_SEARCH(right_double, npy_double, LAZYARRAY_LESS_FLOAT, !LAZYARRAY_LESS_FLOAT(v, key), <=)
    LAZYARRAY_SEARCH(left_float, npy_float, LAZYARRAY_LESS_FLOAT, LAZYARRAY_LESS_FLOAT(key, v), <)
    LAZYARRAY_SEARCH(right_float, npy_float, LAZYARRAY_LESS_FLOAT, !LAZYARRAY_LESS_FLOAT(v, key), <=)
    LAZYARRAY_SEARCH(left_long, npy_int64, LAZYARRAY_LESS_INT, LAZYARRAY_LESS_INT(key, v), <)
    LAZYARRAY_SEARCH(right_long, npy_int64, LAZYARRAY_LESS_INT, !LAZYARRAY_LESS_INT(v, key), <=)
    LAZYARRAY_SEARCH(left_int, npy_int32, LAZYARRAY_LESS_INT, LAZYARRAY_LESS_INT(key, v), <)
    LAZYARRAY_SEARCH(right_int, npy_int32, LAZYARRAY_LESS_INT, !LAZYARRAY_LESS_INT(v, key), <=)

    /* Values between keys that differ from both, where heights have slopes that are numbers; 0 if one of them is none, and
       all are left to be looked at one by one. */
    LAZYARRAY_VECTORS static int lazyarray_interpolate_within(
        const lazyarray_search *search, const double *values, const npy_intp *at, double *out, npy_intp n
    ) {
        const double *x = (const double *)search->keys, *y = search->heights, *slopes = search->slopes;
        npy_intp j, last = search->many - 1;
        int other = 0;
        for (j = 0; j < n; j++) other |= (at[j] < 1) | (at[j] > last);
        if (other) return 0;
        for (j = 0; j < n; j++) {
            npy_intp k = at[j] - 1;
            double found = slopes[k] * (values[j] - x[k]) + y[k];
            other |= (x[k] == values[j]) | (found != found);
            out[j] = found;
        }
        return !other;
    }

    /* `arr_interp` (multiarray/compiled_base.c) of one value, operation by operation. */
    static double lazyarray_interpolate_one(const lazyarray_search *search, double value, npy_intp k) {
        const double *x = (const double *)search->keys, *y = search->heights;
        npy_intp last = search->many - 1;
        double slope, found;
        if (value != value) return value;
        if (k < 0) return search->left;
        if (value > x[last]) return search->right;
        if (k == last || x[k] == value) return y[k];
        slope = search->slopes ? search->slopes[k] : (y[k + 1] - y[k]) / (x[k + 1] - x[k]);
        found = slope * (value - x[k]) + y[k];
        if (found == found) return found;
        found = slope * (value - x[k + 1]) + y[k + 1];
        return found != found && y[k] == y[k + 1] ? y[k] : found;
    }

    static void lazyarray_interpolate(const lazyarray_search *search, npy_intp first, npy_intp n) {
        const double *values = (const double *)search->values + first;
        double *out = (double *)search->out + first;
        npy_intp at[LAZYARRAY_SEARCH_PART], j, k, left;
        lazyarray_seek_right_double(search, first, n, at);
        for (k = 0; k < n; k += left) {
            left = n - k < LAZYARRAY_SEARCHED ? n - k : LAZYARRAY_SEARCHED;
            if (search->slopes && lazyarray_interpolate_within(search, values + k, at + k, out + k, left)) continue;
            for (j = k; j < k + left; j++) out[j] = lazyarray_interpolate_one(search, values[j], at[j] - 1);
        }
    }

    #define LAZYARRAY_SORTED(TYPE, LESS) { \\
        const TYPE *keys = (const TYPE *)PyArray_DATA(a); \\
        for (k = 1; k < count; k++) wrong |= LESS(keys[k], keys[k - 1]); \\
        return !wrong; \\
    }

    LAZYARRAY_VECTORS static int lazyarray_are_sorted(PyObject *given) {
        PyArrayObject *a = (PyArrayObject *)given;
        npy_intp k, count;
        int wrong = 0;
        if (!PyArray_API && _import_array() < 0) return -1;
        count = PyArray_SIZE(a);
        if (!PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISBEHAVED_RO(a)) return 0;
        switch (PyArray_TYPE(a)) {
            case NPY_DOUBLE: LAZYARRAY_SORTED(npy_double, LAZYARRAY_LESS_FLOAT)
            case NPY_FLOAT: LAZYARRAY_SORTED(npy_float, LAZYARRAY_LESS_FLOAT)
            case NPY_INT64: LAZYARRAY_SORTED(npy_int64, LAZYARRAY_LESS_INT)
            case NPY_INT32: LAZYARRAY_SORTED(npy_int32, LAZYARRAY_LESS_INT)
        }
        return 0;
    }

    static lazyarray_search *lazyarray_new_search(PyObject **made, PyObject *keys, PyObject *values, PyObject *out) {
        lazyarray_search *search;
        if (!(*made = PyBytes_FromStringAndSize(NULL, sizeof(lazyarray_search)))) return NULL;
        search = (lazyarray_search *)PyBytes_AS_STRING(*made);
        search->shared.run = lazyarray_run_search;
        search->shared.raised = 0;
        search->keys = PyArray_BYTES((PyArrayObject *)keys);
        search->many = PyArray_SIZE((PyArrayObject *)keys);
        search->values = PyArray_BYTES((PyArrayObject *)values);
        search->count = PyArray_SIZE((PyArrayObject *)values);
        search->shared.count = (search->count + LAZYARRAY_SEARCH_PART - 1) / LAZYARRAY_SEARCH_PART;
        search->out = PyArray_BYTES((PyArrayObject *)out);
        return search;
    }

    static PyObject *lazyarray_search_of(PyObject *keys, PyObject *values, int right, PyObject *out) {
        lazyarray_search *search;
        PyObject *made;
        int type;
        if (!PyArray_API && _import_array() < 0) return NULL;
        type = PyArray_TYPE((PyArrayObject *)values);
        if (type != PyArray_TYPE((PyArrayObject *)keys) || !PyArray_SIZE((PyArrayObject *)keys)) Py_RETURN_NONE;
        if (!PyArray_ISCARRAY_RO((PyArrayObject *)values) || !PyArray_ISCARRAY((PyArrayObject *)out)) Py_RETURN_NONE;
        if (!(search = lazyarray_new_search(&made, keys, values, out))) return NULL;
        switch (type) {
            case NPY_DOUBLE: search->find = right ? lazyarray_find_right_double : lazyarray_find_left_double; return made;
            case NPY_FLOAT: search->find = right ? lazyarray_find_right_float : lazyarray_find_left_float; return made;
            case NPY_INT64: search->find = right ? lazyarray_find_right_long : lazyarray_find_left_long; return made;
            case NPY_INT32: search->find = right ? lazyarray_find_right_int : lazyarray_find_left_int; return made;
        }
        Py_DECREF(made);
        Py_RETURN_NONE;
    }

    static PyObject *lazyarray_interpolation_of(
        PyObject *keys, PyObject *heights, PyObject *slopes, PyObject *values, double left, double right, PyObject *out
    ) {
        lazyarray_search *search;
        PyObject *made;
        if (!PyArray_API && _import_array() < 0) return NULL;
        if (!(search = lazyarray_new_search(&made, keys, values, out))) return NULL;
        search->find = lazyarray_interpolate;
        search->heights = (const double *)PyArray_DATA((PyArrayObject *)heights);
        search->slopes = slopes == Py_None ? NULL : (const double *)PyArray_DATA((PyArrayObject *)slopes);
        search->left = left;
        search->right = right;
        return made;
    }
    """
    bint are_sorted "lazyarray_are_sorted" (object keys) except -1
    object search_of "lazyarray_search_of" (object keys, object values, bint right, object out)
    object interpolation_of "lazyarray_interpolation_of" (
        object keys, object heights, object slopes, object values, double left, double right, object out
    )
