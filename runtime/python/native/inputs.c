// What a call was given, as the library takes it.

#include "call.h"

#include <string.h>

int bind(struct Call *c, PyObject *self, PyObject *arguments, PyObject *named) {
    const struct Function *f = c->function;
    const Py_ssize_t count = PyTuple_Size(arguments);
    Py_ssize_t used = 0, found = 0;
    const Py_ssize_t names = named ? PyDict_Size(named) : 0;
    for (int k = 0; k < f->count; k++) {
        const int i = f->order[k];
        const struct Argument *a = &f->arguments[i];
        c->given[i] = !a->is_output && used < count ? PyTuple_GetItem(arguments, used++) : NULL;
        PyObject *by_name = names ? PyDict_GetItemWithError(named, a->name) : NULL;
        if (by_name && c->given[i]) {
            PyErr_Format(PyExc_TypeError, "%U: %U is given by position and by name", f->name, a->name);
            return 0;
        }
        if (by_name) {
            c->given[i] = by_name;
            found++;
        }
        if (c->given[i] == Py_None) {
            c->given[i] = NULL;
        }
    }
    PyObject *out = names > found ? PyDict_GetItemWithError(named, module.name_out) : NULL;
    found += out != NULL;
    if (used < count || names > found) {
        PyObject *raised = PyObject_CallMethod(self, "_wrong_arguments", "nO", count, named ? named : Py_None);
        Py_XDECREF(raised);
        return 0;
    }
    if (!out || out == Py_None) {
        return 1;
    }
    const int several = PyTuple_Check(out);
    if ((several ? PyTuple_Size(out) : 1) != f->outputs) {
        PyErr_Format(PyExc_TypeError, "%U: out= takes %d arrays, in a tuple", f->name, f->outputs);
        return 0;
    }
    for (int i = 0, k = 0; i < f->count; i++) {
        if (f->arguments[i].is_output) {
            c->given[i] = several ? PyTuple_GetItem(out, k++) : out;
        }
    }
    return 1;
}

static void name_device(const struct Array *a, char text[32]) {
    PyOS_snprintf(text, 32, a->device == kHost ? "the host" : a->device == kCuda ? "CUDA device %d" : "another device", a->device_id);
}

static int check_array(struct Call *c, int i) {
    const struct Argument *a = &c->function->arguments[i];
    const struct Array *array = &c->arrays[i];
    char is[16], wanted[16];
    if (array->buffer.dimensions != a->dimensions) {
        PyErr_Format(PyExc_ValueError, "%U: %U has %d dimensions, and the op takes %d", c->function->name, a->name,
                     array->buffer.dimensions, a->dimensions);
        return 0;
    }
    // Truth values are bytes of 0 and 1.
    const struct halide_type_t type = array->buffer.type;
    const int is_byte = type.code == halide_type_uint && (type.bits == 1 || type.bits == 8);
    const int wants_byte = a->halide_type.code == halide_type_uint && (a->halide_type.bits == 1 || a->halide_type.bits == 8);
    if (type_key(type) != type_key(a->halide_type) && !(is_byte && wants_byte && !a->is_output)) {
        PyErr_Format(PyExc_TypeError, "%U: %U is %s, and this op was built for %s", c->function->name, a->name, type_name(type, is),
                     type_name(a->halide_type, wanted));
        return 0;
    }
    c->arrays[i].buffer.type = a->halide_type;
    if (a->is_output && array->read_only) {
        PyErr_Format(PyExc_ValueError, "%U: %U is read-only", c->function->name, a->name);
        return 0;
    }
    return 1;
}

int import_argument(struct Call *c, int i, PyObject *value) {
    PyObject *const name = c->function->arguments[i].name;
    PyObject *adapter = adapter_of(value);
    if (!adapter) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Format(PyExc_TypeError, "%U: %U is no array but a %R", c->function->name, name, (PyObject *)Py_TYPE(value));
        }
        return -1;
    }
    const int imported = import_array(&c->arrays[i], value, adapter, name), is_first = c->first < 0;
    if (imported && is_first) {
        c->first = i;
        c->adapter = Py_NewRef(adapter);
    }
    Py_DECREF(adapter);
    if (!imported) {
        return -1;
    }
    if (is_first) {
        if (c->arrays[i].device != c->function->device) {
            return 0;
        }
    }
    const struct Array *first = &c->arrays[c->first], *this = &c->arrays[i];
    if (this->device != first->device || (this->device == kCuda && this->device_id != first->device_id)) {
        char is[32], other[32];
        name_device(this, is);
        name_device(first, other);
        PyErr_Format(PyExc_ValueError, "%U: %U is on %s, but %U is on %s", c->function->name, name, is,
                     c->function->arguments[c->first].name, other);
        return -1;
    }
    return check_array(c, i) ? 1 : -1;
}

