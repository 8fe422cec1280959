// halyard._native.Function: one function of one library, with what its metadata says.

#include "native.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// An object that is not shared stays loaded: its code may run on threads of the pool whenever there are calls.
static int open_library(struct Function *f, const char *path, const char *function) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        PyErr_Format(PyExc_ImportError, "%s cannot be loaded: %s", path, dlerror());
        return 0;
    }
    char name[256];
    PyOS_snprintf(name, sizeof(name), "%s_argv", function);
    f->argv = (int (*)(void **))dlsym(library, name);
    PyOS_snprintf(name, sizeof(name), "%s_metadata", function);
    const struct halide_filter_metadata_t *(*ask)(void) = (const struct halide_filter_metadata_t *(*)(void))dlsym(library, name);
    if (!f->argv || !ask) {
        PyErr_Format(PyExc_ImportError, "%s has no function %s of Halyard", path, function);
        return 0;
    }
    f->metadata = ask();
    return 1;
}

static int init(PyObject *self, PyObject *arguments, PyObject *named) {
    struct Function *f = (struct Function *)self;
    static char *names[] = {"path", "function", NULL};
    const char *path, *function;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "ss", names, &path, &function)) {
        return -1;
    }
    if (f->arguments) {
        PyErr_SetString(PyExc_RuntimeError, "a Function is made once");
        return -1;
    }
    if (!open_library(f, path, function)) {
        return -1;
    }
    const struct halide_filter_metadata_t *m = f->metadata;
    if (m->num_arguments > MOST_ARGUMENTS) {
        PyErr_Format(PyExc_ValueError, "%s has more than %d arguments", function, MOST_ARGUMENTS);
        return -1;
    }
    f->name = PyUnicode_FromString(function);
    f->device = strstr(m->target, "cuda") ? kCuda : kHost;
    f->arguments = PyMem_Calloc((size_t)m->num_arguments, sizeof(*f->arguments));
    f->extents = PyMem_Calloc((size_t)m->num_arguments, sizeof(*f->extents));
    f->order = PyMem_Calloc((size_t)m->num_arguments, sizeof(*f->order));
    if (!f->name || !f->arguments || !f->extents || !f->order) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < m->num_arguments; i++) {
        const struct halide_filter_argument_t *from = &m->arguments[i];
        struct Argument *a = &f->arguments[i];
        a->name = PyUnicode_InternFromString(from->name);
        a->type = PyLong_FromLong(type_key(from->type));
        a->value = Py_NewRef(Py_None);
        a->halide_type = from->type;
        a->dimensions = from->dimensions;
        a->is_buffer = from->kind != halide_argument_kind_input_scalar;
        a->is_output = from->kind == halide_argument_kind_output_buffer;
        f->order[i] = (short)i;
        f->outputs += a->is_output;
        f->count = i + 1;
        if (!a->name || !a->type || a->dimensions > HALYARD_MAX_DIMENSIONS) {
            PyErr_Format(PyExc_ValueError, "%s has an argument %s that cannot be given from Python", function, from->name);
            return -1;
        }
    }
    f->computes_shapes = 1;
    return 0;
}

