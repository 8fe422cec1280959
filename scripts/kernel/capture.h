#ifndef HALYARD_COMMAND_CAPTURE_H
#define HALYARD_COMMAND_CAPTURE_H

/** \file
 * What a process prints, kept within bounds: the beginning and the end, and how much is missing between them.
 */

#include <cstddef>
#include <string>

namespace halyard {

class Capture {
public:
    explicit Capture(size_t most_bytes) : half_(most_bytes / 2) {}

    void add(const char *text, size_t size);

    /** All of it, or the beginning, a line that says how many bytes were left out, and the end. */
    std::string text() const;

private:
    size_t half_, dropped_ = 0;
    std::string head_, tail_;
};

}  // namespace halyard

#endif
