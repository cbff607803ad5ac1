# C's side of `lists.py`: arrays of short lists and tuples of numbers, of rows of them, and of arrays.
from cpython.object cimport PyObject

from lazyarray.native.parts cimport read_at

cdef extern from *:
    """
    #include <float.h>
    #include <math.h>

    /* NumPy's float64 is a kind of Python's float, and lies as it does. */
    static int lazyarray_is_float(PyObject *item) {
        return PyFloat_CheckExact(item) || Py_IS_TYPE(item, &PyFloat64ArrType_Type);
    }

    /* The elements of a list or tuple: its numbers are counted by kind, and rows as those of an outer one. */
    static int lazyarray_count_numbers(PyObject *items, npy_intp *count, npy_intp *integers, npy_intp *truths) {
        PyObject *const *item = PySequence_Fast_ITEMS(items);
        npy_intp place;
        *count += PySequence_Fast_GET_SIZE(items);
        if (*count > LAZYARRAY_FEW) return 0;
        for (place = 0; place < PySequence_Fast_GET_SIZE(items); place++) {
            if (PyLong_CheckExact(item[place])) (*integers)++;
            else if (PyBool_Check(item[place])) (*truths)++;
            else if (!lazyarray_is_float(item[place])) return 0;
        }
        return 1;
    }

    /* Writes numbers one after another; 0 where one does not fit, or NumPy may have something to say of its rounding. */
    static int lazyarray_store_numbers(PyObject *items, int type, char **to) {
        npy_intp place, size = type == NPY_BOOL ? 1 : type == NPY_FLOAT32 || type == NPY_INT32 ? 4 : 8;
        int over;
        for (place = 0; place < PySequence_Fast_GET_SIZE(items); place++, *to += size) {
            PyObject *item = PySequence_Fast_ITEMS(items)[place];
            double real;
            if (type == NPY_BOOL) { **to = item == Py_True; continue; }
            if (lazyarray_is_float(item)) real = PyFloat_AS_DOUBLE(item);
            else {
                long number = PyLong_AsLongAndOverflow(item, &over);
                if (over) return 0;
                if (type == NPY_INT64) { *(npy_int64 *)*to = number; continue; }
                if (type == NPY_INT32) {
                    if (number != (npy_int32)number) return 0;
                    *(npy_int32 *)*to = (npy_int32)number;
                    continue;
                }
                real = (double)number;
            }
            if (type == NPY_DOUBLE) { *(double *)*to = real; continue; }
            if (real != 0 && !(fabs(real) >= FLT_MIN && fabs(real) <= FLT_MAX)) return 0;
            *(float *)*to = (float)real;
        }
        return 1;
    }

    /* An array of the floats of a list or of its rows, or of integers of a machine word, or of truth values alone: NULL
       for all others. `asked`: a type, or -1 for that of the numbers. */
    static PyObject *lazyarray_of_items(PyObject *items, int asked) {
        PyObject *const *rows = PySequence_Fast_ITEMS(items), *made;
        npy_intp dims[2], count = 0, integers = 0, truths = 0, place;
        int nested, type, stored = 1;
        char *to;
        dims[0] = PySequence_Fast_GET_SIZE(items);
        if (!dims[0] && (asked < 0 || asked == NPY_DOUBLE)) return lazyarray_new(NPY_DOUBLE, 1, dims);
        if (!dims[0] || dims[0] > LAZYARRAY_FEW) return NULL;
        nested = lazyarray_is_listed(rows[0]);
        dims[1] = nested ? PySequence_Fast_GET_SIZE(rows[0]) : 1;
        if (!dims[1]) return NULL;
        if (!nested && !lazyarray_count_numbers(items, &count, &integers, &truths)) return NULL;
        for (place = 0; nested && place < dims[0]; place++)
            if (!lazyarray_is_listed(rows[place]) || PySequence_Fast_GET_SIZE(rows[place]) != dims[1]
                || !lazyarray_count_numbers(rows[place], &count, &integers, &truths)) return NULL;
        if (truths && (truths != count || asked >= 0)) return NULL;
        type = truths ? NPY_BOOL : integers == count ? NPY_INT64 : NPY_DOUBLE;
        if (asked >= 0 && asked != type) {
            if (asked != NPY_DOUBLE && asked != NPY_FLOAT32 && !(asked == NPY_INT32 && type == NPY_INT64)) return NULL;
            type = asked;
        }
        if (!(made = lazyarray_new(type, nested ? 2 : 1, dims))) return NULL;
        to = PyArray_BYTES((PyArrayObject *)made);
        if (!nested) stored = lazyarray_store_numbers(items, type, &to);
        for (place = 0; nested && stored && place < dims[0]; place++)
            stored = lazyarray_store_numbers(rows[place], type, &to);
        if (!stored) Py_CLEAR(made);
        return made;
    }

    /* The array that NumPy makes of a list or tuple of arrays of one shape and one dtype of its own, in C order. */
    static PyObject *lazyarray_stack_of(PyObject *items, PyObject *missing) {
        Py_ssize_t count = PySequence_Fast_GET_SIZE(items), place;
        PyObject *const *rows = PySequence_Fast_ITEMS(items), *made;
        PyArrayObject *first;
        npy_intp dims[LAZYARRAY_RANK + 1], bytes;
        int axis;
        if (!lazyarray_is_ready()) return NULL;
        if (!count || !PyArray_CheckExact(rows[0])) return lazyarray_missing(missing);
        first = (PyArrayObject *)rows[0];
        if (PyArray_NDIM(first) >= LAZYARRAY_RANK || !lazyarray_is_own(first)) return lazyarray_missing(missing);
        dims[0] = count;
        for (axis = 0; axis < PyArray_NDIM(first); axis++) dims[axis + 1] = PyArray_DIM(first, axis);
        for (place = 0; place < count; place++) {
            PyArrayObject *row = (PyArrayObject *)rows[place];
            if (!PyArray_CheckExact(rows[place]) || PyArray_DESCR(row) != PyArray_DESCR(first)
                || !PyArray_IS_C_CONTIGUOUS(row) || !PyArray_SAMESHAPE(row, first)) return lazyarray_missing(missing);
        }
        if (!(made = lazyarray_new(PyArray_TYPE(first), PyArray_NDIM(first) + 1, dims))) return NULL;
        bytes = PyArray_NBYTES(first);
        for (place = 0; place < count; place++)
            memcpy(PyArray_BYTES((PyArrayObject *)made) + place * bytes, PyArray_BYTES((PyArrayObject *)rows[place]), bytes);
        return made;
    }

    static PyObject *lazyarray_numbers_of(PyObject *items, PyObject *missing) {
        PyObject *found;
        if (!lazyarray_is_ready()) return NULL;
        found = lazyarray_of_items(items, -1);
        return found || PyErr_Occurred() ? found : lazyarray_missing(missing);
    }

    /* The same as float64. */
    static PyObject *lazyarray_floats_of(PyObject *items, PyObject *missing) {
        PyObject *found;
        if (!lazyarray_is_ready()) return NULL;
        found = lazyarray_of_items(items, NPY_DOUBLE);
        return found || PyErr_Occurred() ? found : lazyarray_missing(missing);
    }
    """
    object numbers_of "lazyarray_numbers_of" (object items, object missing)
    object floats_of "lazyarray_floats_of" (object items, object missing)
    object stack_of "lazyarray_stack_of" (object items, object missing)
