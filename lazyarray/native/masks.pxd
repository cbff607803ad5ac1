# Parts of memory that a mask of the same extents names: read, filled and written, for `direct.pxd`.
from lazyarray.native.loops cimport run_unary

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #ifdef __GNUC__
    #define LAZYARRAY_INLINE inline __attribute__((always_inline))
    #else
    #define LAZYARRAY_INLINE inline
    #endif
    #ifdef __SSE2__
    #include <emmintrin.h>
    #endif
    #define LAZYARRAY_MASK_AXES 16
    #define LAZYARRAY_BLOCK 64  /* truth values that are looked at together */

    /* Elements in C order, by axes that were merged, the last one apart; and the values that they come to or from.
       `size` is an element's, which is a row's where a mask has fewer axes than the array. */
    typedef struct {
        int rank;
        npy_intp dims[LAZYARRAY_MASK_AXES], steps[LAZYARRAY_MASK_AXES], mask_steps[LAZYARRAY_MASK_AXES];
        npy_intp size, count, step, mask_step, left, value_step;
        char *value;
    } lazyarray_masked;

    typedef void (*lazyarray_masked_line)(lazyarray_masked *all, char *place, const char *mask);

    /* Which of eight bits are set, and the first of them again after the last; and how many are. */
    static unsigned char lazyarray_places[256][8], lazyarray_how_many[256];

    static void lazyarray_make_places(void) {
        int bits, k, count;
        for (bits = 1; bits < 256; bits++) {
            for (k = count = 0; k < 8; k++) if (bits >> k & 1) lazyarray_places[bits][count++] = (unsigned char)k;
            lazyarray_how_many[bits] = (unsigned char)count;
            for (k = count; k < 8; k++) lazyarray_places[bits][k] = lazyarray_places[bits][0];
        }
    }

    #ifdef __SSE2__
    static LAZYARRAY_INLINE uint64_t lazyarray_bits_of_16(__m128i now) {
        return ~_mm_movemask_epi8(_mm_cmpeq_epi8(now, _mm_setzero_si128())) & 65535;
    }

    static LAZYARRAY_INLINE __m128i lazyarray_load(const char *place) {
        return _mm_loadu_si128((const __m128i *)place);
    }
    #endif

    /* A bit for each of up to 64 truth values. */
    static LAZYARRAY_INLINE uint64_t lazyarray_bits_of(const char *mask, npy_intp step, npy_intp count) {
        uint64_t bits = 0;
        npy_intp k = 0;
    #ifdef __SSE2__
        if (step == 1 && count == LAZYARRAY_BLOCK) {
            __m128i a = lazyarray_load(mask), b = lazyarray_load(mask + 16);
            __m128i c = lazyarray_load(mask + 32), d = lazyarray_load(mask + 48);
            if (!lazyarray_bits_of_16(_mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d)))) return 0;
            return lazyarray_bits_of_16(a) | lazyarray_bits_of_16(b) << 16 | lazyarray_bits_of_16(c) << 32
                | lazyarray_bits_of_16(d) << 48;
        }
        if (step == 1 && count >= 16) {
            for (; k + 16 <= count; k += 16) bits |= lazyarray_bits_of_16(lazyarray_load(mask + k)) << k;
            if (k < count) bits |= lazyarray_bits_of_16(lazyarray_load(mask + count - 16)) >> (k + 16 - count) << k;
            return bits;
        }
    #endif
        for (; k < count; k++) bits |= (uint64_t)(mask[k * step] != 0) << k;
        return bits;
    }

    static LAZYARRAY_INLINE npy_intp lazyarray_bits_set(uint64_t bits) {
        bits -= bits >> 1 & UINT64_MAX / 3;
        bits = (bits & UINT64_MAX / 5) + (bits >> 2 & UINT64_MAX / 5);
        return (npy_intp)(((bits + (bits >> 4)) & UINT64_MAX / 17) * (UINT64_MAX / 255) >> 56);
    }

    static LAZYARRAY_INLINE npy_intp lazyarray_first_bit(uint64_t bits) {
    #ifdef __GNUC__
        return __builtin_ctzll(bits);
    #else
        return lazyarray_bits_set((bits & (~bits + 1)) - 1);
    #endif
    }

    static void lazyarray_count_line(lazyarray_masked *all, char *place, const char *mask) {
        npy_intp k = 0, count = all->count, step = all->mask_step, found = 0;
    #ifdef __SSE2__
        while (step == 1 && k + 16 <= count) {  /* lanes of bytes hold 255 */
            npy_intp end = count - k < 255 * 16 ? count : k + 255 * 16;
            const __m128i none = _mm_setzero_si128();
            __m128i sums = none;
            for (; k + 16 <= end; k += 16) {
                __m128i now = _mm_loadu_si128((const __m128i *)(mask + k));
                sums = _mm_add_epi8(sums, _mm_add_epi8(_mm_cmpeq_epi8(now, none), _mm_set1_epi8(1)));
            }
            sums = _mm_sad_epu8(sums, none);
            found += _mm_cvtsi128_si32(sums) + _mm_cvtsi128_si32(_mm_srli_si128(sums, 8));
        }
    #endif
        for (; k < count; k += LAZYARRAY_BLOCK)
            found += lazyarray_bits_set(lazyarray_bits_of(
                mask + k * step, step, count - k < LAZYARRAY_BLOCK ? count - k : LAZYARRAY_BLOCK));
        all->left += found;
        (void)place;
    }

    /* Lines of elements of SIZE bytes, by blocks of truth values. Of few true ones each is looked for. Of many, whether
       an element is taken decides no jump, which nothing could foresee: each is moved. One that is not taken is read to
       where the next one will be, and of those that are written another comes again. What the mask leaves out is never
       written, not even as it was: NumPy's loops may write it meanwhile, in other threads, as they may the mask. */
    #define LAZYARRAY_SELECT_ONE(j, SIZE) \\
        memcpy(value, from + (j) * step, (SIZE)); value += (eight >> (j) & 1) * (SIZE);
    #define LAZYARRAY_FILL_ONE(j, SIZE) \\
        last = eight >> (j) & 1 ? from + (j) * step : last; memcpy(last, value, (SIZE));
    /* Backwards: what comes again is the first place, which gets its own value at last. */
    #define LAZYARRAY_SPREAD_ONE(j, SIZE) \\
        memcpy(from + places[7 - (j)] * step, value + (7 - (j)) * value_step, (SIZE));
    #define LAZYARRAY_EIGHT(ONE, SIZE) \\
        ONE(0, SIZE) ONE(1, SIZE) ONE(2, SIZE) ONE(3, SIZE) ONE(4, SIZE) ONE(5, SIZE) ONE(6, SIZE) ONE(7, SIZE)

    #define LAZYARRAY_MASKED_FORM(FORM, SIZE, CONST, START, SAME, FEW, MANY, END) \\
        static LAZYARRAY_INLINE void lazyarray_##FORM##_by_##SIZE( \\
            lazyarray_masked *all, char *place, const char *mask, const npy_intp step, const npy_intp mask_step \\
        ) { \\
            npy_intp k, n, j, taken, left = all->left; \\
            CONST char *value = all->value; \\
            START \\
            for (k = 0; k < all->count; k += n, place += n * step) { \\
                uint64_t bits, whole; \\
                n = all->count - k < LAZYARRAY_BLOCK ? all->count - k : LAZYARRAY_BLOCK; \\
                bits = lazyarray_bits_of(mask + k * mask_step, mask_step, n); \\
                whole = UINT64_MAX >> (LAZYARRAY_BLOCK - n); \\
                if (!bits) continue; \\
                taken = bits == whole ? n : lazyarray_bits_set(bits); \\
                if (taken > left) break; \\
                left -= taken; \\
                if (bits == whole) { SAME(SIZE) continue; } \\
                if (4 * taken > n && left >= 8) \\
                    for (j = 0; j + 8 <= n; j += 8) { \\
                        char *from = place + j * step; \\
                        uint64_t eight = bits >> j & 255; \\
                        if (!eight) continue; \\
                        bits ^= eight << j; \\
                        MANY(SIZE) \\
                    } \\
                for (; bits; bits &= bits - 1) { \\
                    char *from = place + lazyarray_first_bit(bits) * step; \\
                    FEW(SIZE) \\
                } \\
            } \\
            END \\
            all->left = left; \\
        } \\
        static void lazyarray_##FORM##_##SIZE(lazyarray_masked *all, char *place, const char *mask) { \\
            /* Lines without gaps apart, whose steps the compiler then knows. */ \\
            if (all->step == (SIZE) && all->mask_step == 1) lazyarray_##FORM##_by_##SIZE(all, place, mask, (SIZE), 1); \\
            else lazyarray_##FORM##_by_##SIZE(all, place, mask, all->step, all->mask_step); \\
        }

    #define LAZYARRAY_SELECT_SAME(SIZE) \\
        if (step == (SIZE)) memcpy(value, place, n * (SIZE)); \\
        else for (j = 0; j < n; j++) memcpy(value + j * (SIZE), place + j * step, (SIZE)); \\
        value += n * (SIZE);
    #define LAZYARRAY_SELECT_FEW(SIZE) memcpy(value, from, (SIZE)); value += (SIZE);
    #define LAZYARRAY_SELECT_MANY(SIZE) LAZYARRAY_EIGHT(LAZYARRAY_SELECT_ONE, SIZE)

    #define LAZYARRAY_FILL_SAME(SIZE) \\
        if (step == (SIZE) && n == LAZYARRAY_BLOCK) \\
            for (j = 0; j < LAZYARRAY_BLOCK; j += 8) memcpy(place + j * (SIZE), values, 8 * (SIZE)); \\
        else for (j = 0; j < n; j++) memcpy(place + j * step, value, (SIZE));
    #define LAZYARRAY_FILL_START(SIZE) \\
        char values[8 * (SIZE)]; \\
        for (j = 0; j < 8; j++) memcpy(values + j * (SIZE), value, (SIZE)); \\
        left = NPY_MAX_INTP;
    #define LAZYARRAY_FILL_FEW(SIZE) memcpy(from, value, (SIZE));
    #define LAZYARRAY_FILL_MANY(SIZE) \\
        char *last = from + lazyarray_first_bit(eight) * step; \\
        LAZYARRAY_EIGHT(LAZYARRAY_FILL_ONE, SIZE)

    #define LAZYARRAY_SPREAD_SAME(SIZE) \\
        if (step == (SIZE) && value_step == (SIZE)) memcpy(place, value, n * (SIZE)); \\
        else for (j = 0; j < n; j++) memcpy(place + j * step, value + j * value_step, (SIZE)); \\
        value += n * value_step;
    #define LAZYARRAY_SPREAD_FEW(SIZE) memcpy(from, value, (SIZE)); value += value_step;
    #define LAZYARRAY_SPREAD_MANY(SIZE) \\
        const unsigned char *places = lazyarray_places[eight]; \\
        LAZYARRAY_EIGHT(LAZYARRAY_SPREAD_ONE, SIZE) \\
        value += lazyarray_how_many[eight] * value_step;

    #define LAZYARRAY_MASKED_LINES(SIZE) \\
        LAZYARRAY_MASKED_FORM( \\
            select, SIZE, , , LAZYARRAY_SELECT_SAME, LAZYARRAY_SELECT_FEW, LAZYARRAY_SELECT_MANY, all->value = value;) \\
        LAZYARRAY_MASKED_FORM( \\
            fill, SIZE, const, LAZYARRAY_FILL_START(SIZE), LAZYARRAY_FILL_SAME, LAZYARRAY_FILL_FEW, LAZYARRAY_FILL_MANY, ) \\
        LAZYARRAY_MASKED_FORM( \\
            spread, SIZE, const, const npy_intp value_step = all->value_step;, LAZYARRAY_SPREAD_SAME, \\
            LAZYARRAY_SPREAD_FEW, LAZYARRAY_SPREAD_MANY, all->value = (char *)value;)

    LAZYARRAY_MASKED_LINES(1)
    LAZYARRAY_MASKED_LINES(2)
    LAZYARRAY_MASKED_LINES(4)
    LAZYARRAY_MASKED_LINES(8)
    LAZYARRAY_MASKED_LINES(16)

    /* Rows, which have any size. */
    static void lazyarray_select_rows(lazyarray_masked *all, char *place, const char *mask) {
        npy_intp k;
        for (k = 0; k < all->count && all->left; k++)
            if (mask[k * all->mask_step]) {
                memcpy(all->value, place + k * all->step, all->size);
                all->value += all->size;
                all->left--;
            }
    }

    static const lazyarray_masked_line lazyarray_masked_lines[3][6] = {
        {lazyarray_select_1, lazyarray_select_2, lazyarray_select_4, lazyarray_select_8, lazyarray_select_16,
         lazyarray_select_rows},
        {lazyarray_fill_1, lazyarray_fill_2, lazyarray_fill_4, lazyarray_fill_8, lazyarray_fill_16,
         NULL},
        {lazyarray_spread_1, lazyarray_spread_2, lazyarray_spread_4, lazyarray_spread_8, lazyarray_spread_16,
         NULL},
    };

    static lazyarray_masked_line lazyarray_masked_line_of(int form, npy_intp size) {
        return lazyarray_masked_lines[form][
            size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : size == 16 ? 4 : 5];
    }

    /* What a mask names of an array; 0 where its extents are not the array's first ones, or what follows has gaps. */
    static int lazyarray_find_masked(PyArrayObject *a, PyArrayObject *mask, lazyarray_masked *found) {
        int axis, last, masked = PyArray_NDIM(mask);
        if (PyArray_TYPE(mask) != NPY_BOOL || !masked || masked > PyArray_NDIM(a) || masked > LAZYARRAY_MASK_AXES)
            return 0;
        if (!lazyarray_places[255][1]) lazyarray_make_places();
        found->size = PyArray_ITEMSIZE(a);
        if (masked < PyArray_NDIM(a)) {
            if (!PyArray_IS_C_CONTIGUOUS(a)) return 0;
            for (axis = masked; axis < PyArray_NDIM(a); axis++) found->size *= PyArray_DIM(a, axis);
            if (!found->size) return 0;
        }
        found->rank = 0;
        for (axis = 0; axis < masked; axis++) {
            npy_intp extent = PyArray_DIM(a, axis), step = PyArray_STRIDE(a, axis), apart = PyArray_STRIDE(mask, axis);
            if (extent != PyArray_DIM(mask, axis)) return 0;
            if (extent == 1) continue;
            last = found->rank - 1;
            if (last >= 0 && found->steps[last] == extent * step && found->mask_steps[last] == extent * apart)
                found->dims[last] *= extent;
            else found->dims[last = found->rank++] = extent;
            found->steps[last] = step;
            found->mask_steps[last] = apart;
        }
        if (!found->rank) {
            found->dims[0] = 1;
            found->steps[0] = found->mask_steps[0] = 0;
            found->rank = 1;
        }
        last = found->rank - 1;
        found->count = found->dims[last];
        found->step = found->steps[last];
        found->mask_step = found->mask_steps[last];
        found->left = 0;
        return 1;
    }

    static void lazyarray_walk_masked(
        lazyarray_masked *all, int axis, char *place, const char *mask, lazyarray_masked_line line
    ) {
        npy_intp k;
        if (axis == all->rank - 1) { line(all, place, mask); return; }
        for (k = 0; k < all->dims[axis]; k++, place += all->steps[axis], mask += all->mask_steps[axis])
            lazyarray_walk_masked(all, axis + 1, place, mask, line);
    }

    /* How many are true: a walk over the mask alone, whose axes may merge where the array's do not. */
    static npy_intp lazyarray_count_true(PyArrayObject *mask) {
        lazyarray_masked all;
        lazyarray_find_masked(mask, mask, &all);
        lazyarray_walk_masked(&all, 0, PyArray_BYTES(mask), PyArray_BYTES(mask), lazyarray_count_line);
        return all.left;
    }

    /* Whether all truth values are `wanted`: a walk that ends with the first one that is not. */
    static int lazyarray_is_uniform(PyArrayObject *mask, int wanted) {
        npy_intp k, n, count = PyArray_SIZE(mask);
        if (!PyArray_IS_C_CONTIGUOUS(mask)) return lazyarray_count_true(mask) == (wanted ? count : 0);
        for (k = 0; k < count; k += n) {
            n = count - k < LAZYARRAY_BLOCK ? count - k : LAZYARRAY_BLOCK;
            if (lazyarray_bits_of(PyArray_BYTES(mask) + k, 1, n) != (wanted ? UINT64_MAX >> (LAZYARRAY_BLOCK - n) : 0))
                return 0;
        }
        return 1;
    }

    /* `a[mask]`; NULL without an error where NumPy is to look. */
    static PyObject *lazyarray_select_masked(PyArrayObject *a, PyArrayObject *mask) {
        npy_intp dims[NPY_MAXDIMS];
        lazyarray_masked all;
        PyObject *made;
        int axis, rank = 1;
        if (!lazyarray_find_masked(a, mask, &all)) return NULL;
        dims[0] = all.left = lazyarray_count_true(mask);
        for (axis = PyArray_NDIM(mask); axis < PyArray_NDIM(a); axis++) dims[rank++] = PyArray_DIM(a, axis);
        made = PyArray_NewFromDescr(
            &PyArray_Type, PyArray_DescrFromType(PyArray_TYPE(a)), rank, dims, NULL, NULL, 0, NULL);
        if (!made) return NULL;
        all.value = PyArray_BYTES((PyArrayObject *)made);
        if (all.left)
            lazyarray_walk_masked(
                &all, 0, PyArray_BYTES(a), PyArray_BYTES(mask), lazyarray_masked_line_of(0, all.size));
        return made;
    }

    /* Whether no two elements may share memory: sorted by stride, each axis steps over all that is within it. */
    static int lazyarray_lies_apart(PyArrayObject *a) {
        npy_intp within = PyArray_ITEMSIZE(a);
        npy_uint64 seen = 0;
        int axis, best, rank = PyArray_NDIM(a);
        for (;;) {
            npy_intp least = 0;
            for (axis = 0, best = -1; axis < rank; axis++) {
                npy_intp step = PyArray_STRIDE(a, axis) < 0 ? -PyArray_STRIDE(a, axis) : PyArray_STRIDE(a, axis);
                if (seen >> axis & 1 || PyArray_DIM(a, axis) < 2) continue;
                if (best < 0 || step < least) { best = axis; least = step; }
            }
            if (best < 0) return 1;
            if (least < within) return 0;
            within = least * (PyArray_DIM(a, best) - 1) + within;
            seen |= (npy_uint64)1 << best;
        }
    }

    /* `a[mask] = value` of a number, which is in `number`, or (`source`) of as many elements; 0 where NumPy is to look. */
    static int lazyarray_put_masked(PyArrayObject *a, PyArrayObject *mask, char *number, PyArrayObject *source) {
        lazyarray_masked all;
        if (PyArray_NDIM(mask) != PyArray_NDIM(a) || !lazyarray_find_masked(a, mask, &all)) return 0;
        all.value = number;
        if (source) {
            all.left = lazyarray_count_true(mask);
            if (PyArray_NDIM(source) != 1 || PyArray_DIM(source, 0) != all.left) return 0;
            if (!lazyarray_lies_apart(a)) return 0;  /* which of two values stays is for NumPy to say */
            all.value = PyArray_BYTES(source);
            all.value_step = PyArray_STRIDE(source, 0);
            if (!all.left) return 1;
        }
        else if (all.rank > 1 && !lazyarray_count_true(mask)) return 1;
        lazyarray_walk_masked(
            &all, 0, PyArray_BYTES(a), PyArray_BYTES(mask), lazyarray_masked_line_of(source ? 2 : 1, all.size));
        return 1;
    }

    /* What functions and methods make of masks, as `lazyarray_direct` says. */

    static int lazyarray_is_mask(PyArrayObject *a) {
        return PyArray_NDIM(a) && PyArray_NDIM(a) <= LAZYARRAY_MASK_AXES && PyArray_DESCR(a) == lazyarray_own(NPY_BOOL);
    }

    /* The places of true values in a line, as elements of rows of `rank` integers: what all rows have in common is there,
       and `at` is the line's first place in the last axis. */
    static npy_intp *lazyarray_note_places(
        npy_intp *row, npy_intp *end, const npy_intp *at, int rank, const char *mask, npy_intp step, npy_intp extent
    ) {
        npy_intp k, n;
        int axis;
        for (k = 0; k < extent; k += n) {
            uint64_t bits;
            n = extent - k < LAZYARRAY_BLOCK ? extent - k : LAZYARRAY_BLOCK;
            bits = lazyarray_bits_of(mask + k * step, step, n);
            if (rank == 2 && 4 * lazyarray_bits_set(bits) > n && end - row >= 2 * LAZYARRAY_BLOCK) {
                npy_intp j;  /* No jump: each place is noted, and the next one in its place where it is of a false value. */
                for (j = 0; j < n; j++) { row[0] = at[0]; row[1] = k + j; row += (bits >> j & 1) * 2; }
                continue;
            }
            for (; bits && row < end; bits &= bits - 1, row += rank) {
                for (axis = 0; axis < rank - 1; axis++) row[axis] = at[axis];
                row[rank - 1] = k + lazyarray_first_bit(bits);
            }
        }
        return row;
    }

    #define LAZYARRAY_TRUTHS(type) for (k = 0; k < size; k++) to[k] = ((const type *)from)[k] != 0; return 1;

    /* Which of few numbers are not 0; 0 where NumPy is to look. */
    static int lazyarray_tell_truths(PyArrayObject *a, npy_bool *to) {
        npy_intp k, size = PyArray_SIZE(a);
        const char *from = PyArray_BYTES(a);
        if (size > LAZYARRAY_BLOCK || !PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISALIGNED(a)) return 0;
        if (PyArray_DESCR(a) != lazyarray_own(PyArray_TYPE(a))) return 0;
        switch (PyArray_TYPE(a)) {
            case NPY_DOUBLE: LAZYARRAY_TRUTHS(npy_double)
            case NPY_FLOAT: LAZYARRAY_TRUTHS(npy_float)
            case NPY_LONG: case NPY_ULONG: LAZYARRAY_TRUTHS(npy_long)
            case NPY_INT: case NPY_UINT: LAZYARRAY_TRUTHS(npy_int)
            case NPY_BYTE: case NPY_UBYTE: LAZYARRAY_TRUTHS(npy_byte)
        }
        return 0;
    }

    /* As `PyArray_Nonzero`: views of the columns of one array, a row for each true value. */
    static PyObject *lazyarray_do_nonzero(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *mask = (PyArrayObject *)first;
        PyArrayObject_fields told = *(PyArrayObject_fields *)first;  /* truth values of few numbers, of the same shape */
        npy_bool truths[LAZYARRAY_BLOCK];
        npy_intp steps[LAZYARRAY_MASK_AXES];
        int rank, axis;
        npy_intp dims[2], at[LAZYARRAY_MASK_AXES] = {0}, step, *row, *end;
        const char *line;
        PyObject *rows, *found;
        (void)rest, (void)limit;
        if (count) return NULL;
        rank = PyArray_NDIM(mask);
        if (!lazyarray_is_mask(mask)) {
            if (!rank || !lazyarray_is_plain_type(PyArray_TYPE(mask))) return NULL;
            if (rank > LAZYARRAY_MASK_AXES || !lazyarray_tell_truths(mask, truths)) return PyArray_Nonzero(mask);
            for (axis = rank - 1, step = 1; axis >= 0; step *= told.dimensions[axis--]) steps[axis] = step;
            told.data = (char *)truths;
            told.strides = steps;
            told.descr = lazyarray_own(NPY_BOOL);
            mask = (PyArrayObject *)&told;
        }
        if (rank == 1 && PyArray_SIZE(mask) > 1000) return NULL;  /* NumPy is as fast */
        dims[0] = lazyarray_count_true(mask);
        dims[1] = rank;
        rows = PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(NPY_INTP), 2, dims, NULL, NULL, 0, NULL);
        if (!rows || !(found = PyTuple_New(rank))) { Py_XDECREF(rows); return NULL; }
        row = (npy_intp *)PyArray_DATA((PyArrayObject *)rows);
        end = row + dims[0] * rank;
        line = PyArray_BYTES(mask);
        while (row < end) {
            row = lazyarray_note_places(
                row, end, at, rank, line, PyArray_STRIDE(mask, rank - 1), PyArray_DIM(mask, rank - 1));
            for (axis = rank - 2; axis >= 0; axis--) {
                line += PyArray_STRIDE(mask, axis);
                if (++at[axis] < PyArray_DIM(mask, axis)) break;
                line -= at[axis] * PyArray_STRIDE(mask, axis);
                at[axis] = 0;
            }
            if (axis < 0) break;
        }
        step = rank * sizeof(npy_intp);
        for (axis = 0; axis < rank; axis++) {
            PyObject *column = PyArray_NewFromDescr(
                &PyArray_Type, PyArray_DescrFromType(NPY_INTP), 1, dims, &step,
                PyArray_BYTES((PyArrayObject *)rows) + axis * sizeof(npy_intp), PyArray_FLAGS((PyArrayObject *)rows), NULL);
            if (!column) goto failed;
            PyTuple_SET_ITEM(found, axis, column);
            Py_INCREF(rows);
            if (PyArray_SetBaseObject((PyArrayObject *)column, rows) < 0) goto failed;
        }
        Py_DECREF(rows);
        return found;
    failed:
        Py_DECREF(rows);
        Py_DECREF(found);
        return NULL;
    }

    /* Elements out of two lines by a third one's truth values; lines of one element have the step 0. */
    typedef void (*lazyarray_choose)(char *, const char *, const char *, npy_intp, const char *, npy_intp, npy_intp);

    #define LAZYARRAY_CHOOSE(NAME, WITH, KIND) \\
        WITH LAZYARRAY_VECTORS static void lazyarray_choose_##NAME( \\
            char *given, const char *mask, const char *first, npy_intp a_step, const char *second, npy_intp b_step, \\
            npy_intp count \\
        ) { \\
            KIND *to = (KIND *)given; \\
            const KIND *a = (const KIND *)first, *b = (const KIND *)second; \\
            npy_intp k; \\
            if (a_step && b_step) for (k = 0; k < count; k++) to[k] = mask[k] ? a[k] : b[k]; \\
            else if (a_step) { const KIND n = *b; for (k = 0; k < count; k++) to[k] = mask[k] ? a[k] : n; } \\
            else if (b_step) { const KIND y = *a; for (k = 0; k < count; k++) to[k] = mask[k] ? y : b[k]; } \\
            else { const KIND y = *a, n = *b; for (k = 0; k < count; k++) to[k] = mask[k] ? y : n; } \\
        }

    LAZYARRAY_CHOOSE(1, , npy_uint8)
    LAZYARRAY_CHOOSE(2, , npy_uint16)
    LAZYARRAY_CHOOSE(4, , npy_uint32)
    LAZYARRAY_CHOOSE(8, , npy_uint64)
    LAZYARRAY_CHOOSE(wide_1, LAZYARRAY_AVX2, npy_uint8)
    LAZYARRAY_CHOOSE(wide_2, LAZYARRAY_AVX2, npy_uint16)
    LAZYARRAY_CHOOSE(wide_4, LAZYARRAY_AVX2, npy_uint32)
    LAZYARRAY_CHOOSE(wide_8, LAZYARRAY_AVX2, npy_uint64)

    static void lazyarray_choose_16(
        char *to, const char *mask, const char *a, npy_intp a_step, const char *b, npy_intp b_step, npy_intp count
    ) {
        npy_intp k;
        for (k = 0; k < count; k++, to += 16, a += 16 * a_step, b += 16 * b_step) memcpy(to, mask[k] ? a : b, 16);
    }

    static lazyarray_choose lazyarray_choose_of(npy_intp size) {
        int wide = LAZYARRAY_HAS_AVX2;
        return size == 1 ? (wide ? lazyarray_choose_wide_1 : lazyarray_choose_1)
            : size == 2 ? (wide ? lazyarray_choose_wide_2 : lazyarray_choose_2)
            : size == 4 ? (wide ? lazyarray_choose_wide_4 : lazyarray_choose_4)
            : size == 8 ? (wide ? lazyarray_choose_wide_8 : lazyarray_choose_8) : lazyarray_choose_16;
    }

    /* The type of a choice between two of Python's floats and ints, or between one and an array; -1 for others. */
    static int lazyarray_choice_type(PyObject *const *given) {
        int k, type = -1, floats = 0;
        for (k = 0; k < 2; k++) {
            PyArrayObject *a = (PyArrayObject *)given[k];
            if (PyArray_CheckExact(given[k])) {
                if (!lazyarray_is_plain_type(PyArray_TYPE(a)) || PyArray_DESCR(a) != lazyarray_own(PyArray_TYPE(a))) return -1;
                if (type >= 0 && type != PyArray_TYPE(a)) return -1;
                type = PyArray_TYPE(a);
            }
            else if (PyFloat_CheckExact(given[k])) floats = 1;
            else if (!PyLong_CheckExact(given[k])) return -1;
        }
        return type >= 0 ? type : floats ? NPY_DOUBLE : NPY_LONG;
    }

    /* `where(mask, x, y)` of arrays in C order with the mask's extents and of Python's numbers. */
    static PyObject *lazyarray_do_where(PyObject *first, PyObject *const *rest, size_t count, Py_ssize_t limit) {
        PyArrayObject *mask = (PyArrayObject *)first;
        double numbers[2][2];
        const char *places[2];
        npy_intp steps[2];
        int k, type;
        PyObject *made;
        if (!count) return lazyarray_do_nonzero(first, rest, count, limit);
        if (count != 2 || !lazyarray_is_mask(mask) || !PyArray_IS_C_CONTIGUOUS(mask)) return NULL;
        type = lazyarray_choice_type(rest);
        if (type < 0) return NULL;
        for (k = 0; k < 2; k++) {
            PyArrayObject *a = (PyArrayObject *)rest[k];
            steps[k] = PyArray_CheckExact(rest[k]);
            if (!steps[k]) {
                if (lazyarray_number_as(rest[k], type, numbers[k]) < 0) return NULL;
                places[k] = (const char *)numbers[k];
                continue;
            }
            if (!PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISALIGNED(a) || !PyArray_SAMESHAPE(a, mask)) return NULL;
            places[k] = PyArray_BYTES(a);
        }
        made = PyArray_NewFromDescr(
            &PyArray_Type, PyArray_DescrFromType(type), PyArray_NDIM(mask), PyArray_DIMS(mask), NULL, NULL, 0, NULL);
        if (made)
            lazyarray_choose_of(PyArray_ITEMSIZE((PyArrayObject *)made))(
                PyArray_BYTES((PyArrayObject *)made), PyArray_BYTES(mask), places[0], steps[0], places[1], steps[1],
                PyArray_SIZE(mask));
        return made;
    }
    """
    object select_masked "lazyarray_select_masked" (object a, object mask)
