# C's side of `selections.py`.
from lazyarray.native.sorts cimport lanes_of
from lazyarray.native.targets cimport has_avx2

cdef extern from *:
    """
    #include <math.h>

    /* Values of a sample of the numbers bound those that are looked for: one pass counts what lies below the bounds, and
       keeps what lies between them, of which the same is asked. */
    #define LAZYARRAY_MOST_PLACES 16
    #define LAZYARRAY_FEW 4096  /* numbers that are not sampled */
    #define LAZYARRAY_FEWEST 16  /* that are sorted by insertion */
    #define LAZYARRAY_TRIES 40  /* halvings of numbers until they are sorted instead */
    #define LAZYARRAY_ROWS 256  /* numbers of lines that are sorted side by side */
    #define LAZYARRAY_BESIDE 32  /* such lines */
    #define LAZYARRAY_MOST_PAIRS 3900  /* exchanges that sort so many */
    #define LAZYARRAY_EDGES (2 * LAZYARRAY_MOST_PLACES)
    #define LAZYARRAY_TILE 256  /* numbers of which those between bounds are kept at once */
    #define LAZYARRAY_SPLIT (1 << 14)  /* numbers of a line that a thread takes at once */
    #define LAZYARRAY_DEVIATIONS 4.5  /* of a place in the sample, by which bounds lie from it */

    /* Numbers less than `low`, at most that, less than `high`, at most that. */
    enum { LAZYARRAY_BELOW, LAZYARRAY_LEAST, LAZYARRAY_UNDER, LAZYARRAY_UNTIL, LAZYARRAY_COUNTS };

    typedef struct {
        char least[8], most[8];
        npy_intp numbers, nans;
    } lazyarray_extremes;

    typedef struct {
        /* Adds to the counts, and puts what lies between `low` and `high` into `kept` (one more has room there). */
        npy_intp (*tally)(const char *x, npy_intp n, const char *low, const char *high, npy_intp *counts, char *kept);
        int (*is_rising)(const char *x, npy_intp n);  /* and holds no NaN; soon known where it is not */
        /* Adds to the extremes, of numbers. */
        void (*look)(const char *x, npy_intp n, lazyarray_extremes *known);
        /* Sets both, to no bound where NULL or NaN is given; whether none is greater than `high`. */
        int (*bound)(const char *first, const char *last, char *low, char *high);
        /* What is no NaN; how many that are. */
        npy_intp (*compact)(const char *x, npy_intp n, char *into);
        /* The numbers at these places of sorted ones; -1 where that took too long. Both spares have room for all. */
        int (*pick)(const char *x, npy_intp n, const npy_intp *places, int count, char *found, char *spare, char *other);
        /* Sorts columns of rows, as far as the pairs do; of numbers that are other ones if they have other bits. */
        void (*exchange)(char *rows, const npy_uint8 *pairs, int count, npy_intp width);
        PyArray_SortFunc *sort;
        npy_intp size;
        /* All that follow are NULL of integers. */
        npy_intp (*count_nans)(const char *x, npy_intp n);
        npy_intp (*count_odd)(const char *x, npy_intp n);
        int (*is_unsure)(const char *found, int count, const char *x, npy_intp n);
        void (*make_nan)(const char *x, npy_intp n, char *found);
    } lazyarray_order;

    typedef struct {
        int least, most;  /* whether the first place and the last one are asked for: the least and greatest number */
        int count, places[LAZYARRAY_MOST_PLACES];  /* how many, and the bounds of each other place */
        npy_int64 counts[LAZYARRAY_MOST_PLACES][LAZYARRAY_COUNTS], kept[LAZYARRAY_MOST_PLACES];
        npy_intp room[LAZYARRAY_MOST_PLACES], starts[LAZYARRAY_MOST_PLACES], rooms;
        char low[LAZYARRAY_MOST_PLACES][8], high[LAZYARRAY_MOST_PLACES][8];
        int open[LAZYARRAY_MOST_PLACES];  /* what is not at most `high` is NaN */
    } lazyarray_bounds;

    #define LAZYARRAY_TALLY(NAME, TARGET, TYPE, COUNT) \\
        TARGET LAZYARRAY_COMPARES static npy_intp lazyarray_tally_##NAME( \\
            const char *given, npy_intp n, const char *lowest, const char *highest, npy_intp *counts, char *kept \\
        ) { \\
            const TYPE *x = (const TYPE *)given, low = *(const TYPE *)lowest, high = *(const TYPE *)highest; \\
            TYPE *into = (TYPE *)kept; \\
            COUNT below = 0, least = 0, under = 0, until = 0; \\
            npy_intp j, made = 0; \\
            for (j = 0; j < n; j++) { \\
                below += x[j] < low; \\
                least += x[j] <= low; \\
                under += x[j] < high; \\
                until += x[j] <= high; \\
            } \\
            counts[LAZYARRAY_BELOW] += below; \\
            counts[LAZYARRAY_LEAST] += least; \\
            counts[LAZYARRAY_UNDER] += under; \\
            counts[LAZYARRAY_UNTIL] += until; \\
            if (under <= least) return 0; \\
            for (j = 0; j < n; j++) { \\
                into[made] = x[j]; \\
                made += (x[j] > low) & (x[j] < high); \\
            } \\
            return made; \\
        }
    #define LAZYARRAY_RISING(NAME, TARGET, TYPE, COUNT) \\
        TARGET LAZYARRAY_COMPARES static int lazyarray_is_rising_##NAME(const char *given, npy_intp n) { \\
            const TYPE *x = (const TYPE *)given; \\
            while (n > 1) { \\
                npy_intp taken = n - 1 < 64 ? n - 1 : 64, j; \\
                COUNT rises = 0; \\
                for (j = 0; j < taken; j++) rises += x[j] <= x[j + 1]; \\
                if (rises < taken) return 0; \\
                x += taken; \\
                n -= taken; \\
            } \\
            return n == 1 && *x == *x; \\
        }
    #define LAZYARRAY_LOOK(NAME, TARGET, TYPE, COUNT) \\
        TARGET LAZYARRAY_NUMBERS static void lazyarray_look_##NAME(const char *given, npy_intp n, lazyarray_extremes *known) { \\
            const TYPE *x = (const TYPE *)given; \\
            TYPE least = *(TYPE *)known->least, most = *(TYPE *)known->most; \\
            npy_intp j; \\
            for (j = 0; j < n; j++) { \\
                least = x[j] < least ? x[j] : least; \\
                most = x[j] > most ? x[j] : most; \\
            } \\
            *(TYPE *)known->least = least; \\
            *(TYPE *)known->most = most; \\
        }
    #define LAZYARRAY_BOUND(NAME, TYPE, LEAST, MOST) \\
        static int lazyarray_bound_##NAME(const char *first, const char *last, char *low, char *high) { \\
            const TYPE *x = (const TYPE *)first, *y = (const TYPE *)last; \\
            *(TYPE *)low = !x ? LEAST : *x == *x ? *x : MOST; \\
            *(TYPE *)high = !y || *y != *y ? MOST : *y; \\
            return *(TYPE *)high == MOST; \\
        }
    /* Quickselect without branches on values, which nothing foretells: each is written to both ends of what is free. */
    #define LAZYARRAY_PICK_PLACES(NAME, TYPE) \\
        static TYPE lazyarray_middle_##NAME(TYPE a, TYPE b, TYPE c) { \\
            TYPE low = a < b ? a : b, high = a < b ? b : a; \\
            return c < low ? low : c < high ? c : high; \\
        } \\
        static int lazyarray_pick_among_##NAME( \\
            const TYPE *x, npy_intp n, npy_intp before, const npy_intp *places, int count, TYPE *found, TYPE *y, TYPE *z, int tries \\
        ) { \\
            npy_intp j, k, less; \\
            while (count && n > LAZYARRAY_FEWEST) { \\
                npy_intp part = n / 10; \\
                TYPE *swapped; \\
                TYPE pivot = lazyarray_middle_##NAME( \\
                    lazyarray_middle_##NAME(x[part], x[4 * part], x[7 * part]), \\
                    lazyarray_middle_##NAME(x[2 * part], x[5 * part], x[8 * part]), \\
                    lazyarray_middle_##NAME(x[3 * part], x[6 * part], x[9 * part]) \\
                ); \\
                int left = 0, equal = 0; \\
                if (!tries--) return -1; \\
                for (j = less = 0; j < n; j++) { \\
                    y[less] = y[n - 1 - (j - less)] = x[j]; \\
                    less += x[j] < pivot; \\
                } \\
                if (!less) { \\
                    equal = 1; \\
                    for (j = 0; j < n; j++) { \\
                        y[less] = y[n - 1 - (j - less)] = x[j]; \\
                        less += x[j] == pivot; \\
                    } \\
                } \\
                while (left < count && places[left] - before < less) { \\
                    if (equal) found[left] = y[places[left] - before]; \\
                    left++; \\
                } \\
                if (!equal && left == count) n = less; \\
                else { \\
                    if (!equal && left \\
                        && lazyarray_pick_among_##NAME(y, less, before, places, left, found, z, y, tries) < 0) return -1; \\
                    before += less; \\
                    n -= less; \\
                    places += left; \\
                    found += left; \\
                    count -= left; \\
                    y += less; \\
                    z += less; \\
                } \\
                swapped = y; \\
                x = y; \\
                y = z; \\
                z = swapped; \\
            } \\
            for (j = 0; count && j < n; j++) { \\
                TYPE v = x[j]; \\
                for (k = j; k > 0 && v < y[k - 1]; k--) y[k] = y[k - 1]; \\
                y[k] = v; \\
            } \\
            for (k = 0; k < count; k++) found[k] = y[places[k] - before]; \\
            return 0; \\
        } \\
        static int lazyarray_pick_##NAME( \\
            const char *x, npy_intp n, const npy_intp *places, int count, char *found, char *spare, char *other \\
        ) { \\
            return lazyarray_pick_among_##NAME( \\
                (const TYPE *)x, n, 0, places, count, (TYPE *)found, (TYPE *)spare, (TYPE *)other, LAZYARRAY_TRIES \\
            ); \\
        }
    /* `width`: LAZYARRAY_BESIDE, which compilers that know it do not make vectors of. */
    #define LAZYARRAY_EXCHANGE(NAME, TARGET, TYPE, COUNT) \\
        TARGET LAZYARRAY_NUMBERS static void lazyarray_exchange_##NAME( \\
            char *rows, const npy_uint8 *pairs, int count, npy_intp width \\
        ) { \\
            npy_intp j; \\
            int k; \\
            for (k = 0; k < count; k++) { \\
                TYPE *__restrict a = (TYPE *)rows + pairs[2 * k] * width; \\
                TYPE *__restrict b = (TYPE *)rows + pairs[2 * k + 1] * width; \\
                for (j = 0; j < width; j++) { \\
                    const TYPE x = a[j], y = b[j]; \\
                    a[j] = y < x ? y : x; \\
                    b[j] = y < x ? x : y; \\
                } \\
            } \\
        }
    #define LAZYARRAY_UNSURE(NAME, TYPE) \\
        static int lazyarray_is_unsure_##NAME(const char *found, int count, const char *given, npy_intp n) { \\
            const TYPE *x = (const TYPE *)given, *nan = NULL; \\
            int zeros = 0, nans = 0, signs[2] = {0, 0}, k; \\
            npy_intp j; \\
            for (k = 0; k < count; k++) { \\
                TYPE v = ((const TYPE *)found)[k]; \\
                zeros |= v == 0; \\
                nans |= v != v; \\
            } \\
            for (j = 0; zeros && j < n; j++) if (x[j] == 0) signs[npy_signbit(x[j]) != 0] = 1; \\
            for (j = 0; nans && j < n; j++) { \\
                if (x[j] == x[j]) continue; \\
                if (!nan) nan = x + j; \\
                if (memcmp(nan, x + j, sizeof(TYPE))) return 1; \\
            } \\
            return signs[0] && signs[1]; \\
        } \\
        static npy_intp lazyarray_compact_##NAME(const char *given, npy_intp n, char *into) { \\
            const TYPE *x = (const TYPE *)given; \\
            TYPE *y = (TYPE *)into; \\
            npy_intp j, made = 0; \\
            for (j = 0; j < n; j++) { \\
                y[made] = x[j]; \\
                made += x[j] == x[j]; \\
            } \\
            return made; \\
        } \\
        static void lazyarray_make_nan_##NAME(const char *given, npy_intp n, char *found) { \\
            const TYPE *x = (const TYPE *)given; \\
            while (n-- && *x == *x) x++; \\
            memcpy(found, x, sizeof(TYPE)); \\
        }
    #define LAZYARRAY_ORDER(NAME, TYPE, COUNT, LEAST, MOST) \\
        LAZYARRAY_BOTH(LAZYARRAY_TALLY, NAME, TYPE, COUNT) \\
        LAZYARRAY_BOTH(LAZYARRAY_LOOK, NAME, TYPE, COUNT) \\
        LAZYARRAY_BOTH(LAZYARRAY_EXCHANGE, NAME, TYPE, COUNT) \\
        LAZYARRAY_BOTH(LAZYARRAY_RISING, NAME, TYPE, COUNT) \\
        LAZYARRAY_BOUND(NAME, TYPE, LEAST, MOST) \\
        LAZYARRAY_PICK_PLACES(NAME, TYPE)
    LAZYARRAY_ORDER(double, npy_double, npy_int64, -NPY_INFINITY, NPY_INFINITY)
    LAZYARRAY_ORDER(float, npy_float, npy_int32, -NPY_INFINITYF, NPY_INFINITYF)
    LAZYARRAY_ORDER(long, npy_int64, npy_int64, NPY_MIN_INT64, NPY_MAX_INT64)
    LAZYARRAY_ORDER(ulong, npy_uint64, npy_int64, 0, NPY_MAX_UINT64)
    LAZYARRAY_ORDER(int, npy_int32, npy_int32, NPY_MIN_INT32, NPY_MAX_INT32)
    LAZYARRAY_ORDER(uint, npy_uint32, npy_int32, 0, NPY_MAX_UINT32)
    LAZYARRAY_ORDER(short, npy_int16, npy_int32, NPY_MIN_INT16, NPY_MAX_INT16)
    LAZYARRAY_ORDER(ushort, npy_uint16, npy_int32, 0, NPY_MAX_UINT16)
    LAZYARRAY_ORDER(byte, npy_int8, npy_int32, NPY_MIN_INT8, NPY_MAX_INT8)
    LAZYARRAY_ORDER(ubyte, npy_uint8, npy_int32, 0, NPY_MAX_UINT8)
    LAZYARRAY_UNSURE(double, npy_double)
    LAZYARRAY_UNSURE(float, npy_float)

    #define LAZYARRAY_ORDERED(NAME) \\
        order->tally = LAZYARRAY_PICK(tally, NAME); \\
        order->is_rising = LAZYARRAY_PICK(is_rising, NAME); \\
        order->look = LAZYARRAY_PICK(look, NAME); \\
        order->bound = lazyarray_bound_##NAME; \\
        order->pick = lazyarray_pick_##NAME; \\
        order->exchange = LAZYARRAY_PICK(exchange, NAME);
    #define LAZYARRAY_UNSURELY(NAME) \\
        order->is_unsure = lazyarray_is_unsure_##NAME; \\
        order->compact = lazyarray_compact_##NAME; \\
        order->count_nans = LAZYARRAY_PICK(count_nans, NAME); \\
        order->count_odd = LAZYARRAY_PICK(count_odd, NAME); \\
        order->make_nan = lazyarray_make_nan_##NAME;
    static int lazyarray_find_order(PyArrayObject *a, lazyarray_order *order) {
        order->count_nans = order->count_odd = NULL;
        order->is_unsure = NULL;
        order->make_nan = NULL;
        order->size = PyArray_ITEMSIZE(a);
        order->sort = PyDataType_GetArrFuncs(PyArray_DESCR(a))->sort[NPY_QUICKSORT];
        switch (PyArray_TYPE(a)) {
            case NPY_DOUBLE: LAZYARRAY_ORDERED(double) LAZYARRAY_UNSURELY(double) break;
            case NPY_FLOAT: LAZYARRAY_ORDERED(float) LAZYARRAY_UNSURELY(float) break;
            case NPY_INT64: LAZYARRAY_ORDERED(long) break;
            case NPY_UINT64: LAZYARRAY_ORDERED(ulong) break;
            case NPY_INT32: LAZYARRAY_ORDERED(int) break;
            case NPY_UINT32: LAZYARRAY_ORDERED(uint) break;
            case NPY_INT16: LAZYARRAY_ORDERED(short) break;
            case NPY_UINT16: LAZYARRAY_ORDERED(ushort) break;
            case NPY_INT8: LAZYARRAY_ORDERED(byte) break;
            case NPY_UINT8: LAZYARRAY_ORDERED(ubyte) break;
            default: return 0;
        }
        return order->sort != NULL;
    }

    /* The values at these places of the sorted numbers, NaN behind all. `buffer` has room for three times as many. */
    static int lazyarray_select_few(
        const lazyarray_order *order, const char *x, npy_intp n, const npy_intp *places, int count, char *found, char *buffer
    ) {
        const char *numbers = x;
        npy_intp size = order->size, known = n;
        int inner = count, p;
        if (order->count_nans && order->count_nans(x, n)) {
            known = order->compact(x, n, buffer);
            numbers = buffer;
            while (inner && places[inner - 1] >= known) inner--;
        }
        for (p = inner; p < count; p++) order->make_nan(x, n, found + p * size);
        if (order->pick(numbers, known, places, inner, found, buffer + n * size, buffer + 2 * n * size) == 0) return 0;
        if (numbers == x) memcpy(buffer, x, n * size);
        if (order->sort(buffer, known, NULL) < 0) return -1;
        for (p = 0; p < inner; p++) memcpy(found + p * size, buffer + places[p] * size, size);
        return 0;
    }

    static int lazyarray_select_whole(
        const lazyarray_order *order, const char *x, npy_intp n, const npy_intp *places, int count, char *found
    ) {
        char few[3 * LAZYARRAY_FEW * 8], *buffer = n <= LAZYARRAY_FEW ? few : (char *)malloc(3 * n * order->size);
        int failed = buffer ? lazyarray_select_few(order, x, n, places, count, found, buffer) : -1;
        if (buffer != few) free(buffer);
        return failed;
    }

    /* Bounds of the places, from a sample: not at equal distances, which data may have, too. -1: no memory. */
    static int lazyarray_find_bounds(
        const lazyarray_order *order, const char *x, npy_intp n, const npy_intp *places, int count, lazyarray_bounds *bounds
    ) {
        npy_intp size = (npy_intp)pow((double)n, 0.6), wanted = 25 * (npy_intp)count * count, k;
        npy_intp first[LAZYARRAY_MOST_PLACES], last[LAZYARRAY_MOST_PLACES], edges[LAZYARRAY_EDGES];
        npy_uint32 random = 2463534242u;
        double step;
        char *sample, found[LAZYARRAY_EDGES * 8], *next = found;
        int b = -1, p, known = 0, failed;
        if (wanted > n / 8) wanted = n / 8;
        if (size < wanted) size = wanted;  /* else the bounds of many places hold all numbers */
        step = (double)n / (double)size;
        bounds->rooms = 0;
        bounds->least = places[0] == 0;
        bounds->most = places[count - 1] == n - 1;
        for (p = bounds->least; p < count - bounds->most; p++) {
            double part = (double)places[p] / (double)n, at = part * (double)size;
            npy_intp apart = (npy_intp)(LAZYARRAY_DEVIATIONS * sqrt(at * (1 - part))) + 4;
            if (b < 0 || (npy_intp)at - apart > last[b]) first[++b] = (npy_intp)at - apart;
            last[b] = (npy_intp)at + apart;
            bounds->places[p] = b;
        }
        bounds->count = b + 1;
        for (b = 0; b < bounds->count; b++) {
            if (first[b] >= 0) edges[known++] = first[b];
            if (last[b] < size) edges[known++] = last[b];
            bounds->room[b] = (npy_intp)((double)(last[b] - first[b]) * step * 1.5) + 2 * LAZYARRAY_TILE;
            bounds->starts[b] = bounds->rooms;
            bounds->rooms += bounds->room[b];
        }
        if (!known) size = 0;
        if (!(sample = (char *)malloc((4 * size + 1) * order->size))) return -1;
        for (k = 0; k < size; k++) {
            npy_intp at = (npy_intp)(((double)k + (double)(random >> 8) / (1 << 24)) * step);
            memcpy(sample + k * order->size, x + (at < n ? at : n - 1) * order->size, order->size);
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
        }
        failed = lazyarray_select_few(order, sample, size, edges, known, found, sample + size * order->size);
        free(sample);
        for (b = 0; b < bounds->count; b++) {
            const char *from = first[b] >= 0 ? next : NULL, *to;
            if (from) next += order->size;
            to = last[b] < size ? next : NULL;
            if (to) next += order->size;
            bounds->open[b] = order->bound(from, to, bounds->low[b], bounds->high[b]);
        }
        memset(bounds->counts, 0, sizeof(bounds->counts));
        memset(bounds->kept, 0, sizeof(bounds->kept));
        return failed;
    }

    static void lazyarray_know_nothing(const lazyarray_order *order, lazyarray_extremes *known) {
        order->bound(NULL, NULL, known->most, known->least);
        known->numbers = known->nans = 0;
    }

    /* Adds to what is known. */
    static void lazyarray_look(const lazyarray_order *order, const char *x, npy_intp n, lazyarray_extremes *known) {
        char numbers[(LAZYARRAY_TILE + 1) * 8];
        npy_intp nans = order->count_nans ? order->count_nans(x, n) : 0;
        known->nans += nans;
        known->numbers += n - nans;
        if (nans) n = order->compact(x, n, numbers);
        order->look(nans ? numbers : x, n, known);
    }

    /* Counts and keeps some of the line's numbers. More than there is room for are counted, and not kept. */
    static void lazyarray_split(
        const lazyarray_order *order, const char *x, npy_intp n, lazyarray_bounds *bounds, char *rooms, lazyarray_extremes *known
    ) {
        npy_intp counts[LAZYARRAY_MOST_PLACES][LAZYARRAY_COUNTS], size = order->size;
        char kept[(LAZYARRAY_TILE + 1) * 8];
        int b, k;
        memset(counts, 0, sizeof(counts));
        while (n > 0) {
            npy_intp taken = n < LAZYARRAY_TILE ? n : LAZYARRAY_TILE;
            if (bounds->least || bounds->most) lazyarray_look(order, x, taken, known);
            for (b = 0; b < bounds->count; b++) {
                npy_intp found = order->tally(x, taken, bounds->low[b], bounds->high[b], counts[b], kept), at;
                if (!found) continue;
                at = (npy_intp)LAZYARRAY_MORE(&bounds->kept[b], found);
                if (at + found <= bounds->room[b]) memcpy(rooms + (bounds->starts[b] + at) * size, kept, found * size);
            }
            x += taken * size;
            n -= taken;
        }
        for (b = 0; b < bounds->count; b++)
            for (k = 0; k < LAZYARRAY_COUNTS; k++) LAZYARRAY_MORE(&bounds->counts[b][k], counts[b][k]);
    }

    static int lazyarray_select(
        const lazyarray_order *order, const char *x, npy_intp n, const npy_intp *places, int count, char *found
    );

    /* What all numbers were counted for: the value at each place. Where bounds hold not all that they should, without. */
    static int lazyarray_select_between(
        const lazyarray_order *order, const char *x, npy_intp n, const npy_intp *places, int count, char *found,
        const lazyarray_bounds *bounds, const char *rooms, const lazyarray_extremes *known
    ) {
        npy_intp size = order->size, inner[LAZYARRAY_MOST_PLACES];
        int p = bounds->least;
        if (bounds->least && known->numbers) memcpy(found, known->least, size);
        else if (bounds->least) order->make_nan(x, n, found);
        if (bounds->most && !known->nans) memcpy(found + (count - 1) * size, known->most, size);
        else if (bounds->most) order->make_nan(x, n, found + (count - 1) * size);
        count -= bounds->most;
        while (p < count) {
            int b = bounds->places[p], among = 0;
            const npy_int64 *counts = bounds->counts[b];
            npy_intp place = places[p];
            char *into = found + p * size;
            while (p + among < count && bounds->places[p + among] == b && places[p + among] >= counts[LAZYARRAY_LEAST]
                   && places[p + among] < counts[LAZYARRAY_UNDER]) {
                inner[among] = places[p + among] - counts[LAZYARRAY_LEAST];
                among++;
            }
            if (among && bounds->kept[b] <= bounds->room[b]) {
                if (lazyarray_select(order, rooms + bounds->starts[b] * size, bounds->kept[b], inner, among, into) < 0) return -1;
                p += among;
                continue;
            }
            if (place >= counts[LAZYARRAY_BELOW] && place < counts[LAZYARRAY_LEAST]) memcpy(into, bounds->low[b], size);
            else if (place >= counts[LAZYARRAY_UNDER] && place < counts[LAZYARRAY_UNTIL]) memcpy(into, bounds->high[b], size);
            else if (place >= counts[LAZYARRAY_UNTIL] && bounds->open[b] && order->make_nan) order->make_nan(x, n, into);
            else return lazyarray_select_whole(order, x, n, places + p, count - p, into);
            p++;
        }
        return 0;
    }

    /* The values that would be at these places if the line were sorted, NaN behind all. -1: no memory. */
    static int lazyarray_select(
        const lazyarray_order *order, const char *x, npy_intp n, const npy_intp *places, int count, char *found
    ) {
        lazyarray_bounds bounds;
        lazyarray_extremes known;
        char *rooms;
        int failed;
        if (n <= LAZYARRAY_FEW) return lazyarray_select_whole(order, x, n, places, count, found);
        if (lazyarray_find_bounds(order, x, n, places, count, &bounds) < 0) return -1;
        if (bounds.rooms >= n) return lazyarray_select_whole(order, x, n, places, count, found);
        if (!(rooms = (char *)malloc((bounds.rooms + 1) * order->size))) return -1;
        lazyarray_know_nothing(order, &known);
        lazyarray_split(order, x, n, &bounds, rooms, &known);
        failed = lazyarray_select_between(order, x, n, places, count, found, &bounds, rooms, &known);
        free(rooms);
        return failed;
    }

    /* Batcher's exchanges that sort so many numbers (Knuth, The Art of Computer Programming, 5.2.2, algorithm M), but for
       those that no place that is asked for depends on; how many. */
    static int lazyarray_find_pairs(npy_intp n, const npy_intp *places, int count, npy_uint8 *pairs) {
        npy_uint8 all[2 * LAZYARRAY_MOST_PAIRS], asked[LAZYARRAY_ROWS] = {0};
        npy_intp largest = 1, p, q, r, d, i;
        int made = 0, kept = LAZYARRAY_MOST_PAIRS, k;
        while (2 * largest < n) largest *= 2;
        for (p = largest; p > 0 && n > 1; p /= 2)
            for (q = largest, r = 0, d = p;; d = q - p, q /= 2, r = p) {
                for (i = 0; i < n - d; i++) {
                    if ((i & p) != r) continue;
                    all[2 * made] = (npy_uint8)i;
                    all[2 * made++ + 1] = (npy_uint8)(i + d);
                }
                if (q == p) break;
            }
        for (k = 0; k < count; k++) asked[places[k]] = 1;
        while (made--) {
            npy_uint8 low = all[2 * made], high = all[2 * made + 1];
            if (!asked[low] && !asked[high]) continue;
            asked[low] = asked[high] = 1;
            kept--;
            pairs[2 * kept] = low;
            pairs[2 * kept + 1] = high;
        }
        memmove(pairs, pairs + 2 * kept, 2 * (LAZYARRAY_MOST_PAIRS - kept));
        return LAZYARRAY_MOST_PAIRS - kept;
    }

    /* The same, of a line of the caller's. */
    static int lazyarray_select_line(
        const lazyarray_order *order, const char *x, npy_intp n, const npy_intp *places, int count, char *found
    ) {
        int p;
        if (!order->is_rising(x, n)) return lazyarray_select(order, x, n, places, count, found);
        for (p = 0; p < count; p++) memcpy(found + p * order->size, x + places[p] * order->size, order->size);
        return 0;
    }

    typedef struct {
        lazyarray_shared shared;
        lazyarray_order order;
        const char *from;
        char *found;
        npy_intp length, inner, lines, groups, width, places[LAZYARRAY_MOST_PLACES];
        int count, failed, is_split, exchanges;
        npy_uint8 pairs[2 * LAZYARRAY_MOST_PAIRS];  /* of lines that are sorted side by side */
        lazyarray_bounds bounds;
        lazyarray_extremes known[1];  /* of each part of a line that is split, and behind them room for what its bounds say */
    } lazyarray_selection;

    static char *lazyarray_rooms_of(lazyarray_selection *asked) { return (char *)(asked->known + asked->shared.count); }

    /* Of one line: whether its values are sure, after they were put to where they belong. */
    static int lazyarray_put_selected(const lazyarray_selection *asked, const char *line, const char *found, npy_intp at) {
        npy_intp size = asked->order.size;
        int p;
        for (p = 0; p < asked->count; p++) memcpy(asked->found + (p * asked->lines + at) * size, found + p * size, size);
        return !asked->order.is_unsure || !asked->order.is_unsure(found, asked->count, line, asked->length);
    }

    /* Lines that are sorted side by side, so many of them or fewer. One by one where they hold NaN or zeros with a sign. */
    static int lazyarray_select_rows(const lazyarray_selection *asked, npy_intp at, npy_intp n) {
        npy_intp size = asked->order.size, step = asked->inner, k, j;
        npy_uint64 room[LAZYARRAY_ROWS * LAZYARRAY_BESIDE];
        char *rows = (char *)room, line[LAZYARRAY_ROWS * 8], found[LAZYARRAY_MOST_PLACES * 8];
        const char *lines[LAZYARRAY_BESIDE];
        int p;
        for (j = 0; j < LAZYARRAY_BESIDE; j++) {
            npy_intp one = at + (j < n ? j : 0);
            lines[j] = asked->from + (one / step * asked->length * step + one % step) * size;
        }
        #define LAZYARRAY_ROW(TYPE) \\
            for (k = 0; k < asked->length; k++) \\
                for (j = 0; j < LAZYARRAY_BESIDE; j++) ((TYPE *)rows)[k * LAZYARRAY_BESIDE + j] = ((const TYPE *)lines[j])[k * step];
        if (lines[LAZYARRAY_BESIDE - 1] - lines[0] == (LAZYARRAY_BESIDE - 1) * size && n == LAZYARRAY_BESIDE)
            for (k = 0; k < asked->length; k++)
                memcpy(rows + k * LAZYARRAY_BESIDE * size, lines[0] + k * step * size, LAZYARRAY_BESIDE * size);
        else if (size == 8) { LAZYARRAY_ROW(npy_uint64) }
        else if (size == 4) { LAZYARRAY_ROW(npy_uint32) }
        else if (size == 2) { LAZYARRAY_ROW(npy_uint16) }
        else { LAZYARRAY_ROW(npy_uint8) }
        if (!asked->order.count_odd || !asked->order.count_odd(rows, asked->length * LAZYARRAY_BESIDE)) {
            asked->order.exchange(rows, asked->pairs, asked->exchanges, LAZYARRAY_BESIDE);
            for (p = 0; p < asked->count; p++)
                memcpy(asked->found + (p * asked->lines + at) * size, rows + asked->places[p] * LAZYARRAY_BESIDE * size, n * size);
            return 0;
        }
        for (j = 0; j < n; j++) {
            for (k = 0; k < asked->length; k++) memcpy(line + k * size, rows + (k * LAZYARRAY_BESIDE + j) * size, size);
            if (lazyarray_select_line(&asked->order, line, asked->length, asked->places, asked->count, found) < 0) return -1;
            if (!lazyarray_put_selected(asked, line, found, at + j)) return -1;
        }
        return 0;
    }

    static void lazyarray_run_selection(lazyarray_shared *record, npy_intp begin, npy_intp end) {
        lazyarray_selection *asked = (lazyarray_selection *)record;
        npy_intp size = asked->order.size, line = asked->length * size, j;
        char found[LAZYARRAY_MOST_PLACES * 8], *lines = NULL;
        int failed = 0;
        if (asked->is_split) {
            npy_intp first = begin * LAZYARRAY_SPLIT, stop = end * LAZYARRAY_SPLIT;
            if (stop > asked->length) stop = asked->length;
            lazyarray_split(&asked->order, asked->from + first * size, stop - first, &asked->bounds,
                            lazyarray_rooms_of(asked), asked->known + begin);
            return;
        }
        if (asked->exchanges) {
            for (; begin < end && !failed; begin++) {
                npy_intp at = begin * LAZYARRAY_BESIDE, n = asked->lines - at;
                failed = lazyarray_select_rows(asked, at, n < LAZYARRAY_BESIDE ? n : LAZYARRAY_BESIDE);
            }
            if (failed) LAZYARRAY_ALSO(&asked->failed, 1);
            return;
        }
        if (asked->inner > 1) failed = !(lines = (char *)malloc(asked->width * line));
        for (; begin < end && !failed; begin++) {
            npy_intp outer = begin / asked->groups, first = begin % asked->groups * asked->width, step = asked->inner;
            npy_intp at = outer * step + first, n = step - first < asked->width ? step - first : asked->width;
            const char *from = asked->from + (outer * asked->length * step + first) * size;
            if (lines) lazyarray_gather(from, step * size, lines, asked->length, n, size);
            for (j = 0; j < n && !failed; j++) {
                const char *one = lines ? lines + j * line : from;
                failed = lazyarray_select_line(&asked->order, one, asked->length, asked->places, asked->count, found) < 0
                    || !lazyarray_put_selected(asked, one, found, at + j);
            }
        }
        free(lines);
        if (failed) LAZYARRAY_ALSO(&asked->failed, 1);
    }

    static PyObject *lazyarray_selection_of(PyObject *given, PyObject *result, PyObject *shape, PyObject *places, int shared) {
        PyArrayObject *a = (PyArrayObject *)given;
        npy_intp outer = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, 0)), length = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, 1));
        npy_intp inner = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, 2)), asked[LAZYARRAY_MOST_PLACES];
        lazyarray_order order;
        lazyarray_bounds bounds;
        lazyarray_selection *selection;
        PyObject *made;
        npy_intp parts = (length + LAZYARRAY_SPLIT - 1) / LAZYARRAY_SPLIT;
        int count = (int)PyTuple_GET_SIZE(places);
        npy_intp p;
        if (!PyArray_API && _import_array() < 0) return NULL;
        if (count < 1 || count > LAZYARRAY_MOST_PLACES || !PyArray_ISCARRAY_RO(a) || !lazyarray_find_order(a, &order)) Py_RETURN_NONE;
        for (p = 0; p < count; p++) asked[p] = PyLong_AsSsize_t(PyTuple_GET_ITEM(places, p));
        bounds.rooms = 0;
        shared = shared && outer * inner == 1 && length > LAZYARRAY_SPLIT && !order.is_rising(PyArray_BYTES(a), length);
        if (shared && lazyarray_find_bounds(&order, PyArray_BYTES(a), length, asked, count, &bounds) < 0) return PyErr_NoMemory();
        if (bounds.rooms >= length) shared = 0;
        if (!shared) bounds.rooms = 0;
        made = PyBytes_FromStringAndSize(
            NULL, sizeof(lazyarray_selection) + (shared ? parts * sizeof(lazyarray_extremes) : 0) + bounds.rooms * order.size
        );
        if (!made) return NULL;
        selection = (lazyarray_selection *)PyBytes_AS_STRING(made);
        selection->order = order;
        selection->from = PyArray_BYTES(a);
        selection->found = PyArray_BYTES((PyArrayObject *)result);
        selection->length = length;
        selection->inner = inner;
        selection->lines = outer * inner;
        selection->width = lazyarray_width_of(length * order.size, inner);
        selection->groups = (inner + selection->width - 1) / selection->width;
        memcpy(selection->places, asked, sizeof(asked));
        selection->count = count;
        selection->failed = 0;
        selection->is_split = shared;
        selection->exchanges = 0;
        if (length <= LAZYARRAY_ROWS && length > 1) selection->exchanges = lazyarray_find_pairs(length, asked, count, selection->pairs);
        if (shared) {
            selection->bounds = bounds;
            for (p = 0; p < parts; p++) lazyarray_know_nothing(&order, selection->known + p);
        }
        selection->shared.run = lazyarray_run_selection;
        selection->shared.raised = 0;
        selection->shared.count = shared ? parts : outer * selection->groups;
        if (selection->exchanges) selection->shared.count = (selection->lines + LAZYARRAY_BESIDE - 1) / LAZYARRAY_BESIDE;
        return made;
    }

    static int lazyarray_settle_selection(PyObject *record) {
        lazyarray_selection *asked = (lazyarray_selection *)PyBytes_AS_STRING(record);
        lazyarray_extremes known;
        char found[LAZYARRAY_MOST_PLACES * 8];
        npy_intp k;
        if (!asked->is_split) return !asked->failed;
        lazyarray_know_nothing(&asked->order, &known);
        for (k = 0; k < asked->shared.count; k++) {
            const lazyarray_extremes *part = asked->known + k;
            known.nans += part->nans;
            known.numbers += part->numbers;
            if (!part->numbers) continue;
            asked->order.look(part->least, 1, &known);
            asked->order.look(part->most, 1, &known);
        }
        return lazyarray_select_between(
            &asked->order, asked->from, asked->length, asked->places, asked->count, found, &asked->bounds,
            lazyarray_rooms_of(asked), &known
        ) == 0 && lazyarray_put_selected(asked, asked->from, found, 0);
    }
    """
    object selection_of "lazyarray_selection_of" (object a, object found, tuple lanes, tuple places, bint shared)
    bint settle "lazyarray_settle_selection" (object record)
