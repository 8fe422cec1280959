#include "language/open_numbers.h"

#include <charconv>
#include <map>
#include <stdexcept>
#include <vector>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class SetNumbers : public IRMutator {
public:
    explicit SetNumbers(OpenNumbers value_of) : value_of_(std::move(value_of)) {}

    using IRMutator::mutate;

    // What follows from the numbers is folded, so that what they leave out is no Func of the pipeline any more.
    Expr mutate(const Expr &e) override {
        if (!e.defined() || inside_) {
            return IRMutator::mutate(e);
        }
        inside_ = true;
        found_ = false;
        const Expr set = IRMutator::mutate(e);
        inside_ = false;
        return found_ ? simplify(set) : e;
    }

private:
    using IRMutator::visit;

    Expr visit(const Variable *op) override {
        const std::string prefix = "halyard_open.";
        if (op->name.rfind(prefix, 0) != 0) {
            return op;
        }
        const std::string name = op->name.substr(prefix.size()), value = value_of_(name);
        int n = 0;
        const auto r = std::from_chars(value.data(), value.data() + value.size(), n);
        if (r.ec != std::errc() || r.ptr != value.data() + value.size()) {
            throw std::invalid_argument("the algorithm leaves \"" + name +
                                        "\" to the schedule, which has no integer of that name in params");
        }
        if (is_const(op->param.min_value()) && is_const(op->param.max_value())) {
            const int64_t lowest = *as_const_int(op->param.min_value()), highest = *as_const_int(op->param.max_value());
            if (n < lowest || n > highest) {
                throw std::invalid_argument("the algorithm takes " + name + " from " + std::to_string(lowest) + " to " +
                                            std::to_string(highest) + ", not " + value);
            }
        }
        found_ = true;
        return n;
    }

    const OpenNumbers value_of_;
    bool inside_ = false, found_ = false;
};

}  // namespace

void set_open_numbers(const Pipeline &pipeline, const OpenNumbers &value_of) {
    std::vector<Function> outputs;
    for (const Func &f : Pipeline(pipeline).outputs()) {
        outputs.push_back(f.function());
    }
    SetNumbers set(value_of);
    for (auto &f : build_environment(outputs)) {
        f.second.mutate(&set);
    }
}

std::unique_ptr<IRMutator> set_open_numbers_required(OpenNumbers value_of) {
    return std::make_unique<SetNumbers>(std::move(value_of));
}

}  // namespace halyard
