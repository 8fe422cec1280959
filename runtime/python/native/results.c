// Where a call writes, and what it returns.

#include "call.h"

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

// Packed weights have whole panels, so that a library cannot see how many columns they stand for.
static int has_packed_weights(const struct Call *c) {
    for (int i = 0; i < c->function->count; i++) {
        if (c->given[i] && c->function->arguments[i].is_buffer && columns_of_buffer(c->given[i])) {
            return 1;
        }
    }
    return 0;
}

static int fits(const struct Call *c, int i, PyObject *computed) {
    const struct Array *y = &c->arrays[i];
    const int n = y->buffer.dimensions;
    for (int d = 0; d < n; d++) {
        const long most = PyLong_AsLong(PyTuple_GetItem(computed, d));
        if (y->dim[n - 1 - d].extent > most && !PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "%U: dimension %d of %U has %d elements, and the arguments make %ld", c->function->name, d,
                         c->function->arguments[i].name, y->dim[n - 1 - d].extent, most);
        }
    }
    return !PyErr_Occurred();
}

int take_outputs(struct Call *c, PyObject *self) {
    const struct Function *f = c->function;
    const int has_packed = has_packed_weights(c);
    PyObject *computed = NULL;
    int ok = 1;
    for (int i = 0, number = 0; ok && i < f->count; i++) {
        if (!f->arguments[i].is_output) {
            continue;
        }
        const int needs_shapes = (!c->given[i] || has_packed) && f->computes_shapes && !computed;
        if (needs_shapes) {
            PyObject *shapes = shapes_of_inputs(c);
            computed = shapes ? PyObject_CallMethod(self, "_shapes", "(O)", shapes) : NULL;
        }
        if (!needs_shapes || computed) {
            c->results[number] = c->given[i] ? Py_NewRef(c->given[i]) : make_output(c, computed, i, number);
        }
        ok = c->results[number] && import_argument(c, i, c->results[number]) == 1;
        if (ok && computed && has_packed) {
            ok = fits(c, i, PyTuple_GetItem(computed, number));
        }
        number++;
    }
    Py_XDECREF(computed);
    return ok;
}

PyObject *results_of(struct Call *c) {
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
