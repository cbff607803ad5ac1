# C's side of `vectors.py`: what Python calls for public functions, ufuncs and methods of arrays, with arguments where
# the interpreter has them. The usual small call goes from here to NumPy; all others to the object's own `__call__`.
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject, PyTypeObject

from lazyarray.frontend.callables cimport Builtin, Served, UfuncCall
from lazyarray.frontend.quick cimport COMPLEX128, FLOAT64, INT64, KINDS, Fields, Known, Limits, Op, known, limits, wrapped
from lazyarray.frontend.usual cimport binary, of_complex, of_float, of_floats, of_left, of_memory, of_number, unary
from lazyarray.frontend.small cimport INERT, REFUSED, listed, small_items
from lazyarray.frontend.viewed cimport layout_of, note_view, shows, view_again
from lazyarray.ir.node cimport _waiting, finish_waiting
from lazyarray.native.axes cimport folds_along, run_along
from lazyarray.native.direct cimport direct_of, lay_out, run_direct
from lazyarray.native.lists cimport floats_of, stack_of
from lazyarray.native.products cimport call_source, run_product
from lazyarray.native.primitives cimport holds_numbers, named_place, rank_of_memory, same_shape, size_of_memory

cdef enum:  # of `callables.py`
    ANY = 0
    AS_IS = 1
    SIZED = 2
    CONVERTS = 3
    LIKE = 4
    RANGE = 5
    SPACED = 6
    SQUARE = 7
    NUMBERS = 8
    FORTRAN = 9
    FEW = 10
    ITSELF = 11
    GROWS = 12
    REPEATS = 13
    COUNTS = 14
    CONTRACTS = 15
    SEARCHES = 16
    SORTS = 17
    RANKS = 18
    PIECES = 19
    PLAINLY = 20
    FEW_COUNTED = 1 << 8
    FEW_RANGED = 1 << 13
    FEW_CONTRACTED = 1 << 13
    FEW_SEARCHED = 1 << 12
    FEW_SORTED = 1 << 15
    FEW_RANKED = 1 << 11
    FEW_DRAWN = 1 << 15
    FEW_SPACED = 50  # elements where nobody says how many

