#include "explore/store/record_file.h"

#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/json_text.h"
#include "kernel/place.h"
#include "kernel/process.h"
#include "kernel/text.h"

namespace halyard::explore {

std::vector<Entry> read_records(const std::string &name) {
    std::istringstream in(name == "-" ? read_standard_input() : read_file(name));
    std::vector<Entry> entries;
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        check_signals();
        number++;
        if (trim(line).empty()) {
            continue;
        }
        const auto j = parse_if_json(line);
        try {
            if (j.is_discarded()) {
                throw Failure("this is no JSON");
            }
            entries.push_back(entry_from_json(j));
        } catch (const Failure &e) {
            throw Failure(fmt::format("{}:{}: error: {}\n  nothing was imported", name, number, e.what()));
        }
    }
    return entries;
}

bool is_record_file(const std::string &file) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(file, ignored) && beginning_of_file(file, 1) == "{";
}

}  // namespace halyard::explore
