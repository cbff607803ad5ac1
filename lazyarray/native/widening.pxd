# What becomes float64 beside float64, for `loops.pxd`.
from lazyarray.native.targets cimport has_avx2

cdef extern from *:
    """
    #include <fenv.h>
    #include <math.h>
    #include "numpy/arrayobject.h"
    #include "numpy/arrayscalars.h"
    #include "numpy/ufuncobject.h"

    /* Integers as doubles, each half exactly, and rounded once: vectors have no instruction for it before AVX-512. */
    #define LAZYARRAY_WIDE(NAME, WITH, KIND, HIGH, BOTH) \\
        WITH LAZYARRAY_VECTORS static void lazyarray_widen_##NAME(double *to, const char *given, npy_intp count) { \\
            const KIND *from = (const KIND *)given; \\
            const npy_uint64 both = BOTH; \\
            double less; \\
            npy_intp k; \\
            memcpy(&less, &both, sizeof less); \\
            for (k = 0; k < count; k++) { \\
                npy_uint64 high = ((npy_uint64)from[k] >> 32) ^ HIGH; \\
                npy_uint64 low = ((npy_uint64)from[k] & 0xffffffff) | 0x4330000000000000; \\
                double upper, lower; \\
                memcpy(&upper, &high, sizeof upper); \\
                memcpy(&lower, &low, sizeof lower); \\
                to[k] = (upper - less) + lower; \\
            } \\
        }
    #define LAZYARRAY_NARROW(NAME, WITH, KIND) \\
        WITH LAZYARRAY_VECTORS static void lazyarray_widen_##NAME(double *to, const char *given, npy_intp count) { \\
            const KIND *from = (const KIND *)given; \\
            npy_intp k; \\
            for (k = 0; k < count; k++) to[k] = (double)from[k]; \\
        }
    LAZYARRAY_BOTH(LAZYARRAY_WIDE, long, npy_long, 0x4530000080000000, 0x4530000080100000)
    LAZYARRAY_BOTH(LAZYARRAY_WIDE, ulong, npy_ulong, 0x4530000000000000, 0x4530000000100000)
    LAZYARRAY_BOTH(LAZYARRAY_NARROW, byte, npy_byte)
    LAZYARRAY_BOTH(LAZYARRAY_NARROW, ubyte, npy_ubyte)
    LAZYARRAY_BOTH(LAZYARRAY_NARROW, short, npy_short)
    LAZYARRAY_BOTH(LAZYARRAY_NARROW, ushort, npy_ushort)
    LAZYARRAY_BOTH(LAZYARRAY_NARROW, int, npy_int)
    LAZYARRAY_BOTH(LAZYARRAY_NARROW, uint, npy_uint)
    LAZYARRAY_BOTH(LAZYARRAY_NARROW, float, npy_float)

    typedef void (*lazyarray_widening)(double *, const char *, npy_intp);

    /* What makes doubles of a type's elements; NULL for other types. */
    static lazyarray_widening lazyarray_widening_of(int type) {
        switch (type) {
            case NPY_BOOL: case NPY_UBYTE: return LAZYARRAY_PICK(widen, ubyte);
            case NPY_BYTE: return LAZYARRAY_PICK(widen, byte);
            case NPY_SHORT: return LAZYARRAY_PICK(widen, short);
            case NPY_USHORT: return LAZYARRAY_PICK(widen, ushort);
            case NPY_INT: return LAZYARRAY_PICK(widen, int);
            case NPY_UINT: return LAZYARRAY_PICK(widen, uint);
            case NPY_LONG: return sizeof(npy_long) == 8 ? LAZYARRAY_PICK(widen, long) : NULL;
            case NPY_ULONG: return sizeof(npy_long) == 8 ? LAZYARRAY_PICK(widen, ulong) : NULL;
            case NPY_FLOAT: return LAZYARRAY_PICK(widen, float);
        }
        return NULL;
    }
    """
    void *widening_of "lazyarray_widening_of" (int type)
