#ifndef HALYARD_COMMAND_REGISTRY_H
#define HALYARD_COMMAND_REGISTRY_H

/** \file
 * The lines of generators/ops.inc as structures.
 */

#include <string>
#include <vector>

#include "kernel/arithmetic.h"

namespace halyard {

struct OpArgument {
    std::string name;
    bool output = false;
    bool optional = false;             // only some variants of the generator have it
    std::vector<std::string> extents;  // of a buffer, innermost dimension first
    std::string value;                 // of a scalar: the expression of its default

    bool is_buffer() const {
        return !extents.empty();
    }
};

struct Op {
    std::string name, summary;
    std::string signature;  // the arguments as the registry writes them
    std::vector<OpArgument> arguments;
    std::string flops;
    std::vector<std::string> dims;  // in the order in which the registry writes them
    std::vector<Dims> shapes;       // the sizes that a benchmark takes by default
    Dims own_sizes;                 // of one's own generator, which no registry knows (own_op.h): of all its arrays

    bool is_own() const {
        return !own_sizes.empty();
    }

    /** nullptr where there is none of that name. */
    const OpArgument *argument(const std::string &name) const;
};

const std::vector<Op> &registry();

std::vector<std::string> op_names();

/** Throws UsageError that names the nearest op. */
const Op &find_op(const std::string &name);

/** "rows=64,cols=4096" as dimensions. Throws UsageError. */
Dims parse_shape(const std::string &text);

/** The dimensions in the order of the op; others after them. */
std::string shape_text(const Op &op, const Dims &dims);

}  // namespace halyard

#endif