cdef extern from *:
    """
    #include "numpy/ndarraytypes.h"

    #define LAZYARRAY_MOST 8

    static size_t lazyarray_total(size_t given, PyObject *names) {
        return given + (names ? PyTuple_GET_SIZE(names) : 0);
    }

    /* Types that no function of NumPy's asks anything. */
    static int lazyarray_quiet(PyTypeObject *kind) {
        return kind == &PyFloat_Type || kind == &PyLong_Type || kind == Py_TYPE(Py_None) || kind == &PyBool_Type
            || kind == &PyUnicode_Type || kind == &PyType_Type;
    }

    static int lazyarray_number(PyObject *item) { return PyFloat_CheckExact(item) || PyLong_CheckExact(item); }

    static int lazyarray_is_call(PyObject *method) {
        return PyUnicode_CheckExact(method) && !PyUnicode_CompareWithASCIIString(method, "__call__");
    }

    static int lazyarray_float(PyObject *item) { return PyFloat_CheckExact(item); }

    static int lazyarray_complex(PyObject *item) { return PyComplex_CheckExact(item); }

    /* NaN for what a float cannot be. */
    static double lazyarray_double(PyObject *item) {
        double found = PyFloat_AsDouble(item);
        if (found == -1.0 && PyErr_Occurred()) { PyErr_Clear(); return Py_NAN; }
        return found;
    }

    /* The elements of a plain small shape; -1 for what needs a closer look. */
    static Py_ssize_t lazyarray_extent(PyObject *shape) {
        Py_ssize_t size = 1, extent, place;
        if (PyLong_CheckExact(shape)) {
            extent = PyLong_AsSsize_t(shape);
            if (extent == -1 && PyErr_Occurred()) PyErr_Clear();
            return extent;
        }
        if (!PyTuple_CheckExact(shape) && !PyList_CheckExact(shape)) return -1;
        for (place = 0; place < PySequence_Fast_GET_SIZE(shape); place++) {
            PyObject *item = PySequence_Fast_GET_ITEM(shape, place);
            extent = PyLong_CheckExact(item) ? lazyarray_extent(item) : -1;
            if (extent < 0 || extent >= 1 << 30) return -1;
            size *= extent;
            if (size > 1 << 30) return -1;
        }
        return size;
    }

    /* Whether all names are among those, between blanks. */
    static int lazyarray_names_among(PyObject *names, const char *known) {
        Py_ssize_t place;
        for (place = 0; names && place < PyTuple_GET_SIZE(names); place++) {
            PyObject *name = PyTuple_GET_ITEM(names, place);
            size_t length = (size_t)PyUnicode_GET_LENGTH(name);
            const char *text, *at;
            if (!PyUnicode_IS_ASCII(name)) return 0;
            text = (const char *)PyUnicode_1BYTE_DATA(name);
            for (at = strstr(known, text); at; at = strstr(at + 1, text))
                if (length && (at == known || at[-1] == ' ') && (at[length] == ' ' || !at[length])) break;
            if (!at) return 0;
        }
        return 1;
    }

    /* The argument that stands at a place, or has a name; NULL where there is none. */
    static PyObject *lazyarray_option(
        PyObject *const *args, size_t given, PyObject *names, size_t place, const char *name
    ) {
        Py_ssize_t k;
        if (place < given) return args[place];
        for (k = 0; names && k < PyTuple_GET_SIZE(names); k++)
            if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, k), name)) return args[given + k];
        return NULL;
    }

    /* Where the axis stands among arguments that say it, and perhaps `keepdims`, after the array; 0 for others. */
    static size_t lazyarray_axis_among(PyObject *const *args, size_t given, PyObject *names, int *keep) {
        size_t total = lazyarray_total(given, names), named = total - given;
        *keep = 0;
        if (total < 2 || total > 3 || !PyLong_CheckExact(args[1])) return 0;
        if (given == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "axis")) return 0;
        if (total == 3) {
            if (!named || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, named - 1), "keepdims")) return 0;
            if (!PyBool_Check(args[2])) return 0;
            *keep = args[2] == Py_True;
        }
        return given < 3 ? 1 : 0;
    }

    /* Whether the subscripts of operands have so many combinations of labels, and more than an operand has elements. */
    static int lazyarray_contracts(PyObject *subscripts, PyObject **operands, size_t count, double least) {
        PyArrayObject **arrays = (PyArrayObject **)operands;
        double places = 1.0, most = 0.0, all = 1.0;
        npy_intp extents[128] = {0};
        const char *text;
        size_t k;
        int axis = 0;
        for (k = 0; k < count; k++) {
            double size = (double)PyArray_SIZE(arrays[k]);
            all *= size;
            if (size > most) most = size;
        }
        if (all < least || !PyUnicode_CheckExact(subscripts) || !PyUnicode_IS_ASCII(subscripts)) return 0;
        for (text = (const char *)PyUnicode_1BYTE_DATA(subscripts), k = 0; *text && *text != '-'; text++) {
            if (*text == ' ') continue;
            if (*text == ',') {
                if (axis != PyArray_NDIM(arrays[k]) || ++k == count) return 0;
                axis = 0;
                continue;
            }
            if (!Py_ISALPHA(*text) || axis >= PyArray_NDIM(arrays[k])) return 0;
            if (!extents[(int)*text]) places *= extents[(int)*text] = PyArray_DIM(arrays[k], axis);
            else if (extents[(int)*text] != PyArray_DIM(arrays[k], axis)) return 0;
            axis++;
        }
        return k == count - 1 && axis == PyArray_NDIM(arrays[k]) && places >= least && places > most;
    }

    static PyObject *lazyarray_packed(PyObject *const *args, size_t count) {
        PyObject *made = PyTuple_New(count);
        size_t place;
        for (place = 0; made && place < count; place++) {
            Py_INCREF(args[place]);
            PyTuple_SET_ITEM(made, place, args[place]);
        }
        return made;
    }

    /* The arguments in a tuple, if they are None, integers and tuples of integers, of which one is `axis` by name.
       `int64`: NumPy's integer, which stands for Python's. */
    static PyObject *lazyarray_integers(PyObject *const *args, size_t given, PyObject *names, PyTypeObject *int64) {
        size_t total = lazyarray_total(given, names), place;
        if (total > given && !lazyarray_names_among(names, "axis")) Py_RETURN_NONE;
        for (place = 0; place < total; place++) {
            PyObject *item = args[place], *part;
            Py_ssize_t k;
            if (item == Py_None || PyLong_CheckExact(item) || Py_TYPE(item) == int64) continue;
            if (!PyTuple_CheckExact(item)) Py_RETURN_NONE;
            for (k = 0; k < PyTuple_GET_SIZE(item); k++) {
                part = PyTuple_GET_ITEM(item, k);
                if (!PyLong_CheckExact(part) && Py_TYPE(part) != int64) Py_RETURN_NONE;
            }
        }
        return lazyarray_packed(args, total);
    }

    static int lazyarray_names_tuple(PyObject *const *named, PyObject *names) {
        Py_ssize_t place, count = names ? PyTuple_GET_SIZE(names) : 0;
        for (place = 0; place < count; place++) if (PyTuple_Check(named[place])) return 1;
        return 0;
    }

    static int lazyarray_listed(PyTypeObject *kind) { return kind == &PyTuple_Type || kind == &PyList_Type; }

    static int lazyarray_nested(PyObject *found) {
        return PyTuple_Check(found) || PyList_Check(found) || PyDict_Check(found);
    }

    static void lazyarray_drop(PyObject **passed, size_t count) { while (count > 0) Py_DECREF(passed[--count]); }

    /* The object's own `__call__`. */
    static PyObject *lazyarray_general(PyObject *self, PyObject *const *args, size_t given, PyObject *names) {
        PyObject *positional = lazyarray_packed(args, given), *named = NULL, *found = NULL;
        size_t place;
        if (!positional) return NULL;
        if (names && PyTuple_GET_SIZE(names)) {
            if (!(named = PyDict_New())) goto done;
            for (place = 0; place < (size_t)PyTuple_GET_SIZE(names); place++)
                if (PyDict_SetItem(named, PyTuple_GET_ITEM(names, place), args[given + place]) < 0) goto done;
        }
        found = Py_TYPE(self)->tp_call(self, positional, named);
    done:
        Py_DECREF(positional);
        Py_XDECREF(named);
        return found;
    }

    /* Has Python call `vector` for the object: `field` is a word of it. Its class says where that is. */
    static void lazyarray_begin(PyObject *self, size_t *field, void *vector, int binds) {
        PyTypeObject *type = Py_TYPE(self);
        *field = (size_t)vector;
        type->tp_vectorcall_offset = (char *)field - (char *)self;
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | (binds ? Py_TPFLAGS_METHOD_DESCRIPTOR : 0);
        PyType_Modified(type);
    }
    """
    PyObject *PyEval_GetGlobals()
    enum: LAZYARRAY_MOST, NPY_DOUBLE, NPY_LONG
    size_t lazyarray_total(size_t given, PyObject *names)
    bint lazyarray_quiet(PyTypeObject *kind)
    bint lazyarray_number(PyObject *item)
    bint lazyarray_is_call(PyObject *method)
    bint lazyarray_float(PyObject *item)
    bint lazyarray_complex(PyObject *item)
    double lazyarray_double(PyObject *item)
    Py_ssize_t lazyarray_extent(PyObject *shape)
    bint names_among "lazyarray_names_among" (PyObject *names, const char *known)
    PyObject *option "lazyarray_option" (PyObject **args, size_t given, PyObject *names, size_t place, const char *name)
    size_t axis_among "lazyarray_axis_among" (PyObject **args, size_t given, PyObject *names, int *keep)
    bint contracts "lazyarray_contracts" (PyObject *subscripts, PyObject **operands, size_t count, double least)
    object integers_of "lazyarray_integers" (PyObject **args, size_t given, PyObject *names, PyTypeObject *int64)
    bint lazyarray_names_tuple(PyObject **named, PyObject *names)
    bint lazyarray_listed(PyTypeObject *kind)
    bint lazyarray_nested(PyObject *found)
    void lazyarray_drop(PyObject **passed, size_t count)
    PyObject *lazyarray_general(PyObject *self, PyObject **args, size_t given, PyObject *names) except NULL
    void lazyarray_begin(PyObject *self, size_t *field, void *vector, bint binds)
    PyTypeObject *Py_TYPE(PyObject *item)
    void Py_INCREF "Py_INCREF" (PyObject *item)
    void Py_DECREF "Py_DECREF" (PyObject *item)
    size_t PyVectorcall_NARGS(size_t flags)
    size_t PY_VECTORCALL_ARGUMENTS_OFFSET
    PyObject *PyObject_Vectorcall(PyObject *function, PyObject **args, size_t flags, PyObject *names)
    bint PyLong_CheckExact(PyObject *item)
    bint PyTuple_CheckExact(PyObject *item)
    PyObject *Py_None


