# C's side of `loops.py`.
from cpython.object cimport PyObject

from lazyarray.native.quicker cimport quicker_of
from lazyarray.native.widening cimport widening_of

cdef extern from *:
    """
    #define LAZYARRAY_ERRORS (FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)
    #define LAZYARRAY_AXES 8
    #define LAZYARRAY_SHORT 64  /* a row of fewer elements is short */
    #define LAZYARRAY_FEW_ROWS 4
    #define LAZYARRAY_ROWS 256  /* elements of short rows that are one call */
    #define LAZYARRAY_UNHELD 4096  /* elements from which other threads may run meanwhile */
    #define LAZYARRAY_QUICKER 512  /* elements from which it matters that a loop takes less time than NumPy's */

    #define LAZYARRAY_PIECE 1024  /* elements that are converted at a time */
    typedef struct {
        PyObject *ufunc;
        int type, made;
        PyUFuncGenericFunction *loop;  /* in the ufunc's own table: its maker may put another one there */
        void *data;
    } lazyarray_loop;

    /* The loops last asked for; a loop is NULL where the ufunc has none for operands of one type. */
    static lazyarray_loop lazyarray_loops[256];

    static int lazyarray_is_inexact(int type) {
        return type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_CFLOAT || type == NPY_CDOUBLE;
    }

    static int lazyarray_is_plain_type(int type) {
        /* Types that others have defined may have no number. */
        return (type >= 0 && type <= NPY_ULONG) || lazyarray_is_inexact(type);
    }

    /* NumPy's own dtype of a plain type, borrowed: it stays. */
    static PyArray_Descr *lazyarray_own(int type) {
        PyArray_Descr *own = PyArray_DescrFromType(type);
        Py_DECREF(own);
        return own;
    }

    /* Whether NumPy's two tables of functions are there. */
    static int lazyarray_is_ready(void) {
        return (PyArray_API || _import_array() >= 0) && (PyUFunc_API || _import_umath() >= 0);
    }

    static void lazyarray_forget_errors(void) {
        if (fetestexcept(LAZYARRAY_ERRORS)) feclearexcept(LAZYARRAY_ERRORS);
    }

    /* Whether none of these errors was raised; all are forgotten. */
    static int lazyarray_is_quiet(int told) {
        int raised = fetestexcept(LAZYARRAY_ERRORS);
        if (raised) feclearexcept(LAZYARRAY_ERRORS);
        return !(raised & told);
    }

    /* The ufunc's loop for operands of one type. */
    static lazyarray_loop lazyarray_loop_of(PyObject *ufunc, int type) {
        PyUFuncObject *asked = (PyUFuncObject *)ufunc;
        lazyarray_loop *kept = &lazyarray_loops[(((size_t)ufunc >> 4) ^ ((size_t)type * 37)) & 255], found;
        int k, place;
        if (kept->ufunc == ufunc && kept->type == type) return *kept;
        found.ufunc = ufunc;
        found.type = type;
        found.made = 0;
        found.loop = NULL;
        found.data = NULL;
        if (asked->nout == 1 && asked->functions) {
            for (k = 0; k < asked->ntypes && !found.loop; k++) {
                const char *types = asked->types + (size_t)k * asked->nargs;
                for (place = 0; place < asked->nin && types[place] == (char)type; place++) {}
                if (place == asked->nin && lazyarray_is_plain_type(types[place])) {
                    found.made = types[place];
                    found.loop = &asked->functions[k];
                    found.data = asked->data ? (void *)asked->data[k] : NULL;
                }
            }
        }
        Py_INCREF(ufunc);
        Py_XDECREF(kept->ufunc);
        *kept = found;
        return found;
    }

    #define LAZYARRAY_INTEGER(type, kind, least, most) \\
        case type: \\
            if (value < (long)(least) || value > (long)(most)) return -1; \\
            *(kind *)given = (kind)value; \\
            return 0;

    /* A number of NumPy's as the type has it, where NumPy computes both in that type; -1 for others. */
    static int lazyarray_scalar_as(PyObject *item, int type, double *given) {
        if (Py_TYPE(item) == lazyarray_own(type)->typeobj) {
            PyArray_ScalarAsCtype(item, given);
            return 0;
        }
        if (Py_TYPE(item) == &PyLongArrType_Type && (type == NPY_DOUBLE || type == NPY_CDOUBLE)) {
            long value = PyArrayScalar_VAL(item, Long);
            if (value < -(1L << 53) || value > 1L << 53) return -1;
            given[0] = (double)value;
            if (type == NPY_CDOUBLE) given[1] = 0.0;
            return 0;
        }
        return -1;
    }

    /* -1 for what is no number that the type holds as NumPy would have it do. */
    static int lazyarray_number_as(PyObject *item, int type, double *given) {
        int wide = type == NPY_DOUBLE || type == NPY_CDOUBLE;
        if (PyFloat_CheckExact(item) || (wide && Py_TYPE(item) == &PyDoubleArrType_Type)) {
            double value = PyFloat_AS_DOUBLE(item);
            if (type == NPY_DOUBLE) given[0] = value;
            else if (type == NPY_CDOUBLE) { given[0] = value; given[1] = 0.0; }
            else if (type == NPY_FLOAT && (value == 0.0 || (fabs(value) > 1e-37 && fabs(value) < 3e38)))
                *(float *)given = (float)value;
            else return -1;
            return 0;
        }
        if (PyLong_CheckExact(item)) {
            int over;
            long value = PyLong_AsLongAndOverflow(item, &over);
            if (over) return -1;
            switch (type) {
                LAZYARRAY_INTEGER(NPY_BYTE, npy_byte, NPY_MIN_BYTE, NPY_MAX_BYTE)
                LAZYARRAY_INTEGER(NPY_UBYTE, npy_ubyte, 0, NPY_MAX_UBYTE)
                LAZYARRAY_INTEGER(NPY_SHORT, npy_short, NPY_MIN_SHORT, NPY_MAX_SHORT)
                LAZYARRAY_INTEGER(NPY_USHORT, npy_ushort, 0, NPY_MAX_USHORT)
                LAZYARRAY_INTEGER(NPY_INT, npy_int, NPY_MIN_INT, NPY_MAX_INT)
                LAZYARRAY_INTEGER(NPY_UINT, npy_uint, 0, NPY_MAX_UINT)
                LAZYARRAY_INTEGER(NPY_LONG, npy_long, NPY_MIN_LONG, NPY_MAX_LONG)
                LAZYARRAY_INTEGER(NPY_ULONG, npy_ulong, 0, NPY_MAX_LONG)
                /* Exact as floats. */
                LAZYARRAY_INTEGER(NPY_FLOAT, npy_float, -(1L << 24), 1L << 24)
                LAZYARRAY_INTEGER(NPY_DOUBLE, npy_double, -(1L << 30), 1L << 30)
                case NPY_CDOUBLE:
                    if (value < -(1L << 30) || value > 1L << 30) return -1;
                    given[0] = (double)value;
                    given[1] = 0.0;
                    return 0;
            }
            return -1;
        }
        if (type == NPY_CDOUBLE && PyComplex_CheckExact(item)) {
            given[0] = PyComplex_RealAsDouble(item);
            given[1] = PyComplex_ImagAsDouble(item);
            return 0;
        }
        return lazyarray_is_plain_type(type) && PyArray_IsScalar(item, Generic)
            ? lazyarray_scalar_as(item, type, given) : -1;
    }

    static const char *lazyarray_name_of(PyObject *ufunc) { return ((PyUFuncObject *)ufunc)->name; }

    /* Has NumPy say what floating-point errors were raised; -1 if that raises. */
    static int lazyarray_tell(const char *name, int raised) {
        int told = (raised & FE_DIVBYZERO ? NPY_FPE_DIVIDEBYZERO : 0) | (raised & FE_OVERFLOW ? NPY_FPE_OVERFLOW : 0)
            | (raised & FE_UNDERFLOW ? NPY_FPE_UNDERFLOW : 0) | (raised & FE_INVALID ? NPY_FPE_INVALID : 0);
        feclearexcept(LAZYARRAY_ERRORS);
        return PyUFunc_GiveFloatingpointErrors(name ? name : "<unnamed ufunc>", told);
    }

    /* Whether the bytes between the first and the last element of two arrays meet. */
    static int lazyarray_may_meet(PyArrayObject *a, PyArrayObject *b) {
        char *low[2], *high[2];
        PyArrayObject *both[2];
        int k, axis;
        both[0] = a;
        both[1] = b;
        for (k = 0; k < 2; k++) {
            low[k] = high[k] = PyArray_BYTES(both[k]);
            for (axis = 0; axis < PyArray_NDIM(both[k]); axis++) {
                npy_intp span = (PyArray_DIM(both[k], axis) - 1) * PyArray_STRIDE(both[k], axis);
                if (span > 0) high[k] += span; else low[k] += span;
            }
            high[k] += PyArray_ITEMSIZE(both[k]);
        }
        return low[0] < high[1] && low[1] < high[0];
    }

    /* What an operand does along the last two axes. */
    enum { LAZYARRAY_CONTINUES, LAZYARRAY_REPEATS, LAZYARRAY_SPREADS, LAZYARRAY_JUMPS };

    static int lazyarray_way_of(const npy_intp *steps, const npy_intp *dims) {
        if (steps[0] == steps[1] * dims[1]) return LAZYARRAY_CONTINUES;
        if (!steps[0]) return LAZYARRAY_REPEATS;
        return steps[1] ? LAZYARRAY_JUMPS : LAZYARRAY_SPREADS;
    }

    #define LAZYARRAY_BLOCK 32

    #define LAZYARRAY_SPREAD(kind) { \\
        for (row = 0; row < rows; row++, from += step, into += width) { \\
            const kind value = *(const kind *)from; \\
            for (place = 0; place < width; place += LAZYARRAY_BLOCK) { \\
                kind *block = (kind *)(into + place); \\
                for (k = 0; k < LAZYARRAY_BLOCK / (int)sizeof(kind); k++) block[k] = value; \\
            } \\
        } \\
        return; }

    typedef struct { npy_uint64 half[2]; } lazyarray_sixteen;

    /* Rows of one element each, written `extent` times; a block more than them is overwritten. */
    LAZYARRAY_VECTORS static void lazyarray_spread(
        char *into, const char *from, npy_intp rows, npy_intp step, npy_intp extent, npy_intp size
    ) {
        npy_intp row, place, width = extent * size;
        int k;
        if (size == 1) LAZYARRAY_SPREAD(npy_uint8)
        if (size == 2) LAZYARRAY_SPREAD(npy_uint16)
        if (size == 4) LAZYARRAY_SPREAD(npy_uint32)
        if (size == 8) LAZYARRAY_SPREAD(npy_uint64)
        LAZYARRAY_SPREAD(lazyarray_sixteen)
    }

    /* One row, written `rows` times. */
    static void lazyarray_repeat(
        char *into, const char *from, npy_intp rows, npy_intp step, npy_intp extent, npy_intp size
    ) {
        npy_intp place, done = extent * size, all = done * rows;
        for (place = 0; place < extent; place++) memcpy(into + place * size, from + place * step, size);
        for (; done < all; done *= 2) memcpy(into + done, into, done < all - done ? done : all - done);
    }

    /* Short rows of arrays that lie without gaps, and what is broadcast against them: many rows are one call of the
       loop, on copies of the broadcast rows or elements, since a call takes as long as ten elements do. */
    static void lazyarray_run_rows(
        lazyarray_loop chosen, char **now, int count, npy_intp (*steps)[LAZYARRAY_AXES], int last, const npy_intp *dims,
        const npy_intp *sizes
    ) {
        _Alignas(64) char copies[2][LAZYARRAY_ROWS * 16 + LAZYARRAY_BLOCK];
        npy_intp extent = dims[1], rows = LAZYARRAY_ROWS / extent, start, here, inner[3], total;
        char *at[3];
        int k, way[3];
        if (rows > dims[0]) rows = dims[0];
        for (k = 0; k <= count; k++) {
            way[k] = lazyarray_way_of(&steps[k][last - 1], dims);
            inner[k] = way[k] == LAZYARRAY_CONTINUES ? steps[k][last] : sizes[k];
            at[k] = way[k] == LAZYARRAY_CONTINUES ? now[k] : copies[k];
            if (way[k] == LAZYARRAY_REPEATS) lazyarray_repeat(copies[k], now[k], rows, steps[k][last], extent, sizes[k]);
        }
        for (start = 0; start < dims[0]; start += rows) {
            here = rows < dims[0] - start ? rows : dims[0] - start;
            total = here * extent;
            for (k = 0; k <= count; k++) {
                char *row = now[k] + start * steps[k][last - 1];
                if (way[k] == LAZYARRAY_CONTINUES) at[k] = row;
                if (way[k] == LAZYARRAY_SPREADS)
                    lazyarray_spread(copies[k], row, here, steps[k][last - 1], extent, sizes[k]);
            }
            (*chosen.loop)(at, &total, inner, chosen.data);
        }
    }

    /* The result, or NULL: with an error set, or without one where the ufunc itself is to be called. */
    static PyObject *lazyarray_run(PyObject *ufunc, PyObject **given, int count, PyArrayObject *into) {
        PyArrayObject *first = NULL, *made = into;
        npy_intp dims[LAZYARRAY_AXES], steps[3][LAZYARRAY_AXES], at[LAZYARRAY_AXES], counts[3], total = 1;
        char *places[3], *now[3];
        double numbers[2][2];
        lazyarray_loop chosen;
        PyUFuncGenericFunction quicker = NULL;
        npy_intp sizes[3];
        int k, axis, rank = 0, kept = 0, outer, type = 0, raised;
        if (!lazyarray_is_ready()) return NULL;
        if (Py_TYPE(ufunc) != &PyUFunc_Type || ((PyUFuncObject *)ufunc)->nin != count) return NULL;
        for (k = 0; k < count; k++) {
            PyArrayObject *array = (PyArrayObject *)given[k];
            if (!PyArray_CheckExact(given[k])) continue;
            if (!first) {
                first = array;
                type = PyArray_TYPE(array);
                if (!lazyarray_is_plain_type(type)) return NULL;
            }
            if (PyArray_DESCR(array) != lazyarray_own(type) || !PyArray_ISALIGNED(array)) return NULL;
            if (PyArray_NDIM(array) > rank) rank = PyArray_NDIM(array);
        }
        if (!first || !rank || rank > LAZYARRAY_AXES) return NULL;
        if (((PyUFuncObject *)ufunc)->core_enabled) return NULL;
        chosen = lazyarray_loop_of(ufunc, type);
        if (!chosen.loop) return NULL;
        for (axis = 0; axis < rank; axis++) dims[axis] = 1;
        for (k = 0; k < count; k++) {
            PyArrayObject *array = (PyArrayObject *)given[k];
            npy_intp last = 0;
            int before;
            for (axis = 0; axis < rank; axis++) steps[k][axis] = 0;
            if (!PyArray_CheckExact(given[k])) {
                if (lazyarray_number_as(given[k], type, numbers[k]) < 0) return NULL;
                places[k] = (char *)numbers[k];
                continue;
            }
            places[k] = PyArray_BYTES(array);
            before = rank - PyArray_NDIM(array);
            for (axis = before; axis < rank; axis++) {
                npy_intp extent = PyArray_DIM(array, axis - before), step = PyArray_STRIDE(array, axis - before), size;
                if (extent == 0) return NULL;
                if (extent == 1) continue;
                if (dims[axis] != 1 && dims[axis] != extent) return NULL;
                /* NumPy turns some axes around, not others, and its loops round complex products by the direction. */
                if (step < 0 && PyTypeNum_ISCOMPLEX(type)) return NULL;
                dims[axis] = extent;
                steps[k][axis] = step;
                size = step < 0 ? -step : step;
                if (!into && size && last && size >= last) return NULL;  /* perhaps not a result in C order */
                if (size) last = size;
            }
        }
        if (into) {
            /* The first operand too. NumPy warns of writes to arrays that it has broadcast, by a flag of its own. */
            npy_intp inner = PyArray_ITEMSIZE(into);
            if (PyArray_NDIM(into) != rank || chosen.made != type || !PyArray_ISWRITEABLE(into)) return NULL;
            if (PyArray_FLAGS(into) & (1 << 31)) return NULL;
            for (axis = rank - 1; axis >= 0; axis--) {
                npy_intp step = steps[0][axis] < 0 ? -steps[0][axis] : steps[0][axis];
                if (PyArray_DIM(into, axis) != dims[axis]) return NULL;
                if (dims[axis] == 1) continue;
                if (step < inner) return NULL;  /* elements may share memory, or are not in C order */
                inner = step * dims[axis];
            }
            if (count == 2 && PyArray_CheckExact(given[1]) && given[1] != (PyObject *)into
                && lazyarray_may_meet(into, (PyArrayObject *)given[1])) return NULL;
            Py_INCREF(into);
        } else {
            made = (PyArrayObject *)PyArray_NewFromDescr(
                &PyArray_Type, PyArray_DescrFromType(chosen.made), rank, dims, NULL, NULL, 0, NULL);
            if (!made) return NULL;
        }
        places[count] = PyArray_BYTES(made);
        for (axis = 0; axis < rank; axis++) steps[count][axis] = PyArray_STRIDE(made, axis);
        /* Axes of one element vanish, and axes that lie behind one another in all memory become one. */
        for (axis = 0; axis < rank; axis++) {
            int joined = kept > 0;
            if (dims[axis] == 1) continue;
            total *= dims[axis];
            for (k = 0; k <= count && joined; k++) joined = steps[k][kept - 1] == steps[k][axis] * dims[axis];
            if (joined) kept--;
            dims[kept] = joined ? dims[kept] * dims[axis] : dims[axis];
            for (k = 0; k <= count; k++) steps[k][kept] = steps[k][axis];
            kept++;
        }
        if (!kept) {
            /* Of one element NumPy hands its loops the steps of arrays of one rank, and none of others or where it writes
               over one: by that they choose between forms that round complex products differently. */
            int alike = !into;
            for (k = 0; k < count; k++)
                if (PyArray_CheckExact(given[k]) && PyArray_NDIM((PyArrayObject *)given[k]) % rank) alike = 0;
            dims[0] = 1;
            for (k = 0; k <= count; k++) {
                PyArrayObject *array = k < count ? (PyArrayObject *)given[k] : made;
                int several = alike && PyArray_CheckExact((PyObject *)array) && PyArray_NDIM(array);
                steps[k][0] = several ? (rank == 1 ? PyArray_STRIDE(array, 0) : PyArray_ITEMSIZE(array)) : 0;
            }
            kept = 1;
        }
        for (k = 0; k <= count; k++) { now[k] = places[k]; counts[k] = steps[k][kept - 1]; }
        outer = kept - 1;
        if (outer && dims[outer] < LAZYARRAY_SHORT && dims[outer - 1] >= LAZYARRAY_FEW_ROWS) {
            for (k = 0; k < count && lazyarray_way_of(&steps[k][outer - 1], &dims[outer - 1]) != LAZYARRAY_JUMPS; k++) {
                sizes[k] = PyArray_CheckExact(given[k]) ? PyArray_ITEMSIZE((PyArrayObject *)given[k]) : 16;
            }
            if (k == count && lazyarray_way_of(&steps[k][outer - 1], &dims[outer - 1]) == LAZYARRAY_CONTINUES) {
                sizes[k] = PyArray_ITEMSIZE(made);
                outer--;
            }
        }
        for (axis = 0; axis < kept; axis++) at[axis] = 0;
        if (total >= LAZYARRAY_QUICKER) {
            quicker = lazyarray_quicker_of(ufunc, type, count == 2 && !PyArray_CheckExact(given[1]));
            if (quicker) chosen.loop = &quicker;
            else if (PyErr_Occurred()) { Py_DECREF(made); return NULL; }
        }
        lazyarray_forget_errors();
        {
            NPY_BEGIN_THREADS_DEF;
            if (total >= LAZYARRAY_UNHELD) { NPY_BEGIN_THREADS; }
            for (;;) {
                if (outer < kept - 1) lazyarray_run_rows(chosen, now, count, steps, kept - 1, &dims[outer], sizes);
                else (*chosen.loop)(now, &dims[kept - 1], counts, chosen.data);
                for (axis = outer - 1; axis >= 0; axis--) {
                    for (k = 0; k <= count; k++) places[k] += steps[k][axis];
                    if (++at[axis] < dims[axis]) break;
                    for (k = 0; k <= count; k++) places[k] -= steps[k][axis] * dims[axis];
                    at[axis] = 0;
                }
                if (axis < 0) break;
                for (k = 0; k <= count; k++) now[k] = places[k];
            }
            NPY_END_THREADS;
        }
        raised = fetestexcept(LAZYARRAY_ERRORS);
        if (raised && !PyErr_Occurred()) lazyarray_tell(lazyarray_name_of(ufunc), raised);
        if (PyErr_Occurred()) {
            Py_DECREF(made);
            return NULL;
        }
        return (PyObject *)made;
    }

    /* Whether all loops of a ufunc have operands of one type, but for those of times and objects: then doubles and what
       becomes doubles beside them take the loop of doubles. */
    static int lazyarray_is_uniform_ufunc(PyUFuncObject *ufunc) {
        int k;
        for (k = 0; k < ufunc->ntypes; k++) {
            const char *types = ufunc->types + (size_t)k * ufunc->nargs;
            int time = types[0] == NPY_DATETIME || types[0] == NPY_TIMEDELTA || types[1] == NPY_TIMEDELTA;
            if (types[0] != types[1] && !time) return 0;
        }
        return 1;
    }

    /* As `lazyarray_run`, of float64 and of integers, truth values or float32, which NumPy makes float64 first: in
       pieces that stay in the cache. Arrays without gaps and of one shape; a float beside an array of integers. */
    static PyObject *lazyarray_run_mixed(PyObject *called, PyObject **given, PyArrayObject *into) {
        PyUFuncObject *ufunc = (PyUFuncObject *)called;
        PyArrayObject *like = NULL, *made = into;
        lazyarray_widening widen[2] = {NULL, NULL};
        _Alignas(64) double pieces[2][LAZYARRAY_PIECE];
        double number[2];
        PyUFuncGenericFunction quicker = NULL;
        lazyarray_loop chosen;
        npy_intp start, here, total, steps[3], sizes[2] = {0, 0};
        char *places[3], *now[3];
        int k, doubles = 0, raised;
        if (Py_TYPE(called) != &PyUFunc_Type || ufunc->nin != 2 || ufunc->core_enabled) return NULL;
        for (k = 0; k < 2; k++) {
            PyArrayObject *array = (PyArrayObject *)given[k];
            int type;
            if (!PyArray_CheckExact(given[k])) continue;
            type = PyArray_TYPE(array);
            if (type != NPY_DOUBLE && !(widen[k] = lazyarray_widening_of(type))) return NULL;
            if (PyArray_DESCR(array) != lazyarray_own(type) || !PyArray_ISALIGNED(array) || !PyArray_NDIM(array)
                || !PyArray_IS_C_CONTIGUOUS(array) || (like && !PyArray_SAMESHAPE(array, like))) return NULL;
            doubles += type == NPY_DOUBLE;
            sizes[k] = PyArray_ITEMSIZE(array);
            places[k] = PyArray_BYTES(array);
            like = array;
        }
        if (!like || !PyArray_SIZE(like) || PyArray_NDIM(like) > LAZYARRAY_AXES) return NULL;
        for (k = 0; k < 2; k++) {
            if (PyArray_CheckExact(given[k])) continue;
            if (!PyFloat_CheckExact(given[k]) && Py_TYPE(given[k]) != &PyDoubleArrType_Type) return NULL;
            if (PyArray_TYPE(like) == NPY_FLOAT || lazyarray_number_as(given[k], NPY_DOUBLE, number) < 0) return NULL;
            places[k] = (char *)number;
            doubles++;
        }
        if (doubles != 1 || (into && widen[0])) return NULL;
        chosen = lazyarray_loop_of(called, NPY_DOUBLE);
        if (!chosen.loop || !lazyarray_is_plain_type(chosen.made) || !lazyarray_is_uniform_ufunc(ufunc)) return NULL;
        if (into) {
            if (chosen.made != NPY_DOUBLE || !PyArray_ISWRITEABLE(into) || PyArray_FLAGS(into) & (1 << 31)
                || lazyarray_may_meet(into, (PyArrayObject *)given[1])) return NULL;
            Py_INCREF(into);
        } else if (!(made = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(chosen.made),
            PyArray_NDIM(like), PyArray_DIMS(like), NULL, NULL, 0, NULL))) return NULL;
        total = PyArray_SIZE(like);
        if (total >= LAZYARRAY_QUICKER) {
            quicker = lazyarray_quicker_of(called, NPY_DOUBLE, !PyArray_CheckExact(given[1]));
            if (quicker) chosen.loop = &quicker;
            else if (PyErr_Occurred()) { Py_DECREF(made); return NULL; }
        }
        places[2] = PyArray_BYTES(made);
        for (k = 0; k < 2; k++) steps[k] = sizes[k] ? (npy_intp)sizeof(double) : 0;
        steps[2] = PyArray_ITEMSIZE(made);
        lazyarray_forget_errors();
        {
            NPY_BEGIN_THREADS_DEF;
            if (total >= LAZYARRAY_UNHELD) { NPY_BEGIN_THREADS; }
            for (start = 0; start < total; start += here) {
                here = total - start < LAZYARRAY_PIECE ? total - start : LAZYARRAY_PIECE;
                for (k = 0; k < 2; k++) {
                    now[k] = places[k] + start * sizes[k];
                    if (widen[k]) {
                        widen[k](pieces[k], now[k], here);
                        now[k] = (char *)pieces[k];
                    }
                }
                now[2] = places[2] + start * steps[2];
                (*chosen.loop)(now, &here, steps, chosen.data);
            }
            NPY_END_THREADS;
        }
        raised = fetestexcept(LAZYARRAY_ERRORS);
        if (raised && !PyErr_Occurred()) lazyarray_tell(lazyarray_name_of(called), raised);
        if (PyErr_Occurred()) {
            Py_DECREF(made);
            return NULL;
        }
        return (PyObject *)made;
    }

    static PyObject *lazyarray_call_with(PyObject *ufunc, PyObject *x, PyObject *y) {
        PyObject *given[2] = {x, y};
        return PyObject_Vectorcall(ufunc, given, y == Py_None ? 1 : 2, NULL);
    }

    static PyObject *lazyarray_run_numbers(PyObject *ufunc, PyObject *x, PyObject *y) {
        int count = y == Py_None ? 1 : 2, raised;
        double numbers[2][2], made[2];
        char *places[3] = {(char *)numbers[0], (char *)numbers[1], (char *)made};
        npy_intp once = 1, steps[3] = {0, 0, 0};
        lazyarray_loop chosen;
        if (!lazyarray_is_ready()) return NULL;
        if (Py_TYPE(ufunc) != &PyUFunc_Type || ((PyUFuncObject *)ufunc)->nin != count
            || ((PyUFuncObject *)ufunc)->core_enabled || lazyarray_number_as(x, NPY_DOUBLE, numbers[0]) < 0
            || (count == 2 && lazyarray_number_as(y, NPY_DOUBLE, numbers[1]) < 0)) return lazyarray_call_with(ufunc, x, y);
        chosen = lazyarray_loop_of(ufunc, NPY_DOUBLE);
        if (!chosen.loop || (chosen.made != NPY_DOUBLE && chosen.made != NPY_BOOL)) return lazyarray_call_with(ufunc, x, y);
        places[count] = (char *)made;
        lazyarray_forget_errors();
        (*chosen.loop)(places, &once, steps, chosen.data);
        raised = fetestexcept(LAZYARRAY_ERRORS);
        if (raised && !PyErr_Occurred()) lazyarray_tell(lazyarray_name_of(ufunc), raised);
        return PyErr_Occurred() ? NULL : PyArray_Scalar(made, lazyarray_own(chosen.made), NULL);
    }

    static PyObject *lazyarray_doubles_of(PyObject *given) {
        PyArrayObject *a = (PyArrayObject *)given;
        if (!lazyarray_is_ready()) return NULL;
        if (PyArray_TYPE(a) >= NPY_INT && PyArray_TYPE(a) <= NPY_ULONGLONG && PyArray_IS_C_CONTIGUOUS(a))
            return PyArray_CastToType(a, PyArray_DescrFromType(NPY_DOUBLE), 0);
        Py_INCREF(given);
        return given;
    }

    static PyObject *lazyarray_run_unary(PyObject *ufunc, PyObject *a) {
        PyObject *given[1] = {a}, *found = lazyarray_run(ufunc, given, 1, NULL);
        return found || PyErr_Occurred() ? found : PyObject_Vectorcall(ufunc, given, 1, NULL);
    }

    static PyObject *lazyarray_run_binary(PyObject *ufunc, PyObject *a, PyObject *b) {
        PyObject *given[2] = {a, b}, *found = lazyarray_run(ufunc, given, 2, NULL);
        if (!found && !PyErr_Occurred()) found = lazyarray_run_mixed(ufunc, given, NULL);
        return found || PyErr_Occurred() ? found : PyObject_Vectorcall(ufunc, given, 2, NULL);
    }

    static PyObject *lazyarray_run_into(PyObject *ufunc, PyObject *a, PyObject *b) {
        PyObject *given[3] = {a, b, a}, *found = NULL;
        if (lazyarray_is_ready() && PyArray_CheckExact(a))
            found = lazyarray_run(ufunc, given, 2, (PyArrayObject *)a);
        if (!found && !PyErr_Occurred() && PyArray_CheckExact(a) && PyArray_CheckExact(b))
            found = lazyarray_run_mixed(ufunc, given, (PyArrayObject *)a);
        return found || PyErr_Occurred() ? found : PyObject_Vectorcall(ufunc, given, 3, NULL);
    }
    """
    object run_unary "lazyarray_run_unary" (object ufunc, object a)
    object run_binary "lazyarray_run_binary" (object ufunc, object a, object b)
    object run_numbers "lazyarray_run_numbers" (object ufunc, object x, object y)
    object doubles_of "lazyarray_doubles_of" (object a)
    object run_into "lazyarray_run_into" (object ufunc, object a, object b)
