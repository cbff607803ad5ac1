# C's side of `products.py`.
from cpython.object cimport PyObject

from lazyarray.native.loops cimport run_unary

cdef extern from *:
    """
    /* A product of a vector or matrix and another one; as `lazyarray_run`. `name`: under which errors are told, NULL for
       the ufunc's. */
    static PyObject *lazyarray_multiply(PyObject *matmul, const char *name, PyArrayObject *a, PyArrayObject *b) {
        npy_intp sizes[4], steps[9] = {0}, dims[2];
        int type, rank = 0, raised;
        double value[2] = {0.0, 0.0};
        PyArrayObject *made = NULL;
        PyArray_Descr *own;
        lazyarray_loop chosen;
        char *places[3];
        if (!lazyarray_is_ready()) return NULL;
        if (!PyArray_CheckExact(a) || !PyArray_CheckExact(b) || Py_TYPE(matmul) != &PyUFunc_Type) return NULL;
        type = PyArray_TYPE(a);
        if (!lazyarray_is_inexact(type)) return NULL;
        own = lazyarray_own(type);
        if (PyArray_DESCR(a) != own || PyArray_DESCR(b) != own || !PyArray_ISALIGNED(a) || !PyArray_ISALIGNED(b))
            return NULL;
        if (PyArray_NDIM(a) < 1 || PyArray_NDIM(a) > 2 || PyArray_NDIM(b) < 1 || PyArray_NDIM(b) > 2) return NULL;
        chosen = lazyarray_loop_of(matmul, type);
        if (!chosen.loop || chosen.made != type) return NULL;
        /* Once; rows of a, columns of a, columns of b. NumPy has no steps along axes of one element. */
        sizes[0] = 1;
        sizes[1] = PyArray_NDIM(a) == 2 ? PyArray_DIM(a, 0) : 1;
        sizes[2] = PyArray_DIM(a, PyArray_NDIM(a) - 1);
        sizes[3] = PyArray_NDIM(b) == 2 ? PyArray_DIM(b, 1) : 1;
        if (PyArray_DIM(b, 0) != sizes[2] || !sizes[1] || !sizes[2] || !sizes[3]) return NULL;
        if (sizes[1] > 1) steps[3] = PyArray_STRIDE(a, 0);
        if (sizes[2] > 1) { steps[4] = PyArray_STRIDE(a, PyArray_NDIM(a) - 1); steps[5] = PyArray_STRIDE(b, 0); }
        if (sizes[3] > 1) steps[6] = PyArray_STRIDE(b, 1);
        places[0] = PyArray_BYTES(a);
        places[1] = PyArray_BYTES(b);
        if (PyArray_NDIM(a) == 2) dims[rank++] = sizes[1];
        if (PyArray_NDIM(b) == 2) dims[rank++] = sizes[3];
        if (rank) {
            Py_INCREF(own);
            made = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, own, rank, dims, NULL, NULL, 0, NULL);
            if (!made) return NULL;
            if (sizes[1] > 1) steps[7] = PyArray_STRIDE(made, 0);
            if (sizes[3] > 1) steps[8] = PyArray_STRIDE(made, rank - 1);
        }
        places[2] = made ? PyArray_BYTES(made) : (char *)value;
        lazyarray_forget_errors();
        {
            NPY_BEGIN_THREADS_DEF;
            if (sizes[1] * sizes[2] * sizes[3] >= LAZYARRAY_UNHELD) { NPY_BEGIN_THREADS; }
            (*chosen.loop)(places, sizes, steps, chosen.data);
            NPY_END_THREADS;
        }
        raised = fetestexcept(LAZYARRAY_ERRORS);
        if (raised && lazyarray_tell(name ? name : lazyarray_name_of(matmul), raised) < 0) {
            Py_XDECREF(made);
            return NULL;
        }
        return made ? (PyObject *)made : PyArray_Scalar(value, own, NULL);
    }

    static PyObject *lazyarray_run_product(PyObject *matmul, PyObject *a, PyObject *b) {
        PyObject *given[2] = {a, b}, *found = lazyarray_multiply(matmul, NULL, (PyArrayObject *)a, (PyArrayObject *)b);
        return found || PyErr_Occurred() ? found : PyObject_Vectorcall(matmul, given, 2, NULL);
    }

    /* The dot product of two vectors, as `numpy.dot` has BLAS compute it; as `lazyarray_run`. */
    static PyObject *lazyarray_dot_of(PyArrayObject *a, PyArrayObject *b) {
        PyArrayObject *both[2], *copies[2] = {NULL, NULL};
        PyArray_Descr *own;
        double value[2] = {0.0, 0.0};
        int type, k, raised;
        if (!lazyarray_is_ready()) return NULL;
        both[0] = a;
        both[1] = b;
        if (!PyArray_CheckExact(a)) return NULL;
        type = PyArray_TYPE(a);
        if (!lazyarray_is_inexact(type)) return NULL;
        own = lazyarray_own(type);
        for (k = 0; k < 2; k++) {
            if (!PyArray_CheckExact(both[k]) || PyArray_NDIM(both[k]) != 1 || PyArray_DESCR(both[k]) != own) return NULL;
        }
        if (PyArray_DIM(a, 0) != PyArray_DIM(b, 0) || !PyArray_DIM(a, 0)) return NULL;
        for (k = 0; k < 2; k++) {
            npy_intp step = PyArray_STRIDE(both[k], 0), itemsize = PyArray_ITEMSIZE(both[k]);
            if (step > 0 && step % itemsize == 0 && (size_t)PyArray_BYTES(both[k]) % itemsize == 0) continue;
            /* NumPy copies such vectors first (`_bad_strides` in numpy/_core/src/common/cblasfuncs.c). */
            copies[k] = (PyArrayObject *)PyArray_NewCopy(both[k], NPY_ANYORDER);
            if (!copies[k]) { Py_XDECREF(copies[0]); return NULL; }
            both[k] = copies[k];
        }
        lazyarray_forget_errors();
        {
            NPY_BEGIN_THREADS_DEF;
            if (PyArray_DIM(a, 0) >= LAZYARRAY_UNHELD) { NPY_BEGIN_THREADS; }
            PyDataType_GetArrFuncs(own)->dotfunc(
                PyArray_BYTES(both[0]), PyArray_STRIDE(both[0], 0), PyArray_BYTES(both[1]), PyArray_STRIDE(both[1], 0),
                value, PyArray_DIM(a, 0), NULL);
            NPY_END_THREADS;
        }
        raised = fetestexcept(LAZYARRAY_ERRORS);
        Py_XDECREF(copies[0]);
        Py_XDECREF(copies[1]);
        if (raised && lazyarray_tell("dot", raised) < 0) return NULL;
        return PyArray_Scalar(value, own, NULL);
    }

    /* Matrices and vectors for which `dot` calls the function of BLAS that `matmul` does, in the same way
       (`cblas_matrixproduct` in NumPy's common/cblasfuncs.c): those without gaps, of more than one element along each
       axis. `dot` takes more time to find it. */
    static int lazyarray_is_whole(PyObject *given) {
        PyArrayObject *a = (PyArrayObject *)given;
        int axis;
        if (!PyArray_CheckExact(given) || !(PyArray_IS_C_CONTIGUOUS(a) || PyArray_IS_F_CONTIGUOUS(a))) return 0;
        for (axis = 0; axis < PyArray_NDIM(a); axis++) if (PyArray_DIM(a, axis) < 2) return 0;
        return 1;
    }

    /* NumPy's `source` called with these arguments; `inner`: what it calls once it has asked their classes for a function
       of their own, or NULL. What it says of arguments that are wrong it says before. */
    static PyObject *lazyarray_call(
        PyObject *source, PyObject *inner, PyObject *const *args, size_t flags, PyObject *names
    ) {
        static PyObject *function = NULL, *method = NULL, *flip = NULL, *backwards = NULL, *matmul = NULL;
        PyObject *found;
        if (!function) {
            PyObject *numpy = PyImport_ImportModule("numpy"), *kind;
            if (!numpy || !lazyarray_is_ready()) return NULL;
            kind = PyObject_GetAttrString(numpy, "ndarray");
            if (kind) method = PyObject_GetAttrString(kind, "dot");
            if (method) flip = PyObject_GetAttrString(numpy, "flip");
            if (flip) matmul = PyObject_GetAttrString(numpy, "matmul");
            if (matmul) backwards = PySlice_New(NULL, NULL, PyLong_FromLong(-1));
            if (backwards) function = PyObject_GetAttrString(numpy, "dot");
            Py_XDECREF(kind);
            Py_DECREF(numpy);
            if (!function) return NULL;
        }
        if ((source == function || source == method) && !names && PyVectorcall_NARGS(flags) == 2) {
            found = lazyarray_dot_of((PyArrayObject *)args[0], (PyArrayObject *)args[1]);
            if (!found && !PyErr_Occurred() && lazyarray_is_whole(args[0]) && lazyarray_is_whole(args[1]))
                found = lazyarray_multiply(matmul, "dot", (PyArrayObject *)args[0], (PyArrayObject *)args[1]);
            if (found || PyErr_Occurred()) return found;
        }
        if (source == flip && !names && PyVectorcall_NARGS(flags) == 1 && PyArray_CheckExact(args[0])
            && PyArray_NDIM((PyArrayObject *)args[0]) == 1)
            return PyObject_GetItem(args[0], backwards);  /* all that it does, in Python */
        if (inner) {
            found = PyObject_Vectorcall(inner, args, flags, names);
            if (found || !PyErr_ExceptionMatches(PyExc_TypeError)) return found;
            PyErr_Clear();
        }
        return PyObject_Vectorcall(source, args, flags, names);
    }
    """
    PyObject *call_source "lazyarray_call" (
        PyObject *source, PyObject *inner, PyObject **args, size_t flags, PyObject *names
    )
    object run_product "lazyarray_run_product" (object matmul, object a, object b)
