// Calls and intrinsics of Halide's IR as CUDA C++.

#include <map>

#include "lowering/cuda/extract/kernel.h"
#include "lowering/cuda/print/expr_text.h"
#include "lowering/cuda/print/expr_visitor.h"
#include "lowering/cuda/simt/warp_products.h"
#include "lowering/cuda/simt/fetch.h"
#include "lowering/cuda/simt/hoisted_uniforms.h"
#include "lowering/cuda/simt/launch_wait.h"
#include "lowering/cuda/simt/register_tiles.h"

namespace halyard {

const char *const kMaxOrNan = "max_or_nan";

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Halide's names of functions of f32, and CUDA's.
const std::map<std::string, const char *> kMath = {
    {"exp", "exp_approx"},     {"log", "logf"},
    {"sqrt", "sqrtf"},         {"sin", "sinf"},
    {"cos", "cosf"},           {"tan", "tanf"},
    {"asin", "asinf"},         {"acos", "acosf"},
    {"atan", "atanf"},         {"atan2", "atan2f"},
    {"sinh", "sinhf"},         {"cosh", "coshf"},
    {"tanh", "tanhf"},         {"asinh", "asinhf"},
    {"acosh", "acoshf"},       {"atanh", "atanhf"},
    {"pow", "powf"},           {"floor", "floorf"},
    {"ceil", "ceilf"},         {"round", "rintf"},
    {"trunc", "truncf"},       {"fast_inverse_sqrt", "rsqrtf"},
    {"is_nan", "isnan"},       {"is_inf", "isinf"},
    {"is_finite", "isfinite"}, {"erf", "erff"},
    {"exp2", "exp2_approx"},   {"to_e4m3", "e4m3_bits"},
    {"to_e5m2", "e5m2_bits"},
};

}  // namespace

