// The runtime that all libraries of this process share.

#include "native.h"

#include <dlfcn.h>

struct Runtime runtime;

PyObject *load_runtime(PyObject *self, PyObject *path) {
    (void)self;
    PyObject *bytes = PyUnicode_EncodeFSDefault(path);
    if (!bytes) {
        return NULL;
    }
    // Libraries name it, and find this one by its name.
    void *library = dlopen(PyBytes_AsString(bytes), RTLD_NOW | RTLD_LOCAL);
    Py_DECREF(bytes);
    if (!library) {
        return PyErr_Format(PyExc_ImportError, "Halyard's runtime cannot be loaded: %s", dlerror());
    }
    const struct {
        void *to;
        const char *name;
    } functions[] = {
        {&runtime.last_error, "halyard_last_error"},
        {&runtime.set_num_threads, "halide_set_num_threads"},
        {&runtime.cuda_set_stream, "halyard_cuda_set_stream"},
        {&runtime.cuda_set_device, "halyard_cuda_set_device"},
        {&runtime.cuda_wrap, "halyard_cuda_wrap"},
        {&runtime.cuda_unwrap, "halyard_cuda_unwrap"},
        {&runtime.cuda_synchronize, "halyard_cuda_synchronize"},
        {&runtime.cuda_interface, "halide_cuda_device_interface"},
        {&runtime.device_malloc, "halide_device_malloc"},
        {&runtime.device_free, "halide_device_free"},
        {&runtime.copy_to_host, "halide_copy_to_host"},
        {&runtime.copy_to_device, "halide_copy_to_device"},
        {&runtime.packed_bytes, "halyard_packed_bytes"},
        {&runtime.pack, "halyard_pack"},
    };
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        *(void **)functions[i].to = dlsym(library, functions[i].name);
        if (!*(void **)functions[i].to) {
            return PyErr_Format(PyExc_ImportError, "Halyard's runtime has no %s; reinstall the package", functions[i].name);
        }
    }
    Py_RETURN_NONE;
}

PyObject *set_num_threads(PyObject *self, PyObject *number) {
    (void)self;
    const long n = PyLong_AsLong(number);
    if (n == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (n < 0 || n > 1024) {
        return PyErr_Format(PyExc_ValueError, "%ld is not a number of threads: give 1 to 1024, or 0 for all processors", n);
    }
    return PyLong_FromLong(runtime.set_num_threads((int)n));
}

PyObject *synchronize(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    int code;
    Py_BEGIN_ALLOW_THREADS;
    code = runtime.cuda_synchronize();
    Py_END_ALLOW_THREADS;
    if (code) {
        raise_error(runtime.last_error());
        return NULL;
    }
    Py_RETURN_NONE;
}

void raise_error(const char *text) {
    PyErr_SetString(module.error, text);
}
