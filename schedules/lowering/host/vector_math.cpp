#include "lowering/host/vector_math.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "math/activation.h"
#include "math/exp.h"
#include "math/float8_rounding.h"
#include "math/pow.h"
#include "math/tanh.h"
#include "math/trig.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

using Arguments = std::vector<Expr>;

struct Function {
    size_t arguments;
    std::function<Expr(const Arguments &)> compute;
    std::function<Expr(const Arguments &)> is_beyond;  // of each lane, where `compute` is not for all numbers
};

Expr size_bits(const Expr &x) {
    return f32_bits(x) & 0x7fffffff;
}

Expr is_large_angle(const Arguments &a) {
    return size_bits(a[0]) > f32_bits(kLargestAngle);
}

// By Halide's names without the type, and by those of C with an f behind.
const Function *function_of(const std::string &name) {
    static const std::map<std::string, Function> kFunctions = {
        {"exp", {1, [](const Arguments &a) { return exp_f32(a[0]); }, {}}},
        {"exact exp", {1, [](const Arguments &a) { return exp_exact_f32(a[0]); }, {}}},
        {"exp2", {1, [](const Arguments &a) { return exp2_f32(a[0]); }, {}}},
        {"log", {1, [](const Arguments &a) { return log_or_nan_f32(a[0]); }, {}}},
        {"tanh", {1, [](const Arguments &a) { return tanh_f32(a[0]); }, {}}},
        {"erf", {1, [](const Arguments &a) { return select(is_nan_f32(a[0]), a[0], erf_f32(a[0])); }, {}}},
        {"sin", {1, [](const Arguments &a) { return sin_f32(a[0]); }, is_large_angle}},
        {"cos", {1, [](const Arguments &a) { return cos_f32(a[0]); }, is_large_angle}},
        {"to_e4m3", {1, [](const Arguments &a) { return float8_of_f32(Float8::kE4M3, a[0]); }, {}}},
        {"to_e5m2", {1, [](const Arguments &a) { return float8_of_f32(Float8::kE5M2, a[0]); }, {}}},
        {"pow", {2, [](const Arguments &a) { return pow_f32(a[0], a[1]); }, {}}},
    };
    const auto it = kFunctions.find(name);
    return it == kFunctions.end() ? nullptr : &it->second;
}

std::string without(const std::string &end, const std::string &name) {
    const size_t rest = name.size() - end.size();
    return name.size() > end.size() && name.compare(rest, end.size(), end) == 0 ? name.substr(0, rest) : "";
}

// An expression of scalars as one of vectors.
class Widen : public IRMutator {
public:
    explicit Widen(int lanes) : lanes_(lanes) {}

private:
    using IRMutator::visit;

    Type wide(const Type &t) const {
        return t.with_lanes(lanes_);
    }

    Expr visit(const IntImm *op) override {
        return Broadcast::make(op, lanes_);
    }
    Expr visit(const UIntImm *op) override {
        return Broadcast::make(op, lanes_);
    }
    Expr visit(const FloatImm *op) override {
        return Broadcast::make(op, lanes_);
    }
    Expr visit(const Variable *op) override {
        return Variable::make(wide(op->type), op->name);
    }
    Expr visit(const Cast *op) override {
        return Cast::make(wide(op->type), mutate(op->value));
    }
    Expr visit(const Reinterpret *op) override {
        return Reinterpret::make(wide(op->type), mutate(op->value));
    }
    Expr visit(const Call *op) override {
        return Call::make(wide(op->type), op->name, mutate(op->args), op->call_type);
    }

    const int lanes_;
};

class VectorMath : public IRMutator {
public:
    explicit VectorMath(bool has_fma) : has_fma_(has_fma) {}

private:
    using IRMutator::visit;

    Expr visit(const Call *op) override {
        if (op->call_type != Call::PureExtern && op->call_type != Call::Extern) {
            return IRMutator::visit(op);
        }
        const Type f32 = Float(32, op->type.lanes());
        std::string name = without("_f32", op->name);
        const bool half = name.empty() && op->type.element_of() == Float(16);
        name = half ? without("_f16", op->name) : name.empty() ? without("f", op->name) : name;
        // Without FMA the rest of x / ln(2) has an error that grows with x.
        const Type of_arguments = half ? op->type : f32;
        const Function *f = half || (!op->args.empty() && op->args[0].type() == f32)
                                ? function_of(name == "exp" && !has_fma_ ? "exact exp" : name)
                                : nullptr;
        if (!f || op->args.size() != f->arguments) {
            return IRMutator::visit(op);
        }
        Arguments values, names, wide_names;
        std::vector<std::string> bound;
        for (const Expr &a : op->args) {
            if (a.type() != of_arguments) {
                return IRMutator::visit(op);
            }
            values.push_back(cast(f32, mutate(a)));
            bound.push_back(unique_name("math"));
            names.push_back(Variable::make(Float(32), bound.back()));
            wide_names.push_back(Variable::make(f32, bound.back()));
        }
        Expr result = widened(common_subexpression_elimination(f->compute(names)), f32.lanes());
        if (f->is_beyond) {
            Expr beyond = widened(f->is_beyond(names), f32.lanes());
            if (beyond.type().is_vector()) {
                beyond = VectorReduce::make(VectorReduce::Or, beyond, 1);
            }
            result = Call::make(f32, Call::if_then_else, {beyond, of_libm(f32, name, wide_names), result}, Call::PureIntrinsic);
        }
        for (size_t i = bound.size(); i-- > 0;) {
            result = Let::make(bound[i], values[i], result);
        }
        return cast(op->type, result);
    }

    static Expr widened(const Expr &e, int lanes) {
        return lanes == 1 ? e : Widen(lanes).mutate(e);
    }

    static Expr of_libm(const Type &type, const std::string &name, const Arguments &arguments) {
        return Call::make(type, name + "f", arguments, Call::PureExtern);
    }

    const bool has_fma_;
};

}  // namespace

std::unique_ptr<IRMutator> compute_math_in_vectors(const Target &target) {
    return std::make_unique<VectorMath>(target.arch != Target::X86 || target.has_feature(Target::FMA));
}

}  // namespace halyard
