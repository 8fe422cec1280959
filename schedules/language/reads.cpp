#include "language/reads.h"

#include <algorithm>
#include <vector>

namespace halyard {

using namespace Halide::Internal;

// One for this reader goes before the one for all, which is not for the others.
Function read_by(const Function &reader, Function called) {
    for (;;) {
        const auto &wrappers = called.wrappers();
        const bool is_wrapper =
            std::any_of(wrappers.begin(), wrappers.end(), [&](const auto &w) { return Function(w.second).same_as(reader); });
        auto wrapper = wrappers.find(reader.name());
        wrapper = wrapper == wrappers.end() && !is_wrapper ? wrappers.find("") : wrapper;
        if (wrapper == wrappers.end() || Function(wrapper->second).same_as(reader)) {
            return called;
        }
        called = Function(wrapper->second);
    }
}

std::set<std::string> needs_of(const Function &f) {
    std::set<std::string> needed;
    std::vector<Function> readers = {f};
    while (!readers.empty()) {
        const Function reader = readers.back();
        readers.pop_back();
        for (const auto &call : find_direct_calls(reader)) {
            const Function called = read_by(reader, call.second);
            if (needed.insert(called.name()).second) {
                readers.push_back(called);
            }
        }
    }
    return needed;
}

}  // namespace halyard
