#ifndef HALYARD_ERRORS_H
#define HALYARD_ERRORS_H

namespace halyard {

constexpr int kMaxMessage = 1024;

/** What halyard_last_error() returns on this thread from now on. */
void set_last_error(const char *message);

}  // namespace halyard

#endif
