#ifndef HALYARD_PYTHON_CALL_H
#define HALYARD_PYTHON_CALL_H

/** \file
 * One call under way: what was given, what the library gets, what comes back.
 */

#include "native.h"

struct Call {
    struct Function *function;
    PyObject *given[MOST_ARGUMENTS];  // borrowed; NULL where nothing was
    struct Array arrays[MOST_ARGUMENTS];
    int64_t scalars[MOST_ARGUMENTS];
    void *argv[MOST_ARGUMENTS];
    int imported;       // arrays with a number below are to be released
    int first;          // the first array, which says what the results are like; -1
    PyObject *adapter;  // of that one; a reference
    PyObject *shapes;   // of all inputs, once somebody has asked
    PyObject *results[MOST_ARGUMENTS];
};

/** Says what was given for which argument: by position, the inputs; by name, everything; `out` is one output or a tuple of all. False
 * with an exception. */
int bind(struct Call *c, PyObject *self, PyObject *arguments, PyObject *named);

/** Inputs and scalars: 1, or 0 where the arrays are on another device than the op, or -1 with an exception. */
int take_inputs(struct Call *c, PyObject *self);

/** Likewise of one array. */
int import_argument(struct Call *c, int i, PyObject *value);

/** A tuple with the shape of every input that is an array, and None for the others; borrowed. */
PyObject *shapes_of_inputs(struct Call *c);

/** Outputs, which are made where none were given. False with an exception. */
int take_outputs(struct Call *c, PyObject *self);

/** What the caller gets: the arrays that were given, or what the framework's own makes of ours. */
PyObject *results_of(struct Call *c);

#endif
