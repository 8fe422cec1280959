// Arrays of any library as halide_buffer_t, without a copy.

#include "native.h"

#include <limits.h>
#include <string.h>

#include "dlpack.h"

PyObject *adapter_of(PyObject *array) {
    PyObject *const type = (PyObject *)Py_TYPE(array);
    PyObject *adapter = PyDict_GetItemWithError(module.adapters, type);
    if (adapter || PyErr_Occurred()) {
        return Py_XNewRef(adapter);
    }
    // Other threads may run meanwhile, and find an adapter of their own: the last one is kept, and each caller holds its own.
    adapter = PyObject_CallFunctionObjArgs(module.adapt, array, NULL);
    if (adapter && PyDict_SetItem(module.adapters, type, adapter)) {
        Py_CLEAR(adapter);
    }
    return adapter;
}

int type_key(struct halide_type_t type) {
    return type.code << 8 | type.bits;
}

const char *type_name(struct halide_type_t type, char text[16]) {
    static const char *const kinds[] = {"int", "uint", "float", "handle", "bfloat", "complex"};
    if (type.code < 6) {
        PyOS_snprintf(text, 16, "%s%d", kinds[type.code], type.bits);
    } else {
        PyOS_snprintf(text, 16, "DLPack's %d:%d", type.code, type.bits);  // as 10:8, float8_e4m3fn
    }
    return type.code == halide_type_uint && type.bits == 1 ? "bool" : text;
}

static int refuse(PyObject *exception, PyObject *name, const char *why) {
    PyErr_Format(exception, "%U %s", name, why);
    return 0;
}

// Strides in elements, or in `bytes` where that is not 0. NULL for dense.
static int set_dimensions(struct Array *a, PyObject *name, int count, const int64_t *shape, const int64_t *strides, int64_t bytes) {
    if (count < 0 || count > HALYARD_MAX_DIMENSIONS) {
        return refuse(PyExc_ValueError, name, "has more dimensions than a library takes");
    }
    if (count > 0 && !shape) {
        return refuse(PyExc_ValueError, name, "has dimensions, but no shape");
    }
    a->buffer.dimensions = count;
    int64_t dense = 1;
    int is_empty = 0;
    for (int d = 0; d < count; d++) {
        is_empty = is_empty || shape[d] == 0;
    }
    for (int d = 0; d < count; d++) {
        const int64_t extent = shape[count - 1 - d];
        const int leads_nowhere = is_empty || extent <= 1;  // from the first element to none
        int64_t stride = strides ? strides[count - 1 - d] : dense;
        if (strides && bytes) {
            if (stride % bytes != 0 && !leads_nowhere) {
                return refuse(PyExc_ValueError, name, "has a stride that is no multiple of its elements");
            }
            stride /= bytes;
        }
        if (leads_nowhere && (stride > INT_MAX || stride < INT_MIN)) {
            stride = dense <= INT_MAX ? dense : 1;
        }
        if (extent < 0 || extent > INT_MAX || stride > INT_MAX || stride < INT_MIN) {
            return refuse(PyExc_ValueError, name, "has an extent or a stride that does not fit in 32 bits");
        }
        a->dim[d].min = 0;
        a->dim[d].extent = (int32_t)extent;
        a->dim[d].stride = (int32_t)stride;
        a->dim[d].flags = 0;
        dense *= dense <= INT_MAX ? extent : 1;  // enough to say that it does not fit
    }
    return 1;
}

static int import_tensor(struct Array *a, PyObject *name, const struct DlTensor *t, int read_only) {
    if (t->lanes != 1) {
        return refuse(PyExc_TypeError, name, "has vectors for elements");
    }
    a->buffer.type.code = t->code == kDlBool ? halide_type_uint : (halide_type_code_t)t->code;
    a->buffer.type.bits = t->code == kDlBool ? 1 : t->bits;
    a->device = t->device_type == kCudaPinned ? kHost : t->device_type == kCudaManaged ? kCuda : t->device_type;
    a->device_id = t->device_id;
    a->read_only = read_only;
    a->data = (const char *)t->data + t->byte_offset;
    return set_dimensions(a, name, t->ndim, t->shape, t->strides, 0);
}

static int import_capsule(struct Array *a, PyObject *name) {
    if (PyCapsule_IsValid(a->keeps, "dltensor_versioned")) {
        const struct DlManagedTensorVersioned *m = PyCapsule_GetPointer(a->keeps, "dltensor_versioned");
        if (m->major > 1) {
            return refuse(PyExc_BufferError, name, "speaks a version of DLPack that is not known yet");
        }
        return import_tensor(a, name, &m->tensor, (m->flags & kDlReadOnly) != 0);
    }
    const struct DlManagedTensor *m = PyCapsule_GetPointer(a->keeps, "dltensor");
    return m ? import_tensor(a, name, &m->tensor, 0) : 0;
}

