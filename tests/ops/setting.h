#ifndef HALYARD_TESTS_OPS_SETTING_H
#define HALYARD_TESTS_OPS_SETTING_H

/** \file
 * Numbers of the environment, such as how many draws a test makes.
 */

#include <cstdlib>

namespace ops_test {

inline int setting(const char *name, int otherwise) {
    const char *given = std::getenv(name);
    return given ? int(std::atoll(given)) : otherwise;
}

}  // namespace ops_test

#endif