# A tuple of NumPy's arrays as one of lazyarray's; None for others.
cdef inline wrapped_items(found):
    cdef list made
    if type(found) is not tuple:
        return None
    made = []
    for item in <tuple>found:
        if Py_TYPE(<PyObject *>item) != <PyTypeObject *>known.memory:
            return None
        made.append(wrapped(item))
    return tuple(made)


# What NumPy returned, as lazyarray's; takes the reference. `as_is`: what is in lists and tuples is not looked at.
cdef inline PyObject *taken(PyObject *found, bint as_is) except NULL:
    cdef object made
    if Py_TYPE(found) == <PyTypeObject *>known.memory:
        made = wrapped(<object>found)
    elif not as_is and lazyarray_nested(found):
        made = wrapped_items(<object>found)
        if made is None:
            made = known.adopt(<object>found)
    else:
        return found
    Py_DECREF(found)
    Py_INCREF(<PyObject *>made)
    return <PyObject *>made


# What NumPy's `source` makes of small arguments; REFUSED, borrowed, where nothing has happened. `as_is`: what is in lists
# and tuples that it returns is not looked at. `owner`: whose method the source is, or NULL.
cdef inline PyObject *small_vector(
    PyObject *source, PyObject *inner, PyObject *owner, PyObject **args, size_t given, PyObject *names, bint as_is
) except NULL:
    cdef PyObject *passed[LAZYARRAY_MOST + 1]
    cdef size_t total = lazyarray_total(given, names), place = 0, other
    cdef PyTypeObject *kind
    cdef PyObject *item
    cdef PyObject *found
    cdef object listed
    passed[0] = owner
    if total > LAZYARRAY_MOST:
        return <PyObject *>REFUSED
    while place < total:
        item = args[place]
        kind = Py_TYPE(item)
        if kind == <PyTypeObject *>known.array:
            item = <PyObject *>(<Fields>item)._np
            if item == Py_None or size_of_memory(<object>item) >= limits.eager:
                break
            Py_INCREF(item)
        elif lazyarray_quiet(kind):
            Py_INCREF(item)
        elif kind == <PyTypeObject *>known.memory:
            if size_of_memory(<object>item) >= limits.eager:
                break
            Py_INCREF(item)
        elif lazyarray_listed(kind):
            listed = small_items(<object>item)
            if listed is None:
                break
            item = <PyObject *>listed
            Py_INCREF(item)
        elif <object>kind in INERT:
            Py_INCREF(item)
        else:
            break
        place += 1
        passed[place] = item
    if place < total:
        lazyarray_drop(passed + 1, place)
        return <PyObject *>REFUSED
    if owner != NULL:
        found = PyObject_Vectorcall(source, passed, given + 1, names)
    else:
        found = call_source(source, inner, passed + 1, given | PY_VECTORCALL_ARGUMENTS_OFFSET, names)
    if found == NULL:
        lazyarray_drop(passed + 1, total)
        return NULL
    if Py_TYPE(found) == <PyTypeObject *>known.memory:
        for other in range(total):
            if passed[other + 1] == found:
                # An `out`, or an argument that is the result: the array given for it.
                Py_DECREF(found)
                found = args[other]
                Py_INCREF(found)
                lazyarray_drop(passed + 1, total)
                return found
    found = taken(found, as_is)
    lazyarray_drop(passed + 1, total)
    return found


# Whether the items of a list or tuple are small arrays of numbers of one shape and dtype, which NumPy stacks.
cdef inline bint stacks(items):
    cdef object first = None, data
    for item in items:
        data = (<Fields>item)._np if Py_TYPE(<PyObject *>item) == <PyTypeObject *>known.array else None
        if data is None or not holds_numbers(data):
            return False
        if first is None:
            first = data
        elif first.dtype is not data.dtype or not same_shape(first, data):
            return False
    return first is not None


