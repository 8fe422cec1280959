#include "explore/store/record_names.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "language/diagnostics.h"
#include "kernel/failure.h"
#include "kernel/param_value.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;

// Letters, digits and what stands in `also`: never a folder.
bool is_name(const std::string &text, const char *also) {
    return text.size() < 200 && std::all_of(text.begin(), text.end(), [&](unsigned char c) {
               return c != 0 && ((c < 128 && std::isalnum(c)) || std::strchr(also, c) != nullptr);
           });
}

// In a message, of which it makes no second line.
std::string quoted(const std::string &text) {
    std::string line = printable(text.substr(0, 200));
    std::replace(line.begin(), line.end(), '\n', ' ');
    return "\"" + line + "\"";
}

void check_size(const char *field, size_t size, size_t most) {
    if (size > most) {
        throw Failure(fmt::format("the {} of a record has more than {} bytes", field, most));
    }
}

// What stands in a line of a table, or of a message: one that ends the line could go on with another of its own.
void check_line(const char *field, const std::string &text) {
    check_size(field, text.size(), 4096);
    if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; })) {
        throw Failure(fmt::format("the {} of a record has control characters: {}", field, quoted(text)));
    }
}

void check_measured(const Measured &m) {
    const double numbers[] = {m.least, m.median, m.lower, m.upper, m.error, m.build_seconds, m.run_seconds};
    if (!std::all_of(std::begin(numbers), std::end(numbers), [](double n) { return std::isfinite(n) && n >= 0; }) ||
        (m.ok() && m.least < 1e-10)) {  // no clock tells less
        throw Failure("a time of a record is none that can be measured");
    }
    check_line("reference", m.reference);
    check_size("message", m.message.size(), kMostMessageBytes);
}

}  // namespace

int threads_of(int64_t number) {
    if (number < 0 || number > 1 << 20) {
        throw Failure(fmt::format("{} in a record is no number of threads", number));
    }
    return int(number);
}

void check_record(const Entry &e) {
    if (e.key.op.empty() || !is_name(e.key.op, "_")) {
        throw Failure(fmt::format("{} in a record is not the name of an op", quoted(e.key.op)));
    }
    if (!is_name(e.key.generator, "_.-+ ")) {
        throw Failure(fmt::format("{} in a record is not the file name of a generator", quoted(e.key.generator)));
    }
    for (const auto &[field, text] :
         {std::pair("shape", &e.key.shape), std::pair("params", &e.key.params), std::pair("target", &e.key.target),
          std::pair("machine", &e.key.machine), std::pair("compilers", &e.key.compilers), std::pair("origin", &e.candidate.origin),
          std::pair("folder", &e.candidate.folder), std::pair("script_hash", &e.script_hash), std::pair("time", &e.when)}) {
        check_line(field, *text);
    }
    if (const fs::path folder = e.candidate.folder; !folder.empty() && (!folder.is_absolute() || folder != folder.lexically_normal())) {
        throw Failure(fmt::format("{} in a record is not the whole path of a folder", quoted(e.candidate.folder)));
    }
    check_line("parameters", assignments_text(e.candidate.params));
    check_line("settings", assignments_text(e.candidate.set));
    constexpr size_t kMostScriptBytes = size_t(1) << 20;  // as the language has it
    check_size("lua", e.candidate.lua.size(), kMostScriptBytes);
    if (!e.candidate.decisions.empty()) {
        check_size("decisions", e.candidate.decisions.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).size(),
                   kMostScriptBytes);
    }
    threads_of(e.key.threads);
    if (!std::isfinite(e.candidate.predicted)) {
        throw Failure("the predicted time of a record is none");
    }
    check_measured(e.measured);
    for (const auto &p : e.candidate.params) {
        if (!is_param_name(p.first) || !is_harmless(p.second)) {
            throw Failure(fmt::format("{} in a record is not a parameter of a generator", quoted(p.first + "=" + p.second)));
        }
    }
}

}  // namespace halyard::explore
