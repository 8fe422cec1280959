// The module halyard._native.

#include "native.h"

struct Module module;

// set_up(error, adapters, adapt): what the package has in Python.
static PyObject *set_up(PyObject *self, PyObject *arguments) {
    (void)self;
    PyObject *error, *adapters, *adapt;
    if (!PyArg_ParseTuple(arguments, "OO!O", &error, &PyDict_Type, &adapters, &adapt)) {
        return NULL;
    }
    module.error = Py_NewRef(error);
    module.adapters = Py_NewRef(adapters);
    module.adapt = Py_NewRef(adapt);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"set_up", set_up, METH_VARARGS, NULL},
    {"load_runtime", load_runtime, METH_O, NULL},
    {"set_num_threads", set_num_threads, METH_O,
     "set_num_threads(n): threads of all libraries; 0 takes all processors. Returns the number before."},
    {"synchronize", synchronize, METH_NOARGS, "Waits for the CUDA stream of the last call of this thread."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "halyard._native",
    .m_size = -1,
    .m_methods = functions,
};

static int add_type(PyObject *m, const char *name, PyType_Spec *spec) {
    PyObject *type = PyType_FromSpec(spec);
    return type ? PyModule_AddObject(m, name, type) : -1;
}

__attribute__((visibility("default"))) PyMODINIT_FUNC PyInit__native(void) {
    PyObject *m = PyModule_Create(&definition);
    module.name_out = PyUnicode_InternFromString("out");
    module.name_array_struct = PyUnicode_InternFromString("__array_struct__");
    if (!m || !module.name_out || !module.name_array_struct || add_type(m, "Function", &function_type) ||
        add_type(m, "Buffer", &buffer_type) || !(module.buffer = PyObject_GetAttrString(m, "Buffer"))) {
        Py_XDECREF(m);
        return NULL;
    }
    return m;
}
