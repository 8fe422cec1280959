#ifndef HALYARD_APPS_READ_LINE_H
#define HALYARD_APPS_READ_LINE_H

/** \file
 * Lines of a stream that may never end.
 */

#include <istream>
#include <stdexcept>
#include <string>

namespace halyard_apps {

/** More than any model takes. */
constexpr size_t kMostBytesOfLine = size_t(64) << 20;

/** As std::getline. Throws std::runtime_error where a line has more. */
inline bool read_line(std::istream &from, std::string *line) {
    line->clear();
    char part[4096];
    for (bool any = false;; any = true) {
        from.getline(part, sizeof(part));
        const auto count = size_t(from.gcount());  // with the end of the line, where there is one
        const bool cut = from.fail() && !from.eof() && count == sizeof(part) - 1;
        if (from.fail() && !cut) {
            return any;
        }
        line->append(part, cut || from.eof() ? count : count - 1);
        if (line->size() > kMostBytesOfLine) {
            throw std::runtime_error("a line has more than " + std::to_string(kMostBytesOfLine >> 20) + " MiB");
        }
        if (!cut) {
            return true;
        }
        from.clear(from.rdstate() & ~std::ios::failbit);
    }
}

}  // namespace halyard_apps

#endif
