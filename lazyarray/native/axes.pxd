# Sums, means, extremes and running sums of a small array along one axis, in NumPy's order, for `direct.pxd`.
from cpython.object cimport PyObject

from lazyarray.native.direct cimport run_direct

cdef extern from *:
    """
    #define LAZYARRAY_LONG_LINE 256  /* elements of a line from which NumPy's way to each no longer shows */

    /* Lines so long that NumPy's way to each no longer shows are NumPy's. */
    static int lazyarray_short_blocks_of(PyArrayObject *a, long axis, lazyarray_blocks *found) {
        return lazyarray_blocks_of(a, axis, found)
            && (found->inner > 1 ? found->inner : found->extent) <= LAZYARRAY_LONG_LINE;
    }

    /* A new array of the elements' type without the axis, or with one element along it. */
    static PyArrayObject *lazyarray_without(PyArrayObject *a, long axis, int keep) {
        npy_intp dims[LAZYARRAY_AXES];
        int rank = PyArray_NDIM(a), place, kept = 0;
        if (axis < 0) axis += rank;
        for (place = 0; place < rank; place++) {
            if (place != axis) dims[kept++] = PyArray_DIM(a, place);
            else if (keep) dims[kept++] = 1;
        }
        return (PyArrayObject *)lazyarray_new(PyArray_TYPE(a), kept, dims);
    }

    #define LAZYARRAY_SHORT_LINE 32  /* elements of a line up to which comparing one by one takes less than a loop */

    /* Rows added up into `to`: what the ufunc's loop, called for each, does. 0 where a sum is NaN: which of two NaN is
       handed on is the loop's own. */
    #define LAZYARRAY_ADD_ROWS(NAME, WITH, KIND) \\
        WITH LAZYARRAY_VECTORS static int lazyarray_rows_##NAME( \\
            char *made, const char *rows, npy_intp count, npy_intp inner \\
        ) { \\
            KIND *restrict to = (KIND *)made; \\
            const KIND *restrict from = (const KIND *)rows; \\
            npy_intp j; \\
            int plain = 1; \\
            for (; count > 0; count--, from += inner) for (j = 0; j < inner; j++) to[j] += from[j]; \\
            for (j = 0; j < inner; j++) plain &= to[j] == to[j]; \\
            return plain; \\
        }
    /* Short lines, by a function that is compiled for some lengths: their loops are as long as the way to them. */
    #define LAZYARRAY_LINES(NAME, KIND) \\
        static int lazyarray_lines_##NAME(char *made, const char *lines, npy_intp outer, npy_intp count) { \\
            KIND *to = (KIND *)made; \\
            const KIND *from = (const KIND *)lines; \\
            switch (count) { \\
                case 2: return lazyarray_each_##NAME(to, from, outer, 2); \\
                case 3: return lazyarray_each_##NAME(to, from, outer, 3); \\
                case 4: return lazyarray_each_##NAME(to, from, outer, 4); \\
                case 8: return lazyarray_each_##NAME(to, from, outer, 8); \\
            } \\
            return lazyarray_each_##NAME(to, from, outer, count); \\
        }
    /* As `pairwise_sum` of NumPy's loops, up to 128 elements: eight side by side, then what is left. */
    #define LAZYARRAY_ADD_LINES(NAME, KIND) \\
        static LAZYARRAY_INLINE int lazyarray_each_##NAME( \\
            KIND *restrict to, const KIND *restrict from, npy_intp outer, npy_intp count \\
        ) { \\
            npy_intp j, k; \\
            int plain = 1; \\
            for (; outer > 0; outer--, from += count) { \\
                KIND sum = from[0]; \\
                k = 1; \\
                if (count >= 8) { \\
                    KIND r[8]; \\
                    for (j = 0; j < 8; j++) r[j] = from[j]; \\
                    for (k = 8; k + 8 <= count; k += 8) for (j = 0; j < 8; j++) r[j] += from[k + j]; \\
                    sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7])); \\
                } \\
                for (; k < count; k++) sum += from[k]; \\
                *to++ = 0 + sum; \\
                plain &= sum == sum; \\
            } \\
            return plain; \\
        } \\
        LAZYARRAY_LINES(NAME, KIND)
    LAZYARRAY_ADD_LINES(add_double, double)
    LAZYARRAY_ADD_LINES(add_float, float)

    /* The larger, or smaller, ones of `to` and of rows; of a line. NaN stays. 0 where one is NaN or zero: which of
       several such the loop takes is its own. */
    #define LAZYARRAY_BEST(BEFORE, x, y) (((x) BEFORE (y)) | ((x) != (x)) ? (x) : (y))
    #define LAZYARRAY_EXTREME_ROWS(NAME, WITH, KIND, BEFORE) \\
        WITH LAZYARRAY_VECTORS static int lazyarray_rows_##NAME( \\
            char *made, const char *rows, npy_intp count, npy_intp inner \\
        ) { \\
            KIND *restrict to = (KIND *)made; \\
            const KIND *restrict from = (const KIND *)rows; \\
            npy_intp j; \\
            int plain = 1; \\
            for (; count > 0; count--, from += inner) \\
                for (j = 0; j < inner; j++) to[j] = LAZYARRAY_BEST(BEFORE, to[j], from[j]); \\
            for (j = 0; j < inner; j++) plain &= (to[j] == to[j]) & (to[j] != 0); \\
            return plain; \\
        }
    #define LAZYARRAY_EXTREME_LINES(NAME, KIND, BEFORE) \\
        static LAZYARRAY_INLINE int lazyarray_each_##NAME( \\
            KIND *restrict to, const KIND *restrict from, npy_intp outer, npy_intp count \\
        ) { \\
            npy_intp j, k; \\
            int plain = 1; \\
            for (; outer > 0; outer--, from += count) { \\
                KIND best[4] = {from[0], from[0], from[0], from[0]}; \\
                for (k = 1; k + 4 <= count; k += 4) \\
                    for (j = 0; j < 4; j++) best[j] = LAZYARRAY_BEST(BEFORE, best[j], from[k + j]); \\
                for (; k < count; k++) best[0] = LAZYARRAY_BEST(BEFORE, best[0], from[k]); \\
                if (count > 4) for (j = 1; j < 4; j++) best[0] = LAZYARRAY_BEST(BEFORE, best[0], best[j]); \\
                *to++ = best[0]; \\
                plain &= (best[0] == best[0]) & (best[0] != 0); \\
            } \\
            return plain; \\
        } \\
        LAZYARRAY_LINES(NAME, KIND)
    LAZYARRAY_EXTREME_LINES(max_double, double, >=)
    LAZYARRAY_EXTREME_LINES(max_float, float, >=)
    LAZYARRAY_EXTREME_LINES(min_double, double, <=)
    LAZYARRAY_EXTREME_LINES(min_float, float, <=)

    LAZYARRAY_BOTH(LAZYARRAY_ADD_ROWS, add_double, double)
    LAZYARRAY_BOTH(LAZYARRAY_ADD_ROWS, add_float, float)
    LAZYARRAY_BOTH(LAZYARRAY_ADD_ROWS, add_word, npy_ulong)
    LAZYARRAY_BOTH(LAZYARRAY_EXTREME_ROWS, max_double, double, >=)
    LAZYARRAY_BOTH(LAZYARRAY_EXTREME_ROWS, max_float, float, >=)
    LAZYARRAY_BOTH(LAZYARRAY_EXTREME_ROWS, min_double, double, <=)
    LAZYARRAY_BOTH(LAZYARRAY_EXTREME_ROWS, min_float, float, <=)

    /* What does for rows and for short lines what a loop does, without the way to it; NULL where nothing does. */
    typedef struct {
        int (*rows)(char *, const char *, npy_intp, npy_intp);
        int (*lines)(char *, const char *, npy_intp, npy_intp);
    } lazyarray_quick;

    static lazyarray_quick lazyarray_quick_of(const char *name, int type) {
        lazyarray_quick found = {NULL, NULL};
        if (!strcmp(name, "add")) {
            if (type == NPY_DOUBLE) {
                found.rows = LAZYARRAY_PICK(rows, add_double);
                found.lines = lazyarray_lines_add_double;
            } else if (type == NPY_FLOAT) {
                found.rows = LAZYARRAY_PICK(rows, add_float);
                found.lines = lazyarray_lines_add_float;
            } else if (type == NPY_LONG || type == NPY_ULONG) found.rows = LAZYARRAY_PICK(rows, add_word);
        } else if (!strcmp(name, "maximum") && type == NPY_DOUBLE) {
            found.rows = LAZYARRAY_PICK(rows, max_double);
            found.lines = lazyarray_lines_max_double;
        } else if (!strcmp(name, "maximum") && type == NPY_FLOAT) {
            found.rows = LAZYARRAY_PICK(rows, max_float);
            found.lines = lazyarray_lines_max_float;
        } else if (!strcmp(name, "minimum") && type == NPY_DOUBLE) {
            found.rows = LAZYARRAY_PICK(rows, min_double);
            found.lines = lazyarray_lines_min_double;
        } else if (!strcmp(name, "minimum") && type == NPY_FLOAT) {
            found.rows = LAZYARRAY_PICK(rows, min_float);
            found.lines = lazyarray_lines_min_float;
        }
        return found;
    }

    /* Folds all lines, as NumPy's iterator has its loop do: along the axis where that is the last one, else across it.
       `first`: results begin as the first elements, else as zero. 0: something was raised, which NumPy is to tell. */
    static int lazyarray_fold_lines(
        lazyarray_loop loop, lazyarray_quick quick, PyArrayObject *a, const lazyarray_blocks *blocks, int first,
        char *made
    ) {
        npy_intp size = PyArray_ITEMSIZE(a), row = blocks->inner * size, block = row * blocks->extent, outer, k, count;
        npy_intp steps[3];
        char *from = PyArray_BYTES(a), *places[3];
        int across = blocks->inner > 1;
        NPY_BEGIN_THREADS_DEF;
        steps[0] = steps[2] = across ? size : 0;
        steps[1] = size;
        count = across ? blocks->inner : blocks->extent - first;
        lazyarray_forget_errors();
        if (PyArray_SIZE(a) >= LAZYARRAY_UNHELD) { NPY_BEGIN_THREADS; }
        outer = 0;
        if (!across && quick.lines && blocks->extent <= LAZYARRAY_SHORT_LINE)
            outer = quick.lines(made, from, blocks->outer, blocks->extent) ? blocks->outer : 0;
        for (; outer < blocks->outer; outer++, from += block, made += row) {
            if (first) memcpy(made, from, row);
            else memset(made, 0, row);
            if (across && quick.rows) {
                if (quick.rows(made, from + first * row, blocks->extent - first, blocks->inner)) continue;
                if (first) memcpy(made, from, row);
                else memset(made, 0, row);
            }
            for (k = first; k < (across ? blocks->extent : first + (count > 0)); k++) {
                places[0] = places[2] = made;
                places[1] = from + k * row;
                (*loop.loop)(places, &count, steps, loop.data);
            }
        }
        NPY_END_THREADS;
        return lazyarray_is_quiet(LAZYARRAY_ERRORS);
    }

    /* NULL without an error: NumPy is to run. */
    static PyArrayObject *lazyarray_fold_along(PyObject *ufunc, PyArrayObject *a, long axis, int keep, int first) {
        lazyarray_blocks blocks;
        lazyarray_loop loop;
        lazyarray_quick quick;
        PyArrayObject *made;
        if (!ufunc || !lazyarray_short_blocks_of(a, axis, &blocks)) return NULL;
        loop = lazyarray_loop_of(ufunc, PyArray_TYPE(a));
        if (!loop.loop || loop.made != PyArray_TYPE(a) || !(made = lazyarray_without(a, axis, keep))) return NULL;
        quick = lazyarray_quick_of(lazyarray_name_of(ufunc), PyArray_TYPE(a));
        if (!lazyarray_fold_lines(loop, quick, a, &blocks, first, PyArray_BYTES(made))) Py_CLEAR(made);
        return made;
    }

    /* Sums over their number of elements. A quotient in float64 has float32's bits once it is rounded to that. */
    static void lazyarray_divide_by(PyArrayObject *sums, double count) {
        npy_intp place, size = PyArray_SIZE(sums);
        double *wide = PyArray_DATA(sums);
        float *narrow = PyArray_DATA(sums);
        for (place = 0; place < size; place++) {
            if (PyArray_TYPE(sums) == NPY_DOUBLE) wide[place] /= count;
            else narrow[place] = (float)(narrow[place] / count);
        }
    }

    /* 0, and no array, where something was raised, or (`number`) an element is NaN: NumPy is to run. */
    static int lazyarray_holds_good(PyArrayObject **made, int number) {
        npy_intp place;
        int good = lazyarray_is_quiet(LAZYARRAY_ERRORS) && *made;
        for (place = 0; good && number && place < PyArray_SIZE(*made); place++) {
            if (PyArray_TYPE(*made) == NPY_DOUBLE) good = !npy_isnan(((double *)PyArray_DATA(*made))[place]);
            else good = !npy_isnan(((float *)PyArray_DATA(*made))[place]);
        }
        if (!good) Py_CLEAR(*made);
        return good;
    }

    static double lazyarray_extent_along(PyArrayObject *a, long axis) {
        return (double)PyArray_DIM(a, axis < 0 ? axis + PyArray_NDIM(a) : axis);
    }

    /* As `_mean` in NumPy's numpy/_core/_methods.py. */
    static PyArrayObject *lazyarray_mean_along(PyObject *add, PyArrayObject *a, long axis, int keep) {
        PyArrayObject *made;
        if (PyArray_TYPE(a) != NPY_DOUBLE && PyArray_TYPE(a) != NPY_FLOAT) return NULL;
        if (!(made = lazyarray_fold_along(add, a, axis, keep, 0))) return NULL;
        lazyarray_divide_by(made, lazyarray_extent_along(a, axis));
        lazyarray_holds_good(&made, 0);
        return made;
    }

    /* As `_var` and `_std` there, of floats: the mean square of what lies between elements and their mean, and its root. */
    static PyArrayObject *lazyarray_var_along(PyObject *add, PyArrayObject *a, long axis, int keep, int root) {
        PyArrayObject *mean = lazyarray_mean_along(add, a, axis, 1), *squares = NULL, *made = NULL;
        lazyarray_blocks blocks;
        npy_intp place;
        int wide = PyArray_TYPE(a) == NPY_DOUBLE;
        if (!mean) return NULL;
        squares = (PyArrayObject *)lazyarray_new(PyArray_TYPE(a), PyArray_NDIM(a), PyArray_DIMS(a));
        if (squares && lazyarray_short_blocks_of(a, axis, &blocks)) {
            (wide ? LAZYARRAY_PICK(deviations, double) : LAZYARRAY_PICK(deviations, float))(
                PyArray_BYTES(squares), PyArray_BYTES(a), PyArray_BYTES(mean), &blocks);
            if (!fetestexcept(LAZYARRAY_ERRORS)) made = lazyarray_fold_along(add, squares, axis, keep, 0);
        }
        if (made) {
            lazyarray_divide_by(made, lazyarray_extent_along(a, axis));
            for (place = 0; root && place < PyArray_SIZE(made); place++) {
                if (wide) ((double *)PyArray_DATA(made))[place] = sqrt(((double *)PyArray_DATA(made))[place]);
                else ((float *)PyArray_DATA(made))[place] = sqrtf(((float *)PyArray_DATA(made))[place]);
            }
        }
        lazyarray_holds_good(&made, 1);
        Py_DECREF(mean);
        Py_XDECREF(squares);
        return made;
    }

    static int lazyarray_folds_along(void *direct) {
        lazyarray_direct run = (lazyarray_direct)direct;
        return run == lazyarray_do_sum || run == lazyarray_do_mean || run == lazyarray_do_max || run == lazyarray_do_min
            || run == lazyarray_do_var || run == lazyarray_do_std || run == lazyarray_do_cumsum
            || run == lazyarray_do_cumprod;
    }

    /* What one of these makes of a small array along an axis; `refused` where NumPy is to run. */
    static PyObject *lazyarray_run_along(void *direct, PyObject *first, PyObject *along, int keep, PyObject *refused) {
        static PyObject *add = NULL, *maximum = NULL, *minimum = NULL;
        lazyarray_direct run = (lazyarray_direct)direct;
        PyArrayObject *a = (PyArrayObject *)first, *found = NULL;
        int type = PyArray_TYPE(a), over;
        long axis = PyLong_AsLongAndOverflow(along, &over);
        if (PyArray_NDIM(a) == 1 && !keep && !over && (axis == 0 || axis == -1))
            return lazyarray_run_direct(direct, first, NULL, 0, 0, refused);
        if (over || axis < -PyArray_NDIM(a) || axis >= PyArray_NDIM(a)) return refused;
        if (!add && !(add = lazyarray_ufunc_of("add"))) return NULL;
        if (!maximum && !(maximum = lazyarray_ufunc_of("maximum"))) return NULL;
        if (!minimum && !(minimum = lazyarray_ufunc_of("minimum"))) return NULL;
        if (run == lazyarray_do_cumsum || run == lazyarray_do_cumprod)
            found = keep ? NULL : lazyarray_scan_along(a, axis, run == lazyarray_do_cumprod);
        else if (run == lazyarray_do_max) found = lazyarray_fold_along(maximum, a, axis, keep, 1);
        else if (run == lazyarray_do_min) found = lazyarray_fold_along(minimum, a, axis, keep, 1);
        else if (run == lazyarray_do_var || run == lazyarray_do_std)
            found = lazyarray_var_along(add, a, axis, keep, run == lazyarray_do_std);
        else if (run == lazyarray_do_mean) found = lazyarray_mean_along(add, a, axis, keep);
        else if (lazyarray_is_inexact(type) || type == NPY_LONG || type == NPY_ULONG)
            found = lazyarray_fold_along(add, a, axis, keep, 0);  /* integers of fewer bits are added up as these */
        return found || PyErr_Occurred() ? (PyObject *)found : refused;
    }
    """
    bint folds_along "lazyarray_folds_along" (void *direct)
    PyObject *run_along "lazyarray_run_along" (
        void *direct, PyObject *first, PyObject *along, bint keep, PyObject *refused
    ) except NULL
