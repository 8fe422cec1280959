// A call: arguments of Python become those of the library, results are made, the library runs without the interpreter's lock.

#include "native.h"

#include <string.h>

struct Call {
    struct Function *function;
    PyObject *given[MOST_ARGUMENTS];  // borrowed; NULL where nothing was
    struct Array arrays[MOST_ARGUMENTS];
    int64_t scalars[MOST_ARGUMENTS];
    void *argv[MOST_ARGUMENTS];
    int imported;       // arrays with a number below are to be released
    int first;          // the first array, which says what the results are like; -1
    PyObject *adapter;  // of that one
    PyObject *shapes;   // of all inputs, once somebody has asked
    PyObject *results[MOST_ARGUMENTS];
};

// By position, the inputs; by name, everything; `out` is one output or a tuple of all.
static int bind(struct Call *c, PyObject *self, PyObject *arguments, PyObject *named) {
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

// 1 where it is an array of the op's device, 0 where it is on another one, -1 with an exception.
static int import_argument(struct Call *c, int i, PyObject *value) {
    PyObject *const name = c->function->arguments[i].name;
    PyObject *adapter = adapter_of(value);
    if (!adapter) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Format(PyExc_TypeError, "%U: %U is no array but a %R", c->function->name, name, (PyObject *)Py_TYPE(value));
        }
        return -1;
    }
    if (!import_array(&c->arrays[i], value, adapter, name)) {
        return -1;
    }
    if (c->first < 0) {
        c->first = i;
        c->adapter = adapter;
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

// A tuple with the shape of every input that is an array, and None for the others.
static PyObject *shapes_of_inputs(struct Call *c) {
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

// Inputs: 1, or 0 where the arrays are on another device, or -1 with an exception.
static int take_inputs(struct Call *c, PyObject *self) {
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

static PyObject *shape_of_output(struct Call *c, PyObject *computed, int i, int number) {
    const struct Function *f = c->function;
    if (computed) {
        return Py_XNewRef(PyTuple_GetItem(computed, number));
    }
    const int n = f->arguments[i].dimensions;
    PyObject *shape = PyTuple_New(n);
    for (int d = 0; shape && d < n; d++) {
        const struct Extent e = f->extents[i][n - 1 - d];
        PyObject *extent = PyLong_FromLong(c->arrays[e.argument].dim[e.dimension].extent);
        if (!extent || PyTuple_SetItem(shape, d, extent)) {
            Py_CLEAR(shape);
        }
    }
    return shape;
}

static PyObject *make_output(struct Call *c, PyObject *computed, int i, int number) {
    const struct Argument *a = &c->function->arguments[i];
    PyObject *like = c->first < 0 ? Py_None : c->given[c->first];
    PyObject *dtype = c->adapter ? PyDict_GetItemWithError(PyTuple_GetItem(c->adapter, kDtypes), a->type) : NULL;
    if (!dtype) {
        char name[16];
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "%U: the library of the arguments has no %s; give %U", c->function->name,
                         type_name(a->halide_type, name), a->name);
        }
        return NULL;
    }
    PyObject *shape = shape_of_output(c, computed, i, number);
    PyObject *made = shape ? PyObject_CallFunctionObjArgs(PyTuple_GetItem(c->adapter, kEmpty), like, shape, dtype, NULL) : NULL;
    Py_XDECREF(shape);
    return made;
}

static int take_outputs(struct Call *c, PyObject *self) {
    const struct Function *f = c->function;
    PyObject *computed = NULL;
    int ok = 1;
    for (int i = 0, number = 0; ok && i < f->count; i++) {
        if (!f->arguments[i].is_output) {
            continue;
        }
        const int needs_shapes = !c->given[i] && f->computes_shapes && !computed;
        if (needs_shapes) {
            PyObject *shapes = shapes_of_inputs(c);
            computed = shapes ? PyObject_CallMethod(self, "_shapes", "(O)", shapes) : NULL;
        }
        if (!needs_shapes || computed) {
            c->results[number] = c->given[i] ? Py_NewRef(c->given[i]) : make_output(c, computed, i, number);
        }
        ok = c->results[number] && import_argument(c, i, c->results[number]) == 1;
        number++;
    }
    Py_XDECREF(computed);
    return ok;
}

// Without the interpreter's lock. The text of an error is this thread's, and is taken before anything else can fail.
static int run(struct Call *c, void *stream, char *text, size_t size) {
    const struct Function *f = c->function;
    int code = 0, wrapped = 0;
    if (f->device == kCuda) {
        runtime.cuda_set_device(c->first < 0 ? -1 : c->arrays[c->first].device_id);
        runtime.cuda_set_stream(stream);
    }
    for (int i = 0; i < f->count && !code; i++) {
        if (!f->arguments[i].is_buffer) {
            continue;
        }
        struct Array *a = &c->arrays[i];
        if (f->device == kCuda) {
            code = runtime.cuda_wrap(&a->buffer, a->data);
        } else {
            a->buffer.host = (uint8_t *)a->data;
        }
        wrapped = i + 1;
    }
    code = code ? code : f->argv(c->argv);
    if (code) {
        strncpy(text, runtime.last_error(), size - 1);
    }
    for (int i = 0; i < wrapped && f->device == kCuda; i++) {
        if (f->arguments[i].is_buffer) {
            runtime.cuda_unwrap(&c->arrays[i].buffer);
        }
    }
    return code;
}

static int current_stream(struct Call *c, void **stream) {
    PyObject *ask = c->adapter ? PyTuple_GetItem(c->adapter, kStream) : Py_None;
    *stream = NULL;
    if (c->function->device != kCuda || ask == Py_None) {
        return 1;
    }
    PyObject *number = PyObject_CallFunction(ask, "i", c->arrays[c->first].device_id);
    *stream = number ? PyLong_AsVoidPtr(number) : NULL;
    Py_XDECREF(number);
    return !PyErr_Occurred();
}

// What the caller gets: the arrays that were given, or what the framework's own makes of ours.
static PyObject *results_of(struct Call *c) {
    const struct Function *f = c->function;
    PyObject *finish = c->adapter ? PyTuple_GetItem(c->adapter, kFinish) : Py_None;
    for (int i = 0, number = 0; finish != Py_None && i < f->count; i++) {
        if (f->arguments[i].is_output) {
            if (!c->given[i]) {
                PyObject *ours = c->results[number];
                c->results[number] = PyObject_CallFunctionObjArgs(finish, ours, NULL);
                Py_DECREF(ours);
                if (!c->results[number]) {
                    return NULL;
                }
            }
            number++;
        }
    }
    if (f->outputs == 1) {
        return Py_NewRef(c->results[0]);
    }
    PyObject *all = PyTuple_New(f->outputs);
    for (int k = 0; all && k < f->outputs; k++) {
        PyTuple_SetItem(all, k, Py_NewRef(c->results[k]));
    }
    return all;
}

static PyObject *complete(struct Call *c, PyObject *self) {
    void *stream;
    if (!take_outputs(c, self) || !current_stream(c, &stream)) {
        return NULL;
    }
    char text[1024] = "";
    int code;
    Py_BEGIN_ALLOW_THREADS;
    code = run(c, stream, text, sizeof(text));
    Py_END_ALLOW_THREADS;
    if (code) {
        // Of the library's terms the one that is met most often.
        const char *dense =
            strstr(text, ".stride.0") ? "\n  neighbours in the last dimension have to be neighbours in memory: pass a contiguous copy" : "";
        strncat(text, dense, sizeof(text) - strlen(text) - 1);
        raise_error(text);
        return NULL;
    }
    return results_of(c);
}

PyObject *call_function(PyObject *self, PyObject *arguments, PyObject *named) {
    struct Call c;
    c.function = (struct Function *)self;
    c.imported = 0;
    c.first = -1;
    c.adapter = c.shapes = NULL;
    memset(c.results, 0, sizeof(c.results[0]) * (size_t)c.function->count);
    if (!c.function->argv) {
        return PyErr_Format(PyExc_RuntimeError, "this op has no library");
    }
    if (!bind(&c, self, arguments, named)) {
        return NULL;
    }
    const int taken = take_inputs(&c, self);
    PyObject *result = taken == 1 ? complete(&c, self) : NULL;
    const int device = taken == 0 ? c.arrays[c.first].device : 0;
    for (int i = 0; i < c.imported; i++) {
        if (c.function->arguments[i].is_buffer) {
            release_array(&c.arrays[i]);
        }
    }
    for (int i = 0; i < c.function->outputs; i++) {
        Py_XDECREF(c.results[i]);
    }
    Py_XDECREF(c.shapes);
    if (taken == 0) {
        PyObject *other = PyObject_CallMethod(self, "_for_device", "i", device);
        result = other ? PyObject_Call(other, arguments, named) : NULL;
        Py_XDECREF(other);
    }
    return result;
}
