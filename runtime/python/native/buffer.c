// halyard.Buffer: memory of our own that speaks DLPack, for results where the arguments' library cannot be asked for any.

#include "native.h"

#include <stdlib.h>
#include <string.h>

#include "dlpack.h"

struct Buffer {
    PyObject_HEAD struct halide_buffer_t buffer;
    struct halide_dimension_t dim[HALYARD_MAX_DIMENSIONS];
    int64_t shape[HALYARD_MAX_DIMENSIONS], strides[HALYARD_MAX_DIMENSIONS];  // as DLPack has them
    size_t bytes;
    int64_t columns;  // of packed weights
    int device, device_id;
};

static int init(PyObject *self, PyObject *arguments, PyObject *named) {
    struct Buffer *b = (struct Buffer *)self;
    static char *names[] = {"shape", "type", "device", "device_id", NULL};
    PyObject *shape;
    int type;
    b->device = kHost;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O!i|ii", names, &PyTuple_Type, &shape, &type, &b->device, &b->device_id)) {
        return -1;
    }
    const Py_ssize_t n = PyTuple_Size(shape);
    int64_t extents[HALYARD_MAX_DIMENSIONS];
    // Before the Buffer is looked at: what says its extent by __index__ may do anything, make this Buffer too.
    for (Py_ssize_t i = 0; i < n && i < HALYARD_MAX_DIMENSIONS; i++) {
        extents[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    if (n > HALYARD_MAX_DIMENSIONS || b->buffer.dim || (b->device != kHost && b->device != kCuda)) {
        PyErr_SetString(PyExc_ValueError,
                        "a Buffer has at most 8 dimensions, is on the host (1) or on a CUDA device (2), and is made once");
        return -1;
    }
    b->buffer.type.code = (halide_type_code_t)(type >> 8);
    b->buffer.type.bits = (uint8_t)type;
    b->buffer.type.lanes = 1;
    b->buffer.dimensions = (int32_t)n;
    int64_t elements = 1;
    for (Py_ssize_t i = n; i-- > 0;) {
        const int64_t extent = extents[i];
        if (extent < 0 || (extent > 0 && elements > INT32_MAX / extent)) {
            PyErr_SetString(PyExc_ValueError, "a Buffer has at most 2^31 - 1 elements");
            return -1;
        }
        b->shape[i] = extent;
        b->strides[i] = elements;
        b->dim[n - 1 - i] = (struct halide_dimension_t){0, (int32_t)extent, (int32_t)elements, 0};
        elements *= extent;
    }
    b->bytes = (size_t)elements * (size_t)((b->buffer.type.bits + 7) / 8);
    // Whole lines of the cache, which some libraries ask for.
    b->buffer.host = aligned_alloc(64, (b->bytes + 127) / 64 * 64);
    if (!b->buffer.host) {
        PyErr_NoMemory();
        return -1;
    }
    b->buffer.dim = b->dim;
    if (b->device == kCuda) {
        runtime.cuda_set_device(b->device_id);
        if (runtime.device_malloc(NULL, &b->buffer, runtime.cuda_interface())) {
            raise_error(runtime.last_error());
            return -1;
        }
    }
    return 0;
}

PyObject *buffer_of_memory(void *memory, const struct halide_buffer_t *layout, int64_t columns) {
    PyTypeObject *type = (PyTypeObject *)module.buffer;
    const allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct Buffer *b = (struct Buffer *)allocate(type, 0);
    if (!b) {
        free(memory);
        return NULL;
    }
    const int n = layout->dimensions;
    b->buffer = *layout;
    b->buffer.dim = b->dim;
    b->buffer.host = memory;
    b->bytes = (size_t)((layout->type.bits + 7) / 8);
    for (int d = 0; d < n; d++) {
        b->dim[d] = layout->dim[d];
        b->shape[n - 1 - d] = layout->dim[d].extent;
        b->strides[n - 1 - d] = layout->dim[d].stride;
        b->bytes *= (size_t)layout->dim[d].extent;
    }
    b->columns = columns;
    b->device = kHost;
    return (PyObject *)b;
}

int64_t columns_of_buffer(PyObject *array) {
    return (PyObject *)Py_TYPE(array) == module.buffer ? ((struct Buffer *)array)->columns : 0;
}

static void dealloc(PyObject *self) {
    struct Buffer *b = (struct Buffer *)self;
    if (b->buffer.device) {
        runtime.device_free(NULL, &b->buffer);
    }
    free(b->buffer.host);
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

struct Export {
    struct DlManagedTensor managed;
    PyObject *buffer;
};

static void delete_export(struct DlManagedTensor *managed) {
    struct Export *e = managed->context;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(e->buffer);
    PyGILState_Release(state);
    free(e);
}

static void delete_capsule(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        struct DlManagedTensor *managed = PyCapsule_GetPointer(capsule, "dltensor");
        managed->deleter(managed);
    }
}

static PyObject *export_dlpack(PyObject *self, PyObject *arguments, PyObject *named) {
    (void)arguments, (void)named;  // whoever asks gets the older form, which all take
    struct Buffer *b = (struct Buffer *)self;
    struct Export *e = malloc(sizeof(*e));
    if (!e) {
        return PyErr_NoMemory();
    }
    e->buffer = Py_NewRef(self);
    e->managed = (struct DlManagedTensor){
        .tensor = {.data = b->device == kCuda ? (void *)(uintptr_t)b->buffer.device : b->buffer.host,
                   .device_type = b->device,
                   .device_id = b->device_id,
                   .ndim = b->buffer.dimensions,
                   .code = (uint8_t)b->buffer.type.code,
                   .bits = b->buffer.type.bits,
                   .lanes = 1,
                   .shape = b->shape,
                   .strides = b->strides},
        .context = e,
        .deleter = delete_export,
    };
    PyObject *capsule = PyCapsule_New(&e->managed, "dltensor", delete_capsule);
    if (!capsule) {
        delete_export(&e->managed);
    }
    return capsule;
}

static PyObject *export_device(PyObject *self, PyObject *unused) {
    (void)unused;
    const struct Buffer *b = (const struct Buffer *)self;
    return Py_BuildValue("(ii)", b->device, b->device_id);
}

// Its bytes, wherever they are.
static PyObject *to_bytes(PyObject *self, PyObject *unused) {
    (void)unused;
    struct Buffer *b = (struct Buffer *)self;
    if (b->device == kCuda) {
        b->buffer.flags |= halide_buffer_flag_device_dirty;
        if (runtime.copy_to_host(NULL, &b->buffer)) {
            raise_error(runtime.last_error());
            return NULL;
        }
    }
    return PyBytes_FromStringAndSize((const char *)b->buffer.host, (Py_ssize_t)b->bytes);
}

static PyObject *from_bytes(PyObject *self, PyObject *bytes) {
    struct Buffer *b = (struct Buffer *)self;
    if (!PyBytes_Check(bytes) || (size_t)PyBytes_Size(bytes) != b->bytes) {
        return PyErr_Format(PyExc_ValueError, "the Buffer takes %zu bytes", b->bytes);
    }
    memcpy(b->buffer.host, PyBytes_AsString(bytes), b->bytes);
    if (b->device == kCuda) {
        b->buffer.flags |= halide_buffer_flag_host_dirty;
        if (runtime.copy_to_device(NULL, &b->buffer, runtime.cuda_interface())) {
            raise_error(runtime.last_error());
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

static PyObject *get_shape(PyObject *self, void *unused) {
    (void)unused;
    const struct Buffer *b = (const struct Buffer *)self;
    PyObject *shape = PyTuple_New(b->buffer.dimensions);
    for (int i = 0; shape && i < b->buffer.dimensions; i++) {
        PyTuple_SetItem(shape, i, PyLong_FromLongLong(b->shape[i]));
    }
    return shape;
}

static PyGetSetDef properties[] = {
    {"shape", get_shape, NULL, "Outermost dimension first.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))export_dlpack, METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack_device__", export_device, METH_NOARGS, NULL},
    {"tobytes", to_bytes, METH_NOARGS, "A copy of the elements."},
    {"frombytes", from_bytes, METH_O, "Takes a copy of the bytes."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_init, init}, {Py_tp_dealloc, dealloc}, {Py_tp_getset, properties}, {Py_tp_methods, methods}, {0, NULL},
};

PyType_Spec buffer_type = {
    .name = "halyard._native.Buffer",
    .basicsize = sizeof(struct Buffer),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
