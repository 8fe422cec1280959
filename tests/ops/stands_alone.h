#ifndef HALYARD_TESTS_OPS_STANDS_ALONE_H
#define HALYARD_TESTS_OPS_STANDS_ALONE_H

/** \file
 * Which extents a library cannot check.
 */

#include <algorithm>
#include <string>
#include <vector>

#include "kernel/registry.h"

namespace ops_test {

/** Whether none of the buffers of a call but `argument` has an extent that says how long its dimension has
 * to be, as of the columns of logits. */
inline bool stands_alone(const halyard::Op &op, const std::vector<std::string> &buffers, const std::string &argument, int dim) {
    const std::string &name = op.argument(argument)->extents[size_t(dim)];
    if (std::find(op.dims.begin(), op.dims.end(), name) == op.dims.end()) {
        return false;  // a formula
    }
    for (const auto &other : buffers) {
        for (const auto &extent : op.argument(other)->extents) {
            if (other != argument && extent.find(name) != std::string::npos) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace ops_test

#endif
