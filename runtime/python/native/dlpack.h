#ifndef HALYARD_PYTHON_DLPACK_H
#define HALYARD_PYTHON_DLPACK_H

/** \file
 * What array libraries exchange, as their specifications lay it out: DLPack's structures, and the one behind __array_struct__.
 */

#include <stdint.h>

enum { kDlBool = 6, kDlReadOnly = 1 };

struct DlTensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;  // strides in elements; NULL for dense, outermost first
    uint64_t byte_offset;
};

/** In a capsule "dltensor". */
struct DlManagedTensor {
    struct DlTensor tensor;
    void *context;
    void (*deleter)(struct DlManagedTensor *);
};

/** In a capsule "dltensor_versioned". */
struct DlManagedTensorVersioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct DlManagedTensorVersioned *);
    uint64_t flags;
    struct DlTensor tensor;
};

enum { kArrayNotSwapped = 0x200, kArrayWriteable = 0x400 };

struct ArrayStruct {
    int two, ndim;
    char kind;
    int itemsize, flags;
    intptr_t *shape, *strides;  // in bytes
    void *data;
};

#endif