static int refuse_scalar(const struct Call *c, int i, PyObject *value) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        char name[16];
        const struct Argument *a = &c->function->arguments[i];
        PyErr_Format(PyExc_TypeError, "%U: %U is %s, which cannot be made of %R", c->function->name, a->name,
                     type_name(a->halide_type, name), value);
    }
    return 0;
}

static int set_scalar(struct Call *c, int i, PyObject *value) {
    const struct halide_type_t type = c->function->arguments[i].halide_type;
    if (type.code == halide_type_float) {
        const double v = PyFloat_AsDouble(value);
        if (v == -1 && PyErr_Occurred()) {
            return refuse_scalar(c, i, value);
        }
        if (type.bits == 32) {
            const float narrow = (float)v;
            memcpy(&c->scalars[i], &narrow, sizeof(narrow));
        } else {
            memcpy(&c->scalars[i], &v, sizeof(v));
        }
        return 1;
    }
    PyObject *index = PyNumber_Index(value);
    const long long v = index ? PyLong_AsLongLong(index) : -1;
    Py_XDECREF(index);
    if (v == -1 && PyErr_Occurred()) {
        return refuse_scalar(c, i, value);
    }
    const int is_signed = type.code == halide_type_int;
    const long long most = type.bits >= 64 ? INT64_MAX : (1LL << (type.bits - is_signed)) - 1;
    if (v > most || v < (is_signed ? -most - 1 : 0)) {
        char name[16];
        PyErr_Format(PyExc_OverflowError, "%U: %U = %lld does not fit in %s", c->function->name, c->function->arguments[i].name, v,
                     type_name(type, name));
        return 0;
    }
    memcpy(&c->scalars[i], &v, sizeof(v));  // the lowest bytes come first
    return 1;
}

// (columns, *shape) of packed weights.
static PyObject *with_columns(PyObject *shape, int64_t columns) {
    PyObject *before = shape && columns ? Py_BuildValue("(L)", (long long)columns) : NULL;
    if (!before) {
        return shape;
    }
    PyObject *both = PySequence_Concat(before, shape);
    Py_DECREF(before);
    Py_DECREF(shape);
    return both;
}

PyObject *shapes_of_inputs(struct Call *c) {
    if (!c->shapes) {
        c->shapes = PyTuple_New(c->function->count);
        for (int i = 0; c->shapes && i < c->function->count; i++) {
            const struct Argument *a = &c->function->arguments[i];
            PyObject *shape = a->is_buffer && !a->is_output ? with_columns(shape_of_array(&c->arrays[i]), columns_of_buffer(c->given[i]))
                                                            : Py_NewRef(Py_None);
            if (!shape || PyTuple_SetItem(c->shapes, i, shape)) {
                Py_CLEAR(c->shapes);
            }
        }
    }
    return c->shapes;
}

static int set_default(struct Call *c, PyObject *self, int i) {
    const struct Argument *a = &c->function->arguments[i];
    if (a->value == Py_None) {
        PyErr_Format(PyExc_TypeError, "%U: %U is missing", c->function->name, a->name);
        return 0;
    }
    if (a->value != Py_True) {
        return set_scalar(c, i, a->value);
    }
    PyObject *shapes = shapes_of_inputs(c);
    PyObject *value = shapes ? PyObject_CallMethod(self, "_default", "OO", a->name, shapes) : NULL;
    const int ok = value && set_scalar(c, i, value);
    Py_XDECREF(value);
    return ok;
}

int take_inputs(struct Call *c, PyObject *self) {
    const struct Function *f = c->function;
    for (int i = 0; i < f->count; i++) {
        const struct Argument *a = &f->arguments[i];
        c->imported = i;
        c->arrays[i].keeps = NULL;
        c->argv[i] = a->is_buffer ? (void *)&c->arrays[i].buffer : (void *)&c->scalars[i];
        if (!a->is_buffer || a->is_output) {
            continue;
        }
        if (!c->given[i]) {
            PyErr_Format(PyExc_TypeError, "%U: %U is missing", f->name, a->name);
            return -1;
        }
        const int taken = import_argument(c, i, c->given[i]);
        c->imported = i + 1;
        if (taken != 1) {
            return taken;
        }
    }
    c->imported = f->count;
    for (int i = 0; i < f->count; i++) {
        if (!f->arguments[i].is_buffer && !(c->given[i] ? set_scalar(c, i, c->given[i]) : set_default(c, self, i))) {
            return -1;
        }
    }
    return 1;
}
