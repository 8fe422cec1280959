// Errors of a library are values: a code that the function returns and a text to ask for. Halide's
// default prints the text and aborts the program.

#include <string.h>

#include "HalideRuntime.h"
#include "errors.h"
#include "halyard/runtime.h"

namespace {

thread_local char last_error[halyard::kMaxMessage];

}  // namespace

void halyard::set_last_error(const char *message) {
    strncpy(last_error, message, sizeof(last_error) - 1);
    last_error[sizeof(last_error) - 1] = '\0';
    // Halide ends its messages with a line break.
    for (size_t n = strlen(last_error); n > 0 && last_error[n - 1] == '\n'; n--) {
        last_error[n - 1] = '\0';
    }
}

extern "C" {

void halide_default_error(void *, const char *message) {
    halyard::set_last_error(message);
}

const char *halyard_last_error(void) {
    return last_error;
}

}  // extern "C"