void ExprPrinter::Visitor::visit(const Call *op) {
    if (op->name == kReduceThreads) {
        reduce_threads(op);
    } else if (op->name == kMultiplyInWarp) {
        call("multiply_in_warp", op->args);
    } else if (op->name == kCopyAsync) {
        const auto *to = op->args[0].as<Load>(), *from = op->args[1].as<Load>();
        const std::string place = pointer_of(to), source = pointer_of(from);
        const std::string all = is_const_one(op->args[2]) ? "" : ", " + argument(op->args[2]);
        const int bytes = from->type.bytes() * from->type.lanes();
        set("copy_async<" + std::to_string(bytes) + ">(" + place + ", " + source + all + ")", kPrimary);
    } else if (op->name == kDivideBy) {
        set("divide_by(" + argument(op->args[0]) + ", " + argument(op->args[1]) + ", " + argument(op->args[2]) + ")", kPrimary);
    } else if (op->name == kPrefetchL2) {
        set("prefetch_l2(" + pointer_of(op->args[0].as<Load>()) + ")", kPrimary);
    } else if (op->name == kWaitForLast) {
        set("wait_for_last()", kPrimary);
    } else if (op->name == kStartNext) {
        set("start_next()", kPrimary);
    } else if (op->name == kCopyCommit) {
        set("copy_async_commit()", kPrimary);
    } else if (op->name == kCopyWait) {
        set("copy_async_wait<" + argument(op->args[0]) + ">()", kPrimary);
    } else if (op->name == kMaxOrNan) {
        elementwise(kMaxOrNan, op->args);
    } else if (op->is_intrinsic(Call::bitwise_and)) {
        binary(op->args[0], "&", op->args[1], kBitAnd);
    } else if (op->is_intrinsic(Call::bitwise_or)) {
        if (!masked_or(op->args[0], op->args[1]) && !masked_or(op->args[1], op->args[0])) {
            binary(op->args[0], "|", op->args[1], kBitOr);
        }
    } else if (op->is_intrinsic(Call::bitwise_xor)) {
        binary(op->args[0], "^", op->args[1], kBitXor);
    } else if (op->is_intrinsic(Call::bitwise_not)) {
        binary(op->args[0], "^", make_const(op->type, -1), kBitXor);
    } else if (op->is_intrinsic(Call::shift_left)) {
        shift("<<", op);
    } else if (op->is_intrinsic(Call::shift_right)) {
        shift(">>", op);
    } else if (op->is_intrinsic(Call::abs)) {
        absolute(op);
    } else if (op->is_intrinsic(Call::absd)) {
        const Expr a = op->args[0], b = op->args[1];
        print_as(select(a < b, cast(op->type, b) - cast(op->type, a), cast(op->type, a) - cast(op->type, b)));
    } else if (op->is_intrinsic(Call::if_then_else)) {
        const auto *same = op->args[0].as<Broadcast>();
        const std::string c = print(same ? same->value : op->args[0], kOr);
        Visitor a(p_, false), b(p_, false);
        const std::string t = a.print(op->args[1], kOr);
        const std::string f = op->args.size() > 2 ? b.print(op->args[2], kOr) : type_text(op->type) + "()";
        set(c + " ? " + t + " : " + f, kConditional);
    } else if (op->is_intrinsic(Call::likely) || op->is_intrinsic(Call::likely_if_innermost) || op->is_intrinsic(Call::promise_clamped) ||
               op->is_intrinsic(Call::unsafe_promise_clamped)) {
        op->args[0].accept(this);
    } else if (op->is_intrinsic(Call::return_second)) {
        op->args[1].accept(this);
    } else if (op->is_intrinsic(Call::undef)) {
        set(type_text(op->type) + "()", kPrimary);
    } else if (op->is_intrinsic(Call::div_round_to_zero)) {
        binary(op->args[0], "/", op->args[1], kMultiply);
    } else if (op->is_intrinsic(Call::mod_round_to_zero)) {
        binary(op->args[0], "%", op->args[1], kMultiply);
    } else if (op->is_intrinsic(Call::round)) {
        elementwise(op->type.bits() == 64 ? "rint" : "rintf", op->args);
    } else if (op->is_intrinsic(Call::popcount)) {
        elementwise("count_ones", op->args);
    } else if (op->is_intrinsic(Call::count_leading_zeros)) {
        elementwise("leading_zeros", op->args);
    } else if (op->is_intrinsic(Call::count_trailing_zeros)) {
        elementwise("trailing_zeros", op->args);
    } else if (op->is_intrinsic(Call::lerp)) {
        print_as(lower_lerp(op->type, op->args[0], op->args[1], op->args[2], Target()));
    } else if (op->is_intrinsic(Call::mux)) {
        print_as(lower_mux(op));
    } else if (op->is_intrinsic(Call::memoize_expr)) {
        op->args[0].accept(this);  // the rest is what the cache would be asked with
    } else if (op->is_intrinsic(Call::require)) {
        // The message is one for the host; here the kernel ends with an error.
        const Expr holds = op->args[0].type().is_scalar() ? op->args[0] : VectorReduce::make(VectorReduce::And, op->args[0], 1);
        call("required", {holds, op->args[1]});
    } else if (op->is_intrinsic(Call::extract_bits)) {
        print_as(lower_extract_bits(op));
    } else if (op->is_intrinsic(Call::concat_bits)) {
        print_as(lower_concat_bits(op));
    } else if (!strict(op) && !math(op)) {
        other(op);
    }
}

bool ExprPrinter::Visitor::masked_or(const Expr &masked, const Expr &more) {
    if (masked.type() != UInt(32)) {
        return false;
    }
    const Call *mask = Call::as_intrinsic(masked, {Call::bitwise_and});
    const auto *rest = masked.as<Mod>();
    const uint64_t of = rest ? as_const_uint(rest->b).value_or(0) : 0;
    if (mask && as_const_uint(mask->args[1])) {
        call("masked_or", {mask->args[0], mask->args[1], more});
    } else if (of > 1 && (of & (of - 1)) == 0) {
        call("masked_or", {rest->a, make_const(UInt(32), of - 1), more});
    } else {
        return false;
    }
    return true;
}