# The array of a list or tuple of arrays of numbers of one shape and dtype in memory, a small one; None for others.
cdef inline stacked(items):
    cdef object first = None, data
    cdef Fields array
    cdef list passed = []
    for item in items:
        if Py_TYPE(<PyObject *>item) != <PyTypeObject *>known.array:
            return None
        array = <Fields>item
        data = array._np
        if data is None and array._node is None:
            data = known.window(item)
        if data is None or not holds_numbers(data):
            return None
        if first is None:
            first = data
            if len(items) * size_of_memory(first) >= limits.eager:
                return None
        passed.append(data)
    return None if first is None else stack_of(passed, None)


# Whether NumPy's function makes an array of its one argument.
cdef inline bint converts(int guard):
    return guard == CONVERTS or guard == FORTRAN or guard == ITSELF


# Whether the arguments are vectors whose product, or whose one's square, is small. An integer lengthens the one.
cdef inline bint grows_little(PyObject **args, size_t given):
    cdef double size = 1.0, longer = 0.0
    cdef size_t place, vectors = 0
    for place in range(given):
        if Py_TYPE(args[place]) == <PyTypeObject *>known.array:
            if (<Fields>args[place])._np is None or rank_of_memory((<Fields>args[place])._np) != 1:
                return False
            size *= size_of_memory((<Fields>args[place])._np)
        elif Py_TYPE(args[place]) == <PyTypeObject *>list:
            size *= len(<list>args[place])
        elif place == 1 and given == 2 and PyLong_CheckExact(args[place]):
            longer = abs(lazyarray_double(args[place]))
            continue
        else:
            return False
        vectors += 1
    size += longer
    return (size if vectors > 1 else size * size) < limits.eager


cdef inline bint is_int64(PyObject *item):
    return Py_TYPE(item) == <PyTypeObject *>INT64


cdef inline bint is_number(PyObject *item):
    return lazyarray_number(item) or is_int64(item)


# NaN for what a float cannot be.
cdef inline double value_of(PyObject *item):
    return <double>named_place(<object>item) if is_int64(item) else lazyarray_double(item)


# The elements of a plain small shape, of Python's integers or NumPy's; -1 for what needs a closer look.
cdef inline Py_ssize_t extent_of_shape(PyObject *shape):
    cdef Py_ssize_t size, extent
    cdef object item
    if is_int64(shape):
        return max(named_place(<object>shape), -1)
    size = lazyarray_extent(shape)
    if size >= 0:
        return size
    if not PyTuple_CheckExact(shape):
        return -1
    size = 1
    for item in <tuple><object>shape:
        if is_int64(<PyObject *>item):
            extent = named_place(item)
        elif type(item) is int:
            extent = lazyarray_extent(<PyObject *>item)
        else:
            return -1
        if not 0 <= extent < 1 << 30:
            return -1
        size *= extent
        if size > 1 << 30:
            return -1
    return size


# Whether the result is small, of an array that is repeated; of others nothing is said.
cdef inline bint repeats_little(PyObject **args, size_t given):
    cdef double size
    if given < 2 or Py_TYPE(args[0]) != <PyTypeObject *>known.array or (<Fields>args[0])._np is None:
        return True
    size = size_of_memory((<Fields>args[0])._np)
    return size * extent_of_shape(args[1]) < limits.eager


# Whether NumPy's histogram of so many elements takes no longer than a kernel's; in a range that is given, or its own.
cdef inline bint counts_few(Py_ssize_t size, size_t given, PyObject *names):
    return size < FEW_COUNTED or (size < FEW_RANGED and given < 3 and names_among(names, "bins"))


# Whether it is an array in memory of so many values, or of so many as a vector.
cdef inline bint are_many(PyObject *array, Py_ssize_t many, Py_ssize_t as_vector):
    cdef Py_ssize_t size
    if not has_numbers(array):
        return False
    size = size_of_memory((<Fields>array)._np)
    return size >= many or (size >= as_vector and rank_of_memory((<Fields>array)._np) == 1)


# Whether no argument is such an array, or has one, as a tuple.
cdef inline bint are_few(PyObject **args, size_t given, Py_ssize_t many, Py_ssize_t as_vector):
    cdef size_t place
    cdef object item
    for place in range(given):
        if are_many(args[place], many, as_vector):
            return False
        if Py_TYPE(args[place]) == <PyTypeObject *>tuple:
            for item in <tuple>args[place]:
                if are_many(<PyObject *>item, many, as_vector):
                    return False
    return True


# Whether `einsum` of subscripts and arrays of numbers in memory makes many products of their elements.
cdef inline bint contracted(PyObject **args, size_t given):
    cdef PyObject *operands[LAZYARRAY_MOST]
    cdef size_t place
    if not 3 <= given <= LAZYARRAY_MOST:
        return False
    for place in range(1, given):
        if not has_numbers(args[place]):
            return False
        operands[place - 1] = <PyObject *>(<Fields>args[place])._np
    return contracts(args[0], operands, given - 1, FEW_CONTRACTED)


# Whether there are so few elements as an argument says, which is an integer.
cdef inline bint is_few(PyObject *number):
    return is_number(number) and not lazyarray_float(number) and 0 <= value_of(number) < limits.eager


