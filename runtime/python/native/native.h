#ifndef HALYARD_PYTHON_NATIVE_H
#define HALYARD_PYTHON_NATIVE_H

/** \file
 * halyard._native: what a call of a library from Python takes, without a detour through Python code.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <HalideRuntime.h>

#include "halyard/array.h"

/** Devices as DLPack numbers them. */
enum { kHost = 1, kCuda = 2, kCudaPinned = 3, kCudaManaged = 13 };

/** Of the shared runtime, once load_runtime() has found it. */
struct Runtime {
    const char *(*last_error)(void);
    int (*set_num_threads)(int);
    void (*cuda_set_stream)(void *);
    void (*cuda_set_device)(int);
    int (*cuda_wrap)(struct halide_buffer_t *, const void *);
    int (*cuda_unwrap)(struct halide_buffer_t *);
    int (*cuda_synchronize)(void);
    const struct halide_device_interface_t *(*cuda_interface)(void);
    int (*device_malloc)(void *, struct halide_buffer_t *, const struct halide_device_interface_t *);
    int (*device_free)(void *, struct halide_buffer_t *);
    int (*copy_to_host)(void *, struct halide_buffer_t *);
    int (*copy_to_device)(void *, struct halide_buffer_t *, const struct halide_device_interface_t *);
    int64_t (*packed_bytes)(const struct halide_filter_metadata_t *, const char *, const struct halide_buffer_t *);
    int (*pack)(const struct halide_filter_metadata_t *, const char *, const struct halide_buffer_t *, void *, struct halyard_array *);
};
extern struct Runtime runtime;

/** halyard.Error and what else the module holds. */
struct Module {
    PyObject *error;     // raised for what a library or its runtime says
    PyObject *adapters;  // by the type of an array, a tuple of enum Adapter
    PyObject *adapt;     // makes one for a type that is new
    PyObject *buffer;    // the type halyard.Buffer
    PyObject *name_out, *name_array_struct;
};
extern struct Module module;

/** How arrays of a type are read and made; halyard/_arrays.py makes these tuples. */
enum Adapter {
    kExport,  // a function of an array that returns a capsule of DLPack; None for __array_struct__
    kEmpty,   // a function of an array like the one wanted, shape and dtype
    kFinish,  // a function of such an array that makes the result of it, or None
    kStream,  // a function of a device's number that returns its current stream, or None
    kDtypes,  // the dtypes by the numbers of type_key()
    kAdapterFields
};

/** An array as a library takes it. `keeps` is what holds its memory. */
struct Array {
    struct halide_buffer_t buffer;
    struct halide_dimension_t dim[HALYARD_MAX_DIMENSIONS];
    PyObject *keeps;
    const void *data;
    int device, device_id, read_only;
};

/** The adapter of an array's type, a reference of the caller's; NULL with an exception where nothing is known of it. */
PyObject *adapter_of(PyObject *array);

/** Makes an array a buffer. `name` is what messages call it. False with an exception. */
int import_array(struct Array *a, PyObject *array, PyObject *adapter, PyObject *name);
void release_array(struct Array *a);

/** Its shape as Python has it, outermost dimension first. */
PyObject *shape_of_array(const struct Array *a);

/** "bfloat16" */
const char *type_name(struct halide_type_t type, char text[16]);
int type_key(struct halide_type_t type);

struct Argument {
    PyObject *name;
    PyObject *type;  // type_key()
    struct halide_type_t halide_type;
    int dimensions, is_buffer, is_output;
    PyObject *value;  // of a scalar: a number, None where it has to be given, or True where _default() knows
};

/** Of which dimension of which argument the extent of a result is. */
struct Extent {
    short argument, dimension;
};

/** One function of one library. */
struct Function {
    PyObject_HEAD PyObject *name;
    int (*argv)(void **);
    const struct halide_filter_metadata_t *metadata;
    int device, count, outputs;
    int computes_shapes;  // some extent is arithmetic: _shapes() knows
    struct Argument *arguments;
    short *order;                                      // of arguments that are given by position
    struct Extent (*extents)[HALYARD_MAX_DIMENSIONS];  // of every argument that is an output, innermost first
};

#define MOST_ARGUMENTS 48

/** A Buffer of memory from aligned_alloc(), which it takes, with the layout of another; of packed weights with so many columns, which
 * their panels do not tell. */
PyObject *buffer_of_memory(void *memory, const struct halide_buffer_t *layout, int64_t columns);

/** 0 for everything but packed weights. */
int64_t columns_of_buffer(PyObject *array);

PyObject *call_function(PyObject *self, PyObject *arguments, PyObject *named);

PyObject *load_runtime(PyObject *self, PyObject *path);
PyObject *set_num_threads(PyObject *self, PyObject *number);
PyObject *synchronize(PyObject *self, PyObject *unused);

/** Raises halyard.Error with the text. */
void raise_error(const char *text);

extern PyType_Spec function_type, buffer_type;

#endif