// numpy has no bfloat16; that of ml_dtypes says only that it is something of two bytes, and a name.
static int is_bfloat16(PyObject *array) {
    static PyObject *known;  // the type of elements that was one
    PyObject *dtype = PyObject_GetAttrString(array, "dtype");
    int is = dtype && dtype == known;
    if (dtype && !is) {
        PyObject *name = PyObject_GetAttrString(dtype, "name");
        is = name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "bfloat16") == 0;
        Py_XDECREF(name);
        if (is) {
            Py_XDECREF(known);
            known = Py_NewRef(dtype);
        }
    }
    Py_XDECREF(dtype);
    PyErr_Clear();
    return is;
}

static int import_array_struct(struct Array *a, PyObject *array, PyObject *name) {
    const struct ArrayStruct *s = PyCapsule_GetPointer(a->keeps, NULL);
    if (!s) {
        return 0;
    }
    if (s->two != 2 || s->itemsize <= 0) {  // any capsule without a name comes here
        return refuse(PyExc_TypeError, name, "has an __array_struct__ that is none");
    }
    const int is_known = s->kind != 'V' || (s->itemsize == 2 && is_bfloat16(array));
    if (is_known && !(s->flags & kArrayNotSwapped)) {
        return refuse(PyExc_TypeError, name, "has its bytes in the other order");
    }
    a->buffer.type.bits = s->itemsize < 32 ? (uint8_t)(8 * s->itemsize) : 255;
    switch (s->kind) {
    case 'f': a->buffer.type.code = halide_type_float; break;
    case 'i': a->buffer.type.code = halide_type_int; break;
    case 'u': a->buffer.type.code = halide_type_uint; break;
    case 'b': a->buffer.type.code = halide_type_uint, a->buffer.type.bits = 1; break;
    case 'V':
        if (is_known) {
            a->buffer.type.code = halide_type_bfloat;
            break;
        }
        // fallthrough
    default: return refuse(PyExc_TypeError, name, "has elements of a type that no library takes");
    }
    a->device = kHost;
    a->device_id = 0;
    a->read_only = !(s->flags & kArrayWriteable);
    a->data = s->data;
    return set_dimensions(a, name, s->ndim, (const int64_t *)s->shape, (const int64_t *)s->strides, s->itemsize);
}

static int has_elements(const struct Array *a) {
    for (int d = 0; d < a->buffer.dimensions; d++) {
        if (a->dim[d].extent == 0) {
            return 0;
        }
    }
    return 1;
}

int import_array(struct Array *a, PyObject *array, PyObject *adapter, PyObject *name) {
    memset(&a->buffer, 0, sizeof(a->buffer));
    a->buffer.dim = a->dim;
    a->buffer.type.lanes = 1;
    PyObject *const exports = PyTuple_GetItem(adapter, kExport);
    const int has_struct = exports == Py_None;
    a->keeps = has_struct ? PyObject_GetAttr(array, module.name_array_struct) : PyObject_CallFunctionObjArgs(exports, array, NULL);
    if (!a->keeps) {
        return 0;
    }
    if (!PyCapsule_CheckExact(a->keeps)) {
        PyErr_Format(PyExc_TypeError, "%U gives a %R where a capsule of its array is wanted", name, (PyObject *)Py_TYPE(a->keeps));
        release_array(a);
        return 0;
    }
    int ok = has_struct ? import_array_struct(a, array, name) : import_capsule(a, name);
    if (ok && !a->data && has_elements(a)) {  // to a library, a question for the sizes that it wants
        ok = refuse(PyExc_ValueError, name, "has elements, but no memory");
    }
    if (!ok) {
        release_array(a);
    }
    return ok;
}

void release_array(struct Array *a) {
    Py_CLEAR(a->keeps);  // a capsule that nobody took tells its maker
}

PyObject *shape_of_array(const struct Array *a) {
    const int n = a->buffer.dimensions;
    PyObject *shape = PyTuple_New(n);
    for (int d = 0; shape && d < n; d++) {
        PyObject *extent = PyLong_FromLong(a->dim[n - 1 - d].extent);
        if (!extent || PyTuple_SetItem(shape, d, extent)) {
            Py_CLEAR(shape);
        }
    }
    return shape;
}