# Whether the arguments of a function that makes arrays of numbers say how many they have, and that is little.
cdef inline bint makes_few(int guard, PyObject **args, size_t given, PyObject *names):
    cdef bint few
    cdef double start = 0.0, stop, step = 1.0
    cdef PyObject *side
    cdef size_t place
    for place in range(given):
        if not is_number(args[place]):
            return False
    if given == 0:
        return False
    if guard == SPACED:
        side = option(args, given, names, 2, "num")
        few = FEW_SPACED < limits.eager if side == NULL else is_few(side)
        return given > 1 and few and names_among(names, "num endpoint retstep dtype")
    stop = value_of(args[0])
    if guard == SQUARE:
        side = option(args, given, names, 1, "M")
        if side == NULL or side == Py_None:
            side = args[0]
        if not names_among(names, "M k dtype order") or not is_few(args[0]) or not is_few(side):
            return False
        return stop * value_of(side) < limits.eager
    if given > 1:
        start, stop = stop, value_of(args[1])
    if given > 2:
        step = value_of(args[2])
    # One less than the limit: rounding may add an element.
    return names_among(names, "dtype") and step != 0.0 and 0 <= (stop - start) / step < limits.eager - 1


# Whether an array is made of a number, of a list of such or of arrays, of a range, or of an array.
cdef inline bint converts_few(PyObject **args, size_t given, PyObject *names):
    cdef object item
    if given == 0 or given > 2 or not names_among(names, "dtype copy"):
        return False
    item = <object>args[0]
    if type(item) is range:
        return len(item) < limits.eager
    if given == 2 or names != NULL:
        if given == 1 and type(item) is known.array:
            return names_among(names, "copy")
        return lazyarray_listed(Py_TYPE(args[0])) and small_items(item) is item
    if lazyarray_listed(Py_TYPE(args[0])):
        return stacks(item) or small_items(item) is item
    return type(item) is known.array or lazyarray_number(args[0]) or Py_TYPE(args[0]) == <PyTypeObject *>FLOAT64


# Whether the arguments are those that the guard asks for; their own kinds are `small_vector`'s to look at.
cdef inline bint fits(int guard, PyObject **args, size_t given, PyObject *names) except -1:
    cdef PyObject *shape
    if guard == REPEATS:
        return repeats_little(args, given)
    if guard == COUNTS:
        return given > 0 and has_numbers(args[0]) and counts_few(size_of_memory((<Fields>args[0])._np), given, names)
    if guard == SEARCHES:
        return are_few(args, given, FEW_SEARCHED, FEW_SEARCHED)
    if SORTS <= guard <= PIECES:
        return are_few(args, given, FEW_RANKED if guard == RANKS else FEW_SORTED, FEW_SORTED if guard == SORTS else FEW_RANKED)
    if guard == CONTRACTS:
        return names != NULL or not contracted(args, given)
    if converts(guard):
        return converts_few(args, given, names)
    if guard == SIZED:
        shape = option(args, given, names, 0, "shape")
        if shape == NULL or given > 3 or not names_among(names, "shape dtype order fill_value"):
            return False
        return 0 <= extent_of_shape(shape) < limits.eager
    if given == 0 or given > 3:
        return False
    if guard == GROWS:
        return names == NULL and grows_little(args, given)
    if guard == LIKE:
        if given == 3 or not names_among(names, "dtype"):
            return False
        return Py_TYPE(args[0]) == <PyTypeObject *>known.array or Py_TYPE(args[0]) == <PyTypeObject *>list
    return makes_few(guard, args, given, names)


cdef inline bint has_numbers(PyObject *array):
    if Py_TYPE(array) != <PyTypeObject *>known.array or (<Fields>array)._np is None:
        return False
    return holds_numbers((<Fields>array)._np)


cdef inline PyObject *made_of(PyObject *source, PyObject **args, size_t given) except NULL:
    cdef PyObject *found = PyObject_Vectorcall(source, args, given, NULL)
    if found == NULL:
        return NULL
    return taken(found, True)


cdef inline PyObject *guarded_vector(
    int guard, PyObject *source, PyObject *inner, PyObject **args, size_t given, PyObject *names
) except NULL:
    cdef object made
    if (guard == CONVERTS or guard == ITSELF) and given == 1 and names == NULL and lazyarray_listed(Py_TYPE(args[0])):
        made = stacked(<object>args[0])
        if made is not None:
            made = wrapped(made)
            Py_INCREF(<PyObject *>made)
            return <PyObject *>made
    if guard == NUMBERS:
        if given == 0 or not has_numbers(args[0]):
            return <PyObject *>REFUSED
    elif guard > AS_IS and not fits(guard, args, given, names):
        return <PyObject *>REFUSED
    elif names == NULL and (LIKE < guard < NUMBERS or (guard == SIZED and given == 1)):
        return made_of(source, args, given)  # of numbers alone
    return small_vector(source, inner, NULL, args, given, names, guard == AS_IS or guard == NUMBERS)


# What C makes of the arguments without NumPy's look at them; REFUSED, borrowed, for those that it does not know.
cdef inline PyObject *direct_vector(void *direct, bint asks, PyObject **args, size_t given) except NULL:
    cdef PyObject *first = args[0]
    cdef PyObject *rest[LAZYARRAY_MOST]
    cdef PyObject *found
    cdef size_t place
    if given > LAZYARRAY_MOST:
        return <PyObject *>REFUSED
    if Py_TYPE(first) == <PyTypeObject *>known.array:
        first = <PyObject *>(<Fields>first)._np
        if Py_TYPE(first) != <PyTypeObject *>known.memory or size_of_memory(<object>first) >= limits.eager:
            return <PyObject *>REFUSED
    elif asks or Py_TYPE(first) == <PyTypeObject *>known.memory:
        return <PyObject *>REFUSED
    for place in range(given - 1):
        rest[place] = args[place + 1]
        if rest[place] != NULL and Py_TYPE(rest[place]) == <PyTypeObject *>known.array:
            rest[place] = <PyObject *>(<Fields>rest[place])._np
            if Py_TYPE(rest[place]) != <PyTypeObject *>known.memory or size_of_memory(<object>rest[place]) >= limits.eager:
                return <PyObject *>REFUSED
    found = run_direct(direct, first, rest, given - 1, limits.eager, <PyObject *>REFUSED)
    if found == <PyObject *>REFUSED:
        return found
    if found != first:
        return taken(found, False)
    Py_DECREF(found)
    Py_INCREF(args[0])
    return args[0]


