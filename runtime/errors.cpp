// Errors of a library are values: a code that the function returns and a text to ask for. Halide's
// default prints the text and aborts the program.

#include <string.h>

#include <initializer_list>

#include "HalideRuntime.h"
#include "errors.h"
#include "halyard/runtime.h"

namespace {

thread_local char last_error[halyard::kMaxMessage];
thread_local bool is_new = false;  // last_error was raised since the last call that failed
thread_local const char *erring_function = nullptr;
halide_error_handler_t handler = halide_default_error;

// FUNCTION: MESSAGE, unless it begins so.
void put_function_before(const char *function, const char *message, char (&text)[halyard::kMaxMessage]) {
    const size_t n = strlen(function);
    const bool named = strncmp(message, function, n) == 0 && strncmp(message + n, ": ", 2) == 0;
    size_t at = 0;
    for (const char *part : {named ? "" : function, named ? "" : ": ", message}) {
        const size_t length = strlen(part), room = sizeof(text) - 1 - at;
        const size_t kept = length < room ? length : room;
        memcpy(text + at, part, kept);
        at += kept;
    }
    text[at] = '\0';
}

}  // namespace

void halyard::set_last_error(const char *message) {
    strncpy(last_error, message, sizeof(last_error) - 1);
    last_error[sizeof(last_error) - 1] = '\0';
    // Halide ends its messages with a line break.
    for (size_t n = strlen(last_error); n > 0 && last_error[n - 1] == '\n'; n--) {
        last_error[n - 1] = '\0';
    }
    is_new = true;
}

extern "C" {

// A library that is about to raise an error calls the first with its name, and the second with the error's code behind it:
// whoever handles the message is told whose arguments it is about.
const char *halyard_error_begins(const char *function);
int halyard_error_in(const char *function, int code);
// What the runtime does for a library stands between the first and this.
int halyard_error_ends(const char *function, int code);

void halide_default_error(void *, const char *message) {
    halyard::set_last_error(message);
}

halide_error_handler_t halide_set_error_handler(halide_error_handler_t other) {
    const halide_error_handler_t before = handler;
    handler = other ? other : halide_default_error;
    return before;
}

void halide_error(void *user_context, const char *message) {
    if (!erring_function) {
        handler(user_context, message);
        return;
    }
    char text[halyard::kMaxMessage];
    put_function_before(erring_function, message, text);
    handler(user_context, text);
}

const char *halyard_error_begins(const char *function) {
    erring_function = function;
    return function;
}

int halyard_error_in(const char *function, int code) {
    erring_function = nullptr;
    // It was raised before its code came here, by a launch or on another thread.
    char text[halyard::kMaxMessage];
    put_function_before(function, is_new ? last_error : "failed without a message", text);
    halyard::set_last_error(text);
    is_new = false;
    return code;
}

int halyard_error_ends(const char *, int code) {
    erring_function = nullptr;
    return code;
}

const char *halyard_last_error(void) {
    return last_error;
}

}  // extern "C"
