#ifndef HALYARD_LOWERING_CUDA_CODE_TEXT_H
#define HALYARD_LOWERING_CUDA_CODE_TEXT_H

/** \file
 * Small parts of printed code.
 */

#include <string>

namespace halyard {

inline std::string number(int n) {
    return std::to_string(n);
}

inline std::string in_parentheses(const std::string &s) {
    return "(" + s + ")";
}

}  // namespace halyard

#endif