# The same where arguments are named: each at its place, NULL at those that are left out.
cdef inline PyObject *laid_vector(void *direct, bint asks, PyObject **args, size_t given, PyObject *names) except NULL:
    cdef PyObject *laid[LAZYARRAY_MOST]
    cdef size_t total = lay_out(direct, args, given, names, laid, LAZYARRAY_MOST)
    return direct_vector(direct, asks, laid, total) if total else <PyObject *>REFUSED


# What C makes of a small array along an axis; REFUSED, borrowed, for what it does not know.
cdef inline PyObject *along_vector(void *direct, PyObject **args, size_t given, PyObject *names) except NULL:
    cdef PyObject *data
    cdef PyObject *found
    cdef int keep
    cdef size_t place = axis_among(args, given, names, &keep)
    if not place or Py_TYPE(args[0]) != <PyTypeObject *>known.array:
        return <PyObject *>REFUSED
    data = <PyObject *>(<Fields>args[0])._np
    if data == Py_None or size_of_memory(<object>data) >= limits.eager:
        return <PyObject *>REFUSED
    found = run_along(direct, data, args[place], keep, <PyObject *>REFUSED)
    return found if found == <PyObject *>REFUSED else taken(found, True)


# The same, or what C makes of an array as a whole.
cdef inline PyObject *named_vector(size_t direct, bint asks, PyObject **args, size_t given, PyObject *names) except NULL:
    cdef PyObject *found
    if given > 0 and (given > 1 or names != NULL) and folds_along(<void *>direct):
        found = along_vector(<void *>direct, args, given, names)
        if found != <PyObject *>REFUSED:
            return found
    if names == NULL:
        return direct_vector(<void *>direct, asks, args, given)
    return laid_vector(<void *>direct, asks, args, given, names)


# Whether what asks a function's arguments for functions of their own takes such a first argument without complaint.
cdef inline bint asks_none(PyTypeObject *kind):
    return kind == <PyTypeObject *>known.array or kind == <PyTypeObject *>known.memory or lazyarray_listed(kind)


# A function that shows its first argument, a managed array: as it showed one laid out alike.
cdef inline PyObject *view_vector(Served own, PyObject **args, size_t flags, PyObject *names) except NULL:
    cdef object array = <object>args[0], layout = None, found
    cdef object given = integers_of(args + 1, PyVectorcall_NARGS(flags) - 1, names, <PyTypeObject *>INT64)
    cdef PyObject *made
    if given is not None:
        layout = layout_of(array, given, None if names == NULL else <object>names)
    if layout is not None:
        found = view_again(own.views, array, layout)
        if found is not None:
            Py_INCREF(<PyObject *>found)
            return <PyObject *>found
    made = PyObject_Vectorcall(<PyObject *>own.function, args, flags, names)
    if made != NULL and layout is not None:
        note_view(own.views, array, layout, <object>made)
    return made


cdef inline PyObject *served_vector(PyObject *self, PyObject **args, size_t flags, PyObject *names) except NULL:
    cdef Served own = <Served>self
    cdef size_t given = PyVectorcall_NARGS(flags)
    cdef PyObject *source = <PyObject *>own.source
    cdef PyObject *inner = NULL
    cdef PyObject *found
    if _waiting.open:
        finish_waiting()
    if (
        own.views is not None and given > 0 and Py_TYPE(args[0]) == <PyTypeObject *>known.array
        and (<Fields>args[0])._np is None
    ):
        return view_vector(own, args, flags, names)
    if own.direct and (given > 0 or names != NULL):
        found = named_vector(own.direct, own.asks, args, given, names)
        if found != <PyObject *>REFUSED:
            return found
    if (
        own.method is not None and 0 < given < 3 and names_among(names, "axis")
        and Py_TYPE(args[0]) == <PyTypeObject *>known.array
    ):
        source = <PyObject *>own.method
    elif own.inner is not None and given > 0 and asks_none(Py_TYPE(args[0])):
        inner = <PyObject *>own.inner
    found = guarded_vector(own.guard, source, inner, args, given, names)
    if found != <PyObject *>REFUSED:
        return found
    return PyObject_Vectorcall(<PyObject *>own.function, args, flags, names)


cdef inline PyObject *builtin_vector(PyObject *self, PyObject **args, size_t flags, PyObject *names) except NULL:
    cdef PyObject *found
    cdef Builtin own = <Builtin>self
    cdef size_t given = PyVectorcall_NARGS(flags)
    if own.guard == ITSELF and given == 1 and names == NULL:
        if Py_TYPE(args[0]) == <PyTypeObject *>known.array:
            Py_INCREF(args[0])
            return args[0]
    if _waiting.open:
        finish_waiting()
    if own.direct and (given > 0 or names != NULL):
        found = named_vector(own.direct, own.asks, args, given, names)
        if found != <PyObject *>REFUSED:
            return found
    if own.source is not None:
        found = guarded_vector(own.guard, <PyObject *>own.source, NULL, args, given, names)
        if found != <PyObject *>REFUSED:
            return found
    return PyObject_Vectorcall(<PyObject *>own.function, args, flags, names)


cdef inline bint is_float(PyObject *item):
    return lazyarray_float(item) or Py_TYPE(item) == <PyTypeObject *>FLOAT64


