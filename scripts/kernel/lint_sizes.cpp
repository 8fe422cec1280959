#include "kernel/lint_sizes.h"

#include <algorithm>

#include "kernel/generator_params.h"
#include "kernel/registry.h"
#include "kernel/text.h"
#include "kernel/workload.h"

namespace halyard {

namespace {

// Whether every buffer that all variants have is among the sizes.
bool is_complete(const Op &op, const std::string &sizes) {
    return std::all_of(op.arguments.begin(), op.arguments.end(), [&](const OpArgument &a) {
        return a.optional || !a.is_buffer() || ("," + sizes).find("," + a.name + ":") != std::string::npos;
    });
}

}  // namespace

std::string lint_sizes(const Plan &plan, bool registered, const Dims &shape) {
    if (!registered) {
        return "estimates";
    }
    const Op &op = find_op(plan.op);
    const Dims dims = shape.empty() && !op.shapes.empty() ? op.shapes.front() : shape;
    std::string sizes = sizes_text(op, with_params(op, dims, plan.params));
    if (!is_complete(op, sizes)) {
        // Parameters of the generator that nobody gave: it takes a process to ask for them.
        Assignments params = plan.params;
        for (const auto &p : generator_params(plan.executable, plan.op)) {
            params.emplace(p.name, p.value);
        }
        sizes = sizes_text(op, with_params(op, dims, params));
    }
    return sizes.empty() ? "estimates" : sizes;
}

}  // namespace halyard
