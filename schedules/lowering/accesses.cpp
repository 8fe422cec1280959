#include "lowering/accesses.h"

#include <sstream>

namespace halyard {

namespace {

const char *const kAs = ".as.";  // no name of a Func has it

}  // namespace

std::string alias_of(const std::string &array, const Halide::Type &type) {
    std::ostringstream name;
    name << array << kAs << type;
    return name.str();
}

std::string array_of(const std::string &name) {
    return name.substr(0, name.find(kAs));
}

}  // namespace halyard