# Whether a ufunc of two numbers computes them as float64: one is a float of Python's or NumPy's, the other, too, or an int.
cdef inline bint computed_as_floats(PyObject *x, PyObject *y):
    if is_float(x):
        return is_float(y) or lazyarray_number(y)
    return is_float(y) and lazyarray_number(x)


# Whether one or two numbers are to be computed as complex128: one is complex, Python's or NumPy's, the other any number.
cdef inline bint computed_as_complex(PyObject **args, size_t given):
    cdef bint found = False
    cdef size_t place
    for place in range(given):
        if lazyarray_complex(args[place]) or Py_TYPE(args[place]) == <PyTypeObject *>COMPLEX128:
            found = True
        elif not is_float(args[place]) and not lazyarray_number(args[place]):
            return False
    return found


# NumPy's own array, or the small memory of one of lazyarray's; None for others.
cdef inline memory_of(PyObject *item):
    if Py_TYPE(item) == <PyTypeObject *>known.array:
        return (<Fields>item)._np
    return <object>item if Py_TYPE(item) == <PyTypeObject *>known.memory else None


# Whether all are integers that float64 has.
cdef inline bint are_integers(PyObject **args, size_t given):
    cdef size_t place
    for place in range(given):
        if not is_int64(args[place]) and (not lazyarray_number(args[place]) or lazyarray_float(args[place])):
            return False
        if not -9007199254740992.0 <= value_of(args[place]) <= 9007199254740992.0:
            return False
    return True


# The ufunc `matmul` of two operands, one of which is an array.
cdef inline PyObject *product_vector(PyObject *product, PyObject **args) except NULL:
    cdef object x = memory_of(args[0]), y = memory_of(args[1]), found
    if x is None or y is None or size_of_memory(x) >= limits.eager or size_of_memory(y) >= limits.eager:
        x = y = None
        return PyObject_Vectorcall(product, args, 2, NULL)
    finish_waiting()
    found = run_product((<Served>product).source, x, y)
    if Py_TYPE(<PyObject *>found) == <PyTypeObject *>known.memory:
        found = wrapped(found)
    Py_INCREF(<PyObject *>found)
    return <PyObject *>found


cdef inline PyObject *ufunc_vector(PyObject *self, PyObject **args, size_t flags, PyObject *names) except NULL:
    cdef UfuncCall own = <UfuncCall>self
    cdef size_t given = PyVectorcall_NARGS(flags)
    cdef object found
    cdef PyObject *made
    cdef bint bare = names == NULL and given == <size_t>own.nin and own._op is not None
    if bare:
        if Py_TYPE(args[0]) == <PyTypeObject *>known.array:
            if given == 1:
                found = unary(own._op, <Fields>args[0], 1, 0)
                Py_INCREF(<PyObject *>found)
                return <PyObject *>found
            if given == 2:
                found = binary(own._op, <Fields>args[0], <object>args[1], 1, 0)
                Py_INCREF(<PyObject *>found)
                return <PyObject *>found
        elif Py_TYPE(args[0]) == <PyTypeObject *>known.memory:
            if given == 1:
                found = of_memory(own._op, <object>args[0], None)
            else:
                found = memory_of(args[1])
                if found is not None:
                    found = of_memory(own._op, <object>args[0], found)
            if found is not None:
                Py_INCREF(<PyObject *>found)
                return <PyObject *>found
        elif given == 1 and is_float(args[0]):
            found = of_float(own._op, <object>args[0])
            Py_INCREF(<PyObject *>found)
            return <PyObject *>found
        elif own._op.own is not None and not own._op.reads_exponents and are_integers(args, given):
            # No loops of integers: they are computed as float64.
            if given == 1:
                found = of_float(own._op, value_of(args[0]))
            else:
                found = of_floats(own._op, value_of(args[0]), value_of(args[1]))
            Py_INCREF(<PyObject *>found)
            return <PyObject *>found
        elif own._op.reads_exponents and PyLong_CheckExact(args[0]) and PyLong_CheckExact(args[1]):
            made = PyObject_Vectorcall(<PyObject *>own._op.compute, args, given, NULL)
            return NULL if made == NULL else taken(made, True)
        elif (
            given == 2 and Py_TYPE(args[1]) == <PyTypeObject *>known.array
            and (is_float(args[0]) or is_number(args[0]) or <object>Py_TYPE(args[0]) in KINDS)
        ):
            found = of_left(own._op, <object>args[0], <Fields>args[1])
            if found is None and not PyLong_CheckExact(args[0]):
                found = of_number(own._op, <Fields>args[1], <object>args[0])
            if found is not None:
                Py_INCREF(<PyObject *>found)
                return <PyObject *>found
        elif given == 1 and own._op.own is not None and lazyarray_listed(Py_TYPE(args[0])):
            found = floats_of(<object>args[0], None)
            if found is None:
                found = listed(<object>args[0])
            if found is not None:
                found = unary(own._op, <Fields>wrapped(found), 1, 0)
                Py_INCREF(<PyObject *>found)
                return <PyObject *>found
        elif given == 2 and computed_as_floats(args[0], args[1]):
            found = of_floats(own._op, <object>args[0], <object>args[1])
            Py_INCREF(<PyObject *>found)
            return <PyObject *>found
        elif own._op.own is not None and given <= 2 and computed_as_complex(args, given):
            found = of_complex(own._op, <object>args[0], <object>args[1] if given == 2 else None)
            if found is not None:
                Py_INCREF(<PyObject *>found)
                return <PyObject *>found
    elif names == NULL and given == 2 and own._product is not None:
        return product_vector(<PyObject *>own._product, args)
    if _waiting.open:
        finish_waiting()
    if own._op is not None and own._op.own is None and not lazyarray_names_tuple(args + given, names):
        # An `out` (but in a tuple), a `where`, a list: NumPy's bits are those of compiled kernels.
        made = small_vector(<PyObject *>own._op.compute, NULL, NULL, args, given, names, True)
        if made != <PyObject *>REFUSED:
            return made
    elif own._plain is not None and names == NULL and given == <size_t>own.nin:
        made = small_vector(<PyObject *>own._plain, NULL, NULL, args, given, names, False)
        if made != <PyObject *>REFUSED:
            return made
    return lazyarray_general(self, args, given, names)