bool ExprPrinter::Visitor::strict(const Call *op) {
    if (op->is_intrinsic(Call::strict_add)) {
        print_as(op->args[0] + op->args[1]);
    } else if (op->is_intrinsic(Call::strict_sub)) {
        print_as(op->args[0] - op->args[1]);
    } else if (op->is_intrinsic(Call::strict_mul)) {
        print_as(op->args[0] * op->args[1]);
    } else if (op->is_intrinsic(Call::strict_div)) {
        print_as(op->args[0] / op->args[1]);
    } else if (op->is_intrinsic(Call::strict_min)) {
        print_as(min(op->args[0], op->args[1]));
    } else if (op->is_intrinsic(Call::strict_max)) {
        print_as(max(op->args[0], op->args[1]));
    } else if (op->is_intrinsic(Call::strict_lt)) {
        print_as(op->args[0] < op->args[1]);
    } else if (op->is_intrinsic(Call::strict_le)) {
        print_as(op->args[0] <= op->args[1]);
    } else if (op->is_intrinsic(Call::strict_eq)) {
        print_as(op->args[0] == op->args[1]);
    } else {
        return false;
    }
    return true;
}

void ExprPrinter::Visitor::print_as(const Expr &e) {
    e.accept(this);
}

void ExprPrinter::Visitor::shift(const char *op, const Call *call) {
    // Of signed numbers to the left: as unsigned, where it is defined.
    const Type t = call->type;
    const Expr by = cast(t, call->args[1]);
    if (t.is_int() && *op == '<') {
        print_as(reinterpret(t, reinterpret(t.with_code(Type::UInt), call->args[0]) << cast(t.with_code(Type::UInt), call->args[1])));
        return;
    }
    binary(call->args[0], op, by, kShift);
}

void ExprPrinter::Visitor::absolute(const Call *op) {
    const Type t = op->args[0].type();
    if (t.is_float()) {
        elementwise(t.bits() == 64 ? "fabs" : "fabsf", op->args);
    } else {
        print_as(cast(op->type, select(op->args[0] < make_zero(t), make_zero(t) - op->args[0], op->args[0])));
    }
}

bool ExprPrinter::Visitor::math(const Call *op) {
    const size_t bits = op->name.rfind("_f");
    if (bits == std::string::npos) {
        return false;
    }
    const std::string type = op->name.substr(bits), name = op->name.substr(0, bits);
    if (type != "_f32" && type != "_f16" && type != "_f64") {
        return false;
    }
    if (name == "fast_inverse") {
        print_as(make_one(op->type) / op->args[0]);
        return true;
    }
    const auto it = kMath.find(name);
    if (it == kMath.end()) {
        return false;
    }
    std::string function = it->second;
    if (type == "_f64" && function.back() == 'f' && function != "isinf") {
        function.pop_back();
    }
    elementwise(function, op->args);
    return true;
}

std::string ExprPrinter::Visitor::pointer_of(const Load *op) {
    const auto *ramp = op->index.as<Ramp>();
    return pointer(op->name, ramp ? ramp->base : op->index);
}

void ExprPrinter::Visitor::reduce_threads(const Call *op) {
    const std::string operation = op->args[2].as<StringImm>()->value;
    const std::string value = argument(op->args[0]), lanes = argument(op->args[1]);
    const std::string t = element_text(op->type);
    const auto offset = as_const_int(op->args[3]);
    const std::string scratch = offset && *offset < 0
                                    ? "shared<" + t + ">()"
                                    : "shared_array<" + t + ">(" + argument(op->args[3]) + ", " + argument(op->args[4]) + ")";
    set("reduce_threads<" + operation + ", " + lanes + ">(" + value + ", " + scratch + ")", kPrimary);
}

void ExprPrinter::Visitor::other(const Call *op) {
    const Expr lowered = op->is_intrinsic() ? lower_intrinsic(op) : Expr();
    if (!lowered.defined()) {
        unsupported("the CUDA backend has no word for Halide's " + op->name);
    }
    lowered.accept(this);
}

}  // namespace halyard
