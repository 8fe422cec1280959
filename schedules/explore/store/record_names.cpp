#include "explore/store/record_names.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include <fmt/format.h>

#include "language/diagnostics.h"
#include "kernel/failure.h"
#include "kernel/param_value.h"

namespace halyard::explore {

namespace {

// Letters, digits and what stands in `also`: never a folder.
bool is_name(const std::string &text, const char *also) {
    return text.size() < 200 && std::all_of(text.begin(), text.end(), [&](unsigned char c) {
               return c != 0 && ((c < 128 && std::isalnum(c)) || std::strchr(also, c) != nullptr);
           });
}

}  // namespace

void check_names(const Entry &e) {
    if (e.key.op.empty() || !is_name(e.key.op, "_")) {
        throw Failure(fmt::format("\"{}\" in a record is not the name of an op", printable(e.key.op)));
    }
    if (!is_name(e.key.generator, "_.-+ ")) {
        throw Failure(fmt::format("\"{}\" in a record is not the file name of a generator", printable(e.key.generator)));
    }
    for (const auto &p : e.candidate.params) {
        if (!is_param_name(p.first) || !is_harmless(p.second)) {
            throw Failure(fmt::format("\"{}\" in a record is not a parameter of a generator", printable(p.first + "=" + p.second)));
        }
    }
}

}  // namespace halyard::explore
