// Errors of a call that Halide words for the author of an algorithm, in its own names, worded for the caller: they name the argument.
// And those that it has no words for.

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "HalideRuntime.h"
#include "errors.h"

namespace {

using Text = char[halyard::kMaxMessage];
using Part = char[250];  // of a text

// `b_im_global_wrapper$0` reads the input "b"; of another Func, the name without the number that Halide adds. Whether it is an input.
bool take_name(const char *func, Part &name) {
    snprintf(name, sizeof(name), "%s", func);
    for (char *at = strstr(name, "_im"); at; at = strstr(at + 1, "_im")) {
        if (at != name && (at[3] == '\0' || at[3] == '_' || at[3] == '$')) {
            *at = '\0';
            return true;
        }
    }
    name[strcspn(name, "$")] = '\0';
    return false;
}

// "Output buffer y" is "y".
const char *argument_name(const char *buffer) {
    for (const char *kind : {"Input buffer ", "Output buffer "}) {
        const size_t n = strlen(kind);
        if (strncmp(buffer, kind, n) == 0) {
            return buffer + n;
        }
    }
    return buffer;
}

// The argument and dimension of the first extent in an expression, as `(x.extent.2/groups)`.
bool find_extent(const char *expression, Part &argument, int *dimension) {
    const char *const word = ".extent.";
    const char *at = strstr(expression, word);
    if (!at) {
        return false;
    }
    const char *begin = at;
    while (begin > expression && (isalnum(static_cast<unsigned char>(begin[-1])) || begin[-1] == '_')) {
        begin--;
    }
    snprintf(argument, sizeof(argument), "%.*s", int(at - begin), begin);
    *dimension = atoi(at + strlen(word));
    return begin < at;
}

// An expression without the brackets around all of it.
void bare(const char *expression, Part &text) {
    const size_t n = strlen(expression);
    const bool around = n > 1 && expression[0] == '(' && strchr(expression, ')') == expression + n - 1;
    snprintf(text, sizeof(text), "%.*s", int(around ? n - 2 : n), expression + (around ? 1 : 0));
}

}  // namespace

extern "C" {

int halide_error_explicit_bounds_too_small(void *user_context, const char *func_name, const char *var_name, int min_bound, int max_bound,
                                           int min_required, int max_required) {
    Part name;
    Text text;
    if (take_name(func_name, name) && var_name[0] == '_') {
        snprintf(text, sizeof(text), "%s is too small: it has %d to %d in dimension %s, and the output needs %d to %d", name, min_bound,
                 max_bound, var_name + 1, min_required, max_required);
    } else {
        snprintf(text, sizeof(text), "the schedule bounds \"%s\" of %s to %d to %d, and the output needs %d to %d", var_name, name,
                 min_bound, max_bound, min_required, max_required);
    }
    halide_error(user_context, text);
    return halide_error_code_explicit_bounds_too_small;
}

int halide_error_access_out_of_bounds(void *user_context, const char *func_name, int dimension, int min_touched, int max_touched,
                                      int min_valid, int max_valid) {
    Text text;
    if (min_touched < min_valid) {
        snprintf(text, sizeof(text), "%s is accessed at %d, which is before the min (%d) in dimension %d", func_name, min_touched,
                 min_valid, dimension);
    } else if (max_touched > max_valid) {
        snprintf(text, sizeof(text), "%s is accessed at %d, which is beyond the max (%d) in dimension %d", func_name, max_touched,
                 max_valid, dimension);
    } else {  // the element before the first would be at no number of 32 bits
        snprintf(text, sizeof(text), "%s is accessed at %d, and has no elements in dimension %d", func_name, min_touched, dimension);
    }
    halide_error(user_context, text);
    return halide_error_code_access_out_of_bounds;
}

int halide_error_constraints_make_required_region_smaller(void *user_context, const char *buffer_name, int dimension, int constrained_min,
                                                          int constrained_extent, int required_min, int required_extent) {
    Text text;
    const char *name = argument_name(buffer_name);
    if (required_extent <= 0) {
        snprintf(text, sizeof(text),
                 "%s would have no elements in dimension %d by the sizes of the other arguments: one of them is too small", name,
                 dimension);
    } else {
        snprintf(text, sizeof(text), "%s must have %d to %d in dimension %d by the sizes of the other arguments, and %d to %d is asked for",
                 name, constrained_min, constrained_min + constrained_extent - 1, dimension, required_min,
                 required_min + required_extent - 1);
    }
    halide_error(user_context, text);
    return halide_error_code_constraints_make_required_region_smaller;
}

int halide_error_split_factor_not_positive(void *user_context, const char *func_name, const char *orig, const char *, const char *,
                                           const char *factor_str, int factor) {
    Part argument, expression, name;
    Text text;
    int dimension = 0;
    bare(factor_str, expression);
    take_name(func_name, name);
    if (find_extent(expression, argument, &dimension)) {
        snprintf(text, sizeof(text), "%s is too small in dimension %d: %s must be 1 or more, and is %d", argument, dimension, expression,
                 factor);
    } else {
        snprintf(text, sizeof(text), "the loop \"%s\" of %s is in parts of %s, which must be 1 or more, and is %d", orig, name, expression,
                 factor);
    }
    halide_error(user_context, text);
    return halide_error_code_split_factor_not_positive;
}

}  // extern "C"
