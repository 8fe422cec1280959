// A call: arguments of Python become those of the library, results are made, the library runs without the interpreter's lock.

#include "call.h"

#include <string.h>

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
    Py_XDECREF(c.adapter);
    if (taken == 0) {
        PyObject *other = PyObject_CallMethod(self, "_for_device", "i", device);
        result = other ? PyObject_Call(other, arguments, named) : NULL;
        Py_XDECREF(other);
    }
    return result;
}