static void dealloc(PyObject *self) {
    struct Function *f = (struct Function *)self;
    for (int i = 0; i < f->count; i++) {
        Py_XDECREF(f->arguments[i].name);
        Py_XDECREF(f->arguments[i].type);
        Py_XDECREF(f->arguments[i].value);
    }
    PyMem_Free(f->arguments);
    PyMem_Free(f->extents);
    PyMem_Free(f->order);
    Py_XDECREF(f->name);
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *get_arguments(PyObject *self, void *unused) {
    (void)unused;
    const struct Function *f = (const struct Function *)self;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < f->count; i++) {
        const struct Argument *a = &f->arguments[i];
        char type[16];
        PyObject *item = Py_BuildValue("(OssiO)", a->name,
                                       a->is_output   ? "output"
                                       : a->is_buffer ? "input"
                                                      : "scalar",
                                       type_name(a->halide_type, type), a->dimensions, a->type);
        if (!item || PyList_Append(list, item)) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *get_device(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(((const struct Function *)self)->device == kCuda ? "cuda" : "cpu");
}

// pack(argument, weights): the weights as this library wants them, a Buffer.
static PyObject *pack(PyObject *self, PyObject *arguments) {
    const struct Function *f = (const struct Function *)self;
    PyObject *name, *weights;
    if (!PyArg_ParseTuple(arguments, "UO", &name, &weights)) {
        return NULL;
    }
    PyObject *adapter = adapter_of(weights), *text = PyUnicode_AsUTF8String(name), *packed = NULL;
    struct Array a;
    const int imported = adapter && text && import_array(&a, weights, adapter, name);
    Py_XDECREF(adapter);
    if (!imported) {
        Py_XDECREF(text);
        return NULL;
    }
    a.buffer.host = (uint8_t *)a.data;
    void *memory = NULL;
    struct halyard_array layout;
    if (a.device != kHost) {
        PyErr_Format(PyExc_ValueError, "%U: the weights to pack have to be on the host", name);
    } else {
        const int64_t bytes = runtime.packed_bytes(f->metadata, PyBytes_AsString(text), &a.buffer);
        memory = bytes < 0 ? NULL : aligned_alloc(64, (size_t)(bytes + 127) / 64 * 64);
        // What fills up the last panels is read, and does not matter.
        if (memory) {
            memset(memory, 0, (size_t)bytes);
        }
        if (!memory && bytes >= 0) {
            PyErr_NoMemory();
        } else if (!memory || runtime.pack(f->metadata, PyBytes_AsString(text), &a.buffer, memory, &layout)) {
            raise_error(runtime.last_error());
            free(memory);
        } else {
            packed = buffer_of_memory(memory, &layout.buffer, a.dim[a.buffer.dimensions == 2 ? 1 : 3].extent);
        }
    }
    Py_DECREF(text);
    release_array(&a);
    return packed;
}

// set_value(argument, value): of a scalar that a call leaves out; True where _default() is to be asked.
static PyObject *set_value(PyObject *self, PyObject *arguments) {
    const struct Function *f = (const struct Function *)self;
    int i;
    PyObject *value;
    if (!PyArg_ParseTuple(arguments, "iO", &i, &value)) {
        return NULL;
    }
    if (i < 0 || i >= f->count || f->arguments[i].is_buffer) {
        return PyErr_Format(PyExc_IndexError, "there is no scalar %d", i);
    }
    PyObject *before = f->arguments[i].value;
    f->arguments[i].value = Py_NewRef(value);
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

// set_order([argument, ...]): in which order all of them may be given by position.
static PyObject *set_order(PyObject *self, PyObject *list) {
    struct Function *f = (struct Function *)self;
    if (!PyList_Check(list) || PyList_Size(list) != f->count) {
        return PyErr_Format(PyExc_ValueError, "the order is not that of %d arguments", f->count);
    }
    for (int k = 0; k < f->count; k++) {
        const long i = PyLong_AsLong(PyList_GetItem(list, k));
        if (i < 0 || i >= f->count) {
            return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_IndexError, "there is no argument %ld", i);
        }
        f->order[k] = (short)i;
    }
    Py_RETURN_NONE;
}

// set_extents([(output, dimension, argument, dimension), ...]): all extents of all outputs, where none needs _shapes().
static PyObject *set_extents(PyObject *self, PyObject *list) {
    struct Function *f = (struct Function *)self;
    for (Py_ssize_t k = 0; k < PyList_Size(list); k++) {
        int output, d, argument, dimension;
        if (!PyArg_ParseTuple(PyList_GetItem(list, k), "iiii", &output, &d, &argument, &dimension)) {
            return NULL;
        }
        if (output < 0 || output >= f->count || d < 0 || d >= HALYARD_MAX_DIMENSIONS || argument < 0 || argument >= f->count ||
            dimension < 0 || dimension >= f->arguments[argument].dimensions || !f->arguments[argument].is_buffer) {
            return PyErr_Format(PyExc_IndexError, "there is no such dimension");
        }
        f->extents[output][d] = (struct Extent){(short)argument, (short)dimension};
    }
    f->computes_shapes = 0;
    Py_RETURN_NONE;
}

static PyGetSetDef properties[] = {
    {"arguments", get_arguments, NULL, "A tuple for each: name; input, scalar or output; type; number of dimensions; number of the type.",
     NULL},
    {"device", get_device, NULL, "\"cpu\" or \"cuda\".", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"_pack", pack, METH_VARARGS, NULL},
    {"_set_value", set_value, METH_VARARGS, NULL},
    {"_set_order", set_order, METH_O, NULL},
    {"_set_extents", set_extents, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_init, init},         {Py_tp_dealloc, dealloc}, {Py_tp_call, call_function},
    {Py_tp_getset, properties}, {Py_tp_methods, methods}, {0, NULL},
};

PyType_Spec function_type = {
    .name = "halyard._native.Function",
    .basicsize = sizeof(struct Function),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};
