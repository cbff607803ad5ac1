# C's side of `leases.py`: the base is a capsule, which holds the block and gives it back.
from lazyarray.native.loops cimport run_unary
from lazyarray.runtime.blocks cimport Block

cdef extern from *:
    """
    #define LAZYARRAY_LEASE "lazyarray.lease"

    static void lazyarray_give_back(PyObject *lease) {
        PyObject *block = (PyObject *)PyCapsule_GetPointer(lease, LAZYARRAY_LEASE), *done;
        PyObject *type, *value, *trace;  /* of an error that is on its way where the array dies */
        static PyObject *give_back = NULL;
        PyErr_Fetch(&type, &value, &trace);
        if (!give_back) give_back = PyUnicode_InternFromString("give_back");
        done = give_back ? PyObject_CallMethodNoArgs(block, give_back) : NULL;
        if (!done) PyErr_WriteUnraisable(block);
        Py_XDECREF(done);
        Py_DECREF(block);
        PyErr_Restore(type, value, trace);
    }

    static PyObject *lazyarray_lend(
        PyObject *block, size_t address, PyObject *shape, PyObject *dtype, PyObject *strides
    ) {
        npy_intp dims[NPY_MAXDIMS], steps[NPY_MAXDIMS];
        Py_ssize_t rank = PyTuple_GET_SIZE(shape), axis;
        PyObject *made, *lease;
        if (!lazyarray_is_ready()) return NULL;
        for (axis = 0; axis < rank && rank <= NPY_MAXDIMS; axis++) {  /* NumPy words the error of more */
            dims[axis] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
            if (strides != Py_None) steps[axis] = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, axis));
        }
        if (PyErr_Occurred()) return NULL;
        Py_INCREF(dtype);
        made = PyArray_NewFromDescr(
            &PyArray_Type, (PyArray_Descr *)dtype, (int)rank, dims, strides == Py_None ? NULL : steps, (void *)address,
            NPY_ARRAY_CARRAY, NULL);
        if (!made) return NULL;
        if (!(lease = PyCapsule_New((void *)block, LAZYARRAY_LEASE, lazyarray_give_back))) {
            Py_DECREF(made);
            return NULL;
        }
        Py_INCREF(block);
        if (PyArray_SetBaseObject((PyArrayObject *)made, lease) < 0) { Py_DECREF(made); return NULL; }
        return made;
    }

    static int lazyarray_leased(PyObject *owner) { return PyCapsule_IsValid(owner, LAZYARRAY_LEASE); }

    static int lazyarray_stands_alone(PyObject *data) {
        PyArrayObject *a = (PyArrayObject *)data;
        PyObject *owner = PyArray_BASE(a);
        if (!PyArray_CHKFLAGS(a, NPY_ARRAY_WRITEABLE) || ((PyArrayObject_fields *)a)->weakreflist) return 0;
        return owner ? lazyarray_leased(owner) : PyArray_CHKFLAGS(a, NPY_ARRAY_OWNDATA);
    }
    """
    object c_lend "lazyarray_lend" (object block, size_t address, object shape, object dtype, object strides)
    bint leased "lazyarray_leased" (object owner)
    bint stands_alone "lazyarray_stands_alone" (object data)


cdef inline object lend(Block block, tuple shape, object dtype, object strides):
    return c_lend(block, block.address, shape, dtype, strides)