# `is_unaware` of `callers.py`.
cdef inline bint asks_for_package(space) except -1:
    cdef PyObject *name = PyDict_GetItem(space, "__name__")
    cdef PyObject *found = NULL if name == NULL else PyDict_GetItem(known.unaware, <object>name)
    return known.is_unaware(space) if found == NULL else <object>found is True


# A generator's method: NumPy's own, where all arguments but the generator say nothing of their own.
cdef inline PyObject *drawn_vector(PyObject *self, PyObject **args, size_t flags, PyObject *names) except NULL:
    cdef Served own = <Served>self
    cdef size_t given = PyVectorcall_NARGS(flags), place
    cdef size_t total = lazyarray_total(given, names)
    cdef object plain
    cdef PyObject *found
    cdef PyObject *space = PyEval_GetGlobals()  # of who calls: compiled functions have no frame
    if space != NULL and asks_for_package(<object>space):
        return PyObject_Vectorcall(<PyObject *>own.inner, args, flags, names)
    if own.guard == PLAINLY:
        plain = own.method(<object>args[0]) if given > 0 else None
        found = <PyObject *>REFUSED
        if plain is not None:
            if _waiting.open:
                finish_waiting()
            found = small_vector(<PyObject *>own.source, NULL, <PyObject *>plain, args + 1, given - 1, names, False)
        if found != <PyObject *>REFUSED:
            return found
        return PyObject_Vectorcall(<PyObject *>own.function, args, flags, names)
    for place in range(1, total):
        if is_number(args[place]) or PyTuple_CheckExact(args[place]):
            if own.guard == FEW and not lazyarray_float(args[place]) and not 0 <= extent_of_shape(args[place]) < FEW_DRAWN:
                break
            if own.guard != FEW and PyTuple_CheckExact(args[place]) and extent_of_shape(args[place]) < 0:
                break
        elif not lazyarray_quiet(Py_TYPE(args[place])) and <object>Py_TYPE(args[place]) not in INERT:
            break
    else:
        if given > 0:
            found = PyObject_Vectorcall(<PyObject *>own.source, args, flags & ~PY_VECTORCALL_ARGUMENTS_OFFSET, names)
            if found == NULL:
                return NULL
            return taken(found, False)
    return PyObject_Vectorcall(<PyObject *>own.function, args, flags, names)


# A method of ufuncs, whose source is that of NumPy's class: NumPy's own, where its bits are those of compiled kernels.
cdef inline PyObject *method_vector(PyObject *self, PyObject **args, size_t flags, PyObject *names) except NULL:
    cdef Served own = <Served>self
    cdef size_t given = PyVectorcall_NARGS(flags)
    cdef PyObject *found
    cdef PyObject *source
    cdef PyObject *owner
    if (
        given > 1 and isinstance(<object>args[0], UfuncCall) and (<UfuncCall>args[0])._plain is not None
        and Py_TYPE(args[1]) == <PyTypeObject *>known.array and not lazyarray_names_tuple(args + given, names)
    ):
        if _waiting.open:
            finish_waiting()
        source, owner = <PyObject *>own.source, <PyObject *>(<UfuncCall>args[0])._plain
        found = small_vector(source, NULL, owner, args + 1, given - 1, names, True)
        if found != <PyObject *>REFUSED:
            return found
    return PyObject_Vectorcall(<PyObject *>own.function, args, flags, names)


cdef inline begin(made):
    cdef Builtin own
    if isinstance(made, UfuncCall):
        lazyarray_begin(<PyObject *>made, &(<UfuncCall>made).vector, <void *>ufunc_vector, False)
    else:
        own = <Builtin>made
        if own.source is not None:
            own.direct = <size_t>direct_of(own.source, &own.asks)
        lazyarray_begin(<PyObject *>made, &own.vector, <void *>builtin_vector, False)


# A method whose calls `vector` chooses for, by `inner`.
cdef inline choosing(function, source, inner, void *vector):
    cdef Served made = Served(function, source, 0)
    made.inner = inner
    lazyarray_begin(<PyObject *>made, &made.vector, vector, True)
    return made


cdef inline serving(function, source, guard):
    cdef Served made = Served(function, source, guard)
    made.direct = <size_t>direct_of(source, &made.asks)
    made.inner = getattr(source, "_implementation", None)
    if shows(source):
        made.views = {}
    lazyarray_begin(<PyObject *>made, &made.vector, <void *>served_vector, True)
    return made


cdef inline drawing(function, source, guard, for_package, plain):
    cdef Served made = Served(function, source, guard)
    made.inner = for_package
    made.method = plain
    lazyarray_begin(<PyObject *>made, &made.vector, <void *>drawn_vector, True)
    return made


cdef inline of_ufuncs(function, source):
    cdef Served made = Served(function, source, 0)
    for part in ("__name__", "__qualname__", "__module__"):
        setattr(made, part, getattr(function, part))
    lazyarray_begin(<PyObject *>made, &made.vector, <void *>method_vector, True)
    return made
