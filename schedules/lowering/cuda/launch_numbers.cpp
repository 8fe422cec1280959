#include "lowering/cuda/launch_numbers.h"

#include <limits>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

Expr wide(int64_t n) {
    return make_const(Int(64), n);
}

// In 64 bits. What is beyond 32 stays beyond, and never comes near the end of 64: a product of two is below 2^62.
class Widen : public IRMutator {
    using IRMutator::visit;

public:
    using IRMutator::mutate;

    Expr mutate(const Expr &e) override {
        if (e.type() != Int(32)) {
            return e;
        }
        if (const auto *op = e.as<Add>()) {
            return in_range(mutate(op->a) + mutate(op->b));
        }
        if (const auto *op = e.as<Sub>()) {
            return in_range(mutate(op->a) - mutate(op->b));
        }
        if (const auto *op = e.as<Mul>()) {
            return in_range(mutate(op->a) * mutate(op->b));
        }
        if (const auto *op = e.as<Div>()) {
            return mutate(op->a) / mutate(op->b);
        }
        if (const auto *op = e.as<Mod>()) {
            return mutate(op->a) % mutate(op->b);
        }
        if (const auto *op = e.as<Min>()) {
            return min(mutate(op->a), mutate(op->b));
        }
        if (const auto *op = e.as<Max>()) {
            return max(mutate(op->a), mutate(op->b));
        }
        if (const auto *op = e.as<Select>()) {
            return select(op->condition, mutate(op->true_value), mutate(op->false_value));
        }
        return cast<int64_t>(e);
    }

private:
    static Expr in_range(const Expr &e) {
        return max(min(e, wide(kMost + 1)), wide(-kMost - 1));
    }
};

bool computes(const Expr &e) {
    return !is_const(e) && !e.as<Variable>() && !e.as<Halide::Internal::Call>();
}

}  // namespace

Expr has_no_overflow(const Expr &e, const Lets &lets) {
    const Expr value = simplify(expand(e, lets));
    return computes(value) ? simplify(Widen().mutate(value) <= wide(kMost)) : const_true();
}

Expr number_of_launch(const Expr &e, const Lets &lets) {
    const Expr fits = has_no_overflow(e, lets);
    return is_const_one(fits) ? e : select(fits, e, std::numeric_limits<int32_t>::min());
}

}  // namespace halyard
