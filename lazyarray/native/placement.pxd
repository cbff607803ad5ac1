# C's side of `placement.py`: an allocator of NumPy's (NEP 49) over malloc.
#
# Before an array stands a mark, made from its address, and how far the block begins before it: what NumPy frees may be
# of its own allocator, which has the smaller arrays, whatever size it says. The bytes before an array of malloc's are
# the block's own.
cdef extern from *:
    """
    #include "numpy/arrayobject.h"
    #include <stdint.h>
    #include <string.h>
    #if defined(__linux__)
    #include <sys/mman.h>
    #endif

    #define LAZYARRAY_LINE ((size_t)64)
    #define LAZYARRAY_HEAD ((size_t)16)
    #define LAZYARRAY_MORE (LAZYARRAY_LINE + LAZYARRAY_HEAD)
    /* Bytes. NumPy keeps the memory of arrays of less than 1 KiB itself, and their loops are short. */
    #define LAZYARRAY_PLACED ((size_t)2048)
    /* Bytes from which NumPy asks for large pages. */
    #define LAZYARRAY_LARGE ((size_t)1 << 22)

    static PyDataMem_Handler *lazyarray_plain;
    static int lazyarray_huge;

    static uint64_t lazyarray_mark(void *data) { return (uint64_t)(size_t)data ^ UINT64_C(0x6c617a7961727261); }

    static int lazyarray_is_placed(void *data) {
        uint64_t mark;
        if (!data || ((size_t)data & (LAZYARRAY_LINE - 1))) return 0;
        memcpy(&mark, (char *)data - LAZYARRAY_HEAD, sizeof mark);
        return mark == lazyarray_mark(data);
    }

    static int lazyarray_is_to_place(size_t size) {
        return size >= LAZYARRAY_PLACED && size <= (size_t)PY_SSIZE_T_MAX - LAZYARRAY_MORE;
    }

    static char *lazyarray_place_in(char *block) {
        return (char *)(((size_t)block + LAZYARRAY_HEAD + LAZYARRAY_LINE - 1) & ~(LAZYARRAY_LINE - 1));
    }

    static size_t lazyarray_before(void *data) {
        size_t before;
        memcpy(&before, (char *)data - sizeof before, sizeof before);
        return before;
    }

    static void *lazyarray_placed(char *block) {
        char *data;
        uint64_t mark;
        size_t before;
        if (!block) return NULL;
        data = lazyarray_place_in(block);
        mark = lazyarray_mark(data);
        before = (size_t)(data - block);
        memcpy(data - LAZYARRAY_HEAD, &mark, sizeof mark);
        memcpy(data - sizeof before, &before, sizeof before);
        return data;
    }

    /* As NumPy's `indicate_hugepages`: it is no more than advice. */
    static void *lazyarray_advised(void *data, size_t size) {
    #if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (data && lazyarray_huge && size >= LAZYARRAY_LARGE) {
            size_t skipped = 4096 - (size_t)data % 4096;
            (void)madvise((char *)data + skipped, size - skipped, MADV_HUGEPAGE);
        }
    #endif
        return data;
    }

    static void *lazyarray_get(void *context, size_t size) {
        if (!lazyarray_is_to_place(size)) return lazyarray_plain->allocator.malloc(lazyarray_plain->allocator.ctx, size);
        return lazyarray_advised(lazyarray_placed(malloc(size + LAZYARRAY_MORE)), size);
    }

    static void *lazyarray_get_zeroed(void *context, size_t count, size_t each) {
        size_t size = count * each;  /* NumPy has seen to it that this fits */
        if (!lazyarray_is_to_place(size))
            return lazyarray_plain->allocator.calloc(lazyarray_plain->allocator.ctx, count, each);
        return lazyarray_advised(lazyarray_placed(calloc(1, size + LAZYARRAY_MORE)), size);
    }

    static void lazyarray_give(void *context, void *data, size_t size) {
        if (lazyarray_is_placed(data)) {
            char *block = (char *)data - lazyarray_before(data);
            memset((char *)data - LAZYARRAY_HEAD, 0, LAZYARRAY_HEAD);
            free(block);
        }
        else lazyarray_plain->allocator.free(lazyarray_plain->allocator.ctx, data, size);
    }

    static void *lazyarray_resized(void *context, void *data, size_t size) {
        size_t before;
        char *block, *now;
        if (!lazyarray_is_placed(data))
            return lazyarray_plain->allocator.realloc(lazyarray_plain->allocator.ctx, data, size);
        if (size > (size_t)PY_SSIZE_T_MAX - LAZYARRAY_MORE) return NULL;
        before = lazyarray_before(data);
        block = realloc((char *)data - before, size + LAZYARRAY_MORE);
        if (!block) return NULL;
        now = lazyarray_place_in(block);
        if ((size_t)(now - block) != before) memmove(now, block + before, size);
        return lazyarray_placed(block);
    }

    static PyDataMem_Handler lazyarray_handler = {
        "lazyarray_at_lines", 1,
        {NULL, lazyarray_get, lazyarray_get_zeroed, lazyarray_resized, lazyarray_give}
    };

    /* Not where somebody has NumPy's memory come from elsewhere. */
    static int lazyarray_place_at_lines(int huge) {
        PyObject *handler, *now, *before;
        int plain;
        if (!PyArray_API && _import_array() < 0) return -1;
        now = PyDataMem_GetHandler();
        if (!now) return -1;
        plain = now == PyDataMem_DefaultHandler;
        Py_DECREF(now);
        if (!plain) return 0;
        lazyarray_plain = (PyDataMem_Handler *)PyCapsule_GetPointer(PyDataMem_DefaultHandler, "mem_handler");
        if (!lazyarray_plain) return -1;
        lazyarray_huge = huge;
        handler = PyCapsule_New(&lazyarray_handler, "mem_handler", NULL);
        if (!handler) return -1;
        before = PyDataMem_SetHandler(handler);
        Py_DECREF(handler);
        if (!before) return -1;
        Py_DECREF(before);
        return 1;
    }
    """
    bint place_at_lines "lazyarray_place_at_lines" (bint huge) except -1
