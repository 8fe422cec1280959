#include "lowering/cuda/print/print_expr.h"

#include <cmath>
#include <cstring>
#include <map>

#include "lowering/cuda/print/bytes.h"
#include "lowering/cuda/simt/alignment.h"
#include "lowering/cuda/simt/fetch.h"
#include "lowering/cuda/simt/hoisted_uniforms.h"
#include "lowering/cuda/simt/launch_wait.h"
#include "lowering/cuda/extract/kernel.h"
#include "lowering/cuda/simt/register_tiles.h"

namespace halyard {

const char *const kMaxOrNan = "max_or_nan";

using namespace Halide;
using namespace Halide::Internal;

// Of C++, tightest first; an operand binds at least as tightly as its operator.
enum Precedence { kPrimary, kUnary, kMultiply, kAdd, kShift, kCompare, kEqual, kBitAnd, kBitXor, kBitOr, kAnd, kOr, kConditional };

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

std::string element_text(const Type &t) {
    if (t.is_bfloat()) {
        return "bfloat16";
    }
    if (t.is_float()) {
        return t.bits() == 16 ? "half" : t.bits() == 32 ? "float" : "double";
    }
    if (t.is_bool()) {
        return "bool";
    }
    if (t.is_int() || t.is_uint()) {
        return t == Int(32) ? "int" : (t.is_int() ? "int" : "uint") + std::to_string(t.bits()) + "_t";
    }
    std::ostringstream s;
    s << "a kernel on the GPU cannot hold a value of type " << t;
    ExprPrinter::unsupported(s.str());
}

std::string float_text(double value, int bits) {
    char text[64];
    if (bits == 32) {
        if (std::isnan(value) || std::isinf(value)) {
            return std::isnan(value) ? "__int_as_float(0x7fc00000)"
                   : value > 0       ? "__int_as_float(0x7f800000)"
                                     : "__int_as_float(0xff800000)";
        }
        for (int digits = 6; digits <= 9; digits++) {
            snprintf(text, sizeof(text), "%.*g", digits, value);
            if (strtof(text, nullptr) == float(value)) {
                break;
            }
        }
    } else {
        snprintf(text, sizeof(text), "%.17g", value);
    }
    std::string s = text;
    if (s.find_first_of(".en") == std::string::npos) {
        s += ".0";
    }
    return bits == 32 ? s + "f" : s;
}

}  // namespace

std::string type_text(const Type &type) {
    const std::string e = element_text(type.element_of());
    return type.is_scalar() ? e : "vec<" + e + ", " + std::to_string(type.lanes()) + ">";
}

void ExprPrinter::unsupported(const std::string &what) {
    throw CompileError(what);
}

class ExprPrinter::Visitor : public IRVisitor {
public:
    Visitor(ExprPrinter &printer, bool lines_before) : p_(printer), lines_before_(lines_before) {}

    std::string text;
    Precedence precedence = kPrimary;

    std::string print(const Expr &e, Precedence at_least) {
        e.accept(this);
        return precedence > at_least ? "(" + text + ")" : text;
    }

    std::string argument(const Expr &e) {
        return print(e, kConditional);
    }

    // p + i, or p[i] for one element.
    std::string element(const std::string &array, const Expr &index) {
        const std::string name = p_.names_.of(array);
        return p_.memory_of_(array) == Memory::kScalar ? name : name + "[" + argument(index) + "]";
    }

    // Its first element's address. Of one element in a register it has no name of its own.
    std::string address(const std::string &array) const {
        const std::string name = p_.names_.of(array);
        return p_.memory_of_(array) == Memory::kScalar ? "&" + name : name;
    }

    std::string pointer(const std::string &array, const Expr &base) {
        const std::string name = address(array);
        return is_const_zero(base) ? name : name + " + " + print(base, kAdd);
    }

    // Whether an access may be made whole: registers have no addresses worth the name.
    bool whole(const std::string &array, const Type &type, const ModulusRemainder &alignment) const {
        const int n = vector_elements(type);
        return n > 1 && p_.memory_of_(array) != Memory::kRegisters && alignment.modulus % n == 0 && alignment.remainder % n == 0;
    }

private:
    using IRVisitor::visit;

    void set(std::string t, Precedence p) {
        text = std::move(t);
        precedence = p;
    }

    void call(const std::string &function, const std::vector<Expr> &args) {
        std::string s = function + "(";
        for (size_t i = 0; i < args.size(); i++) {
            s += (i ? ", " : "") + argument(args[i]);
        }
        set(s + ")", kPrimary);
    }

    // Whether it is of 16-bit floats, several of which are one word.
    bool of_halves(const Expr &e) {
        if (const auto converted = bytes_to_floats(e)) {
            set(converted->word + "(" + byte_words(converted->bytes) + ")", kPrimary);
            return true;
        }
        if (const auto arithmetic = pair_arithmetic(e)) {
            call(arithmetic->word, {arithmetic->a, arithmetic->b});
            return true;
        }
        return false;
    }

    // A vector of bytes in words.
    std::string byte_words(const Expr &e) {
        if (const auto part = part_of_bytes(e)) {
            return part->word + "(" + byte_words(part->x) + ")";
        }
        const auto *choice = e.as<Select>();
        const auto *same = choice ? choice->condition.as<Broadcast>() : nullptr;
        if (choice && (same || choice->condition.type().is_scalar())) {
            const std::string c = print(same ? same->value : choice->condition, kOr);
            return "(" + c + " ? " + byte_words(choice->true_value) + " : " + byte_words(choice->false_value) + ")";
        }
        const auto *load = e.as<Load>();
        const auto *ramp = load ? load->index.as<Ramp>() : nullptr;
        if (ramp && is_const_one(load->predicate) && is_const_one(ramp->stride) && whole(load->name, load->type, load->alignment)) {
            return "load_words<" + std::to_string(ramp->lanes) + ">(" + pointer(load->name, ramp->base) + ")";
        }
        return "words_of(" + argument(e) + ")";
    }

    // `a op b`; half types compute in float.
    void binary(const Expr &a, const char *op, const Expr &b, Precedence p) {
        const Type t = a.type();
        if (t.is_float() && t.bits() == 16) {
            const Type f = Float(32, t.lanes());
            const bool compares = p == kCompare || p == kEqual;
            const std::string s = argument(cast(f, a)) + " " + op + " " + argument(cast(f, b));
            set(compares ? "(" + s + ")" : "to<" + element_text(t.element_of()) + ">(" + s + ")", kPrimary);
            return;
        }
        // In shifts and bits, parentheses where a reader would have to know the order.
        const bool plain = p <= kAdd || p == kCompare || p == kEqual || p == kAnd;
        const std::string left = print(a, plain ? p : kUnary);
        const std::string right = print(b, plain ? Precedence(p - 1) : kUnary);
        if (t.is_scalar() && !t.is_float() && !t.is_bool() && t.bits() < 32 && p != kCompare && p != kEqual) {
            set("to<" + element_text(t) + ">(" + left + " " + op + " " + right + ")", kPrimary);  // C++ computes in int
            return;
        }
        set(left + " " + op + " " + right, p);
    }

    // A function of the elements, over scalars or vectors.
    void elementwise(const std::string &function, const std::vector<Expr> &args) {
        const Type t = args[0].type();
        if (t.is_float() && t.bits() == 16) {
            std::vector<Expr> wide;
            for (const auto &a : args) {
                wide.push_back(cast(Float(32, t.lanes()), a));
            }
            elementwise(function, wide);
            set("to<" + element_text(t.element_of()) + ">(" + text + ")", kPrimary);
            return;
        }
        if (t.is_scalar()) {
            call(function, args);
            return;
        }
        const std::string e = element_text(t.element_of());
        const std::string lambda = args.size() == 1 ? "[](" + e + " x) { return " + function + "(x); }"
                                                    : "[](" + e + " x, " + e + " y) { return " + function + "(x, y); }";
        std::string s = "each(" + lambda;
        for (const auto &a : args) {
            s += ", " + argument(a);
        }
        set(s + ")", kPrimary);
    }

    void visit(const IntImm *op) override {
        const std::string v = std::to_string(op->value);
        if (op->type == Int(32) && op->value == INT32_MIN) {
            set("-2147483647 - 1", kAdd);  // which has no minus in C++
        } else if (op->type == Int(32)) {
            set(v, op->value < 0 ? kUnary : kPrimary);
        } else {
            set(element_text(op->type) + "(" + v + (op->type.bits() == 64 ? "ll)" : ")"), kPrimary);
        }
    }

    void visit(const UIntImm *op) override {
        if (op->type.is_bool()) {
            set(op->value ? "true" : "false", kPrimary);
        } else if (op->type == UInt(32)) {
            set(std::to_string(op->value) + "u", kPrimary);
        } else {
            set(element_text(op->type) + "(" + std::to_string(op->value) + "ull)", kPrimary);
        }
    }

    void visit(const FloatImm *op) override {
        if (op->type.bits() == 16) {
            set(element_text(op->type) + "(" + float_text(op->value, 32) + ")", kPrimary);
        } else {
            set(float_text(op->value, op->type.bits()), op->value < 0 ? kUnary : kPrimary);
        }
    }

    void visit(const StringImm *op) override {
        set("\"" + op->value + "\"", kPrimary);
    }

    void visit(const Variable *op) override {
        const bool coordinate = op->name.compare(0, 9, "blockIdx.") == 0;
        set(coordinate ? "int(" + op->name + ")" : p_.names_.of(op->name), kPrimary);
    }

    void visit(const Cast *op) override {
        if (of_halves(op)) {
            return;
        }
        const Type from = op->value.type(), to = op->type;
        if (to.is_bool()) {
            const Expr zero = make_zero(from);
            binary(op->value, "!=", zero, kEqual);
            return;
        }
        // What is exact in float goes through it, since a half has no conversions of its own to integers.
        const bool half = (from.is_float() && from.bits() == 16) || (to.is_float() && to.bits() == 16);
        if (half && !from.element_of().is_float() && to.is_vector()) {
            set("to_" + element_text(to.element_of()) + "(to<float>(" + argument(op->value) + "))", kPrimary);
        } else if (half && !from.element_of().is_float()) {
            set("to<" + element_text(to.element_of()) + ">(to<float>(" + argument(op->value) + "))", kPrimary);
        } else if (half && !to.element_of().is_float()) {
            set("to<" + element_text(to.element_of()) + ">(to<float>(" + argument(op->value) + "))", kPrimary);
        } else if (to.is_float() && to.bits() == 16 && to.is_vector() && from.is_float() && from.bits() == 32 && to.lanes() > 1) {
            set("to_" + element_text(to.element_of()) + "(" + argument(op->value) + ")", kPrimary);
        } else {
            set("to<" + element_text(to.element_of()) + ">(" + argument(op->value) + ")", kPrimary);
        }
    }

    void visit(const Reinterpret *op) override {
        const bool each = op->type.lanes() == op->value.type().lanes();
        set((each ? "bits_as<" + element_text(op->type.element_of()) : "all_bits_as<" + type_text(op->type)) + ">(" + argument(op->value) +
                ")",
            kPrimary);
    }

    // The factors of a product that its type holds all of. Halide writes casts as intrinsics where it finds that they are.
    static bool is_exact_product(const Expr &e, Expr &a, Expr &b) {
        const auto *call = e.as<Call>();
        if (call && call->is_intrinsic(Call::widening_mul)) {
            a = call->args[0], b = call->args[1];
            return true;
        }
        const auto *product = e.as<Mul>();
        const auto *left = product ? product->a.as<Cast>() : nullptr;
        const auto *right = product ? product->b.as<Cast>() : nullptr;
        if (!left || !right || product->type.element_of() != Int(32)) {
            return false;
        }
        a = left->value, b = right->value;
        return true;
    }

    // The bytes of a sum of four products of bytes in 32 bits.
    static bool is_sum_of_byte_products(const Expr &e, Expr &a, Expr &b) {
        const auto *sum = e.as<VectorReduce>();
        if (!sum || sum->op != VectorReduce::Add || e.type() != Int(32) || sum->value.type().lanes() != 4) {
            return false;
        }
        const auto *widened = sum->value.as<Cast>();
        const bool exact = widened && widened->type.can_represent(widened->value.type());
        const auto is_byte = [](const Type &t) { return t.bits() == 8 && t.is_int_or_uint(); };
        return is_exact_product(exact ? widened->value : sum->value, a, b) && is_byte(a.type()) && is_byte(b.type());
    }

    void visit(const Add *op) override {
        if (of_halves(op)) {
            return;
        }
        // a + -3 is written a - 3.
        const auto c = as_const_int(op->b);
        Expr x, y;
        if (c && *c < 0 && op->type == Int(32)) {
            binary(op->a, "-", make_const(op->type, -*c), kAdd);
        } else if (is_sum_of_byte_products(op->b, x, y)) {
            call("add_products", {op->a, x, y});
        } else if (is_sum_of_byte_products(op->a, x, y)) {
            call("add_products", {op->b, x, y});
        } else {
            binary(op->a, "+", op->b, kAdd);
        }
    }
    void visit(const Sub *op) override {
        if (of_halves(op)) {
            return;
        }
        binary(op->a, "-", op->b, kAdd);
    }
    void visit(const Mul *op) override {
        if (of_halves(op)) {
            return;
        }
        binary(op->a, "*", op->b, kMultiply);
    }

    void visit(const Div *op) override {
        if (op->type.is_float()) {
            const auto *root = op->b.as<Call>();
            if (is_const_one(op->a) && root && root->name == "sqrt_f32") {
                elementwise("rsqrtf", {root->args[0]});
            } else if (op->type.bits() == 32) {
                elementwise("divide", {op->a, op->b});
            } else {
                binary(op->a, "/", op->b, kMultiply);
            }
            return;
        }
        int shift = 0;
        if (is_const_power_of_two_integer(op->b, &shift) && op->type.is_scalar()) {
            binary(op->a, ">>", make_const(op->type, shift), kShift);
        } else if (op->type.is_uint() && op->type.is_scalar() && is_positive_const(op->b)) {
            binary(op->a, "/", op->b, kMultiply);
        } else {
            call("div_floor", {op->a, op->b});
        }
    }

    void visit(const Mod *op) override {
        int shift = 0;
        if (op->type.is_float()) {
            elementwise("fmodf", {op->a, op->b});
        } else if (is_const_power_of_two_integer(op->b, &shift) && op->type.is_scalar()) {
            binary(op->a, "&", make_const(op->type, (int64_t(1) << shift) - 1), kBitAnd);
        } else if (op->type.is_uint() && op->type.is_scalar() && is_positive_const(op->b)) {
            binary(op->a, "%", op->b, kMultiply);
        } else {
            call("mod_floor", {op->a, op->b});
        }
    }

    static bool is_const_power_of_two_integer(const Expr &e, int *shift) {
        const auto c = as_const_int(e);
        if (!c || *c <= 0 || (*c & (*c - 1)) != 0) {
            return false;
        }
        *shift = 0;
        while ((int64_t(1) << *shift) < *c) {
            (*shift)++;
        }
        return true;
    }

    void visit(const Min *op) override {
        half_or_call("minimum", op->a, op->b);
    }
    void visit(const Max *op) override {
        half_or_call("maximum", op->a, op->b);
    }
    void half_or_call(const char *function, const Expr &a, const Expr &b) {
        if (a.type().is_float() && a.type().bits() == 16) {
            elementwise(function, {a, b});
        } else {
            call(function, {a, b});
        }
    }

    void visit(const EQ *op) override {
        binary(op->a, "==", op->b, kEqual);
    }
    void visit(const NE *op) override {
        binary(op->a, "!=", op->b, kEqual);
    }
    void visit(const LT *op) override {
        binary(op->a, "<", op->b, kCompare);
    }
    void visit(const LE *op) override {
        binary(op->a, "<=", op->b, kCompare);
    }
    void visit(const GT *op) override {
        binary(op->a, ">", op->b, kCompare);
    }
    void visit(const GE *op) override {
        binary(op->a, ">=", op->b, kCompare);
    }
    void visit(const And *op) override {
        binary(op->a, "&&", op->b, kAnd);
    }
    void visit(const Or *op) override {
        // Compilers warn of && in ||.
        const std::string left = print(op->a, kBitOr), right = print(op->b, kBitOr);
        set(left + " || " + right, kOr);
    }
    void visit(const Not *op) override {
        set("!" + print(op->a, kUnary), kUnary);
    }

    void visit(const Select *op) override {
        const auto *same = op->condition.as<Broadcast>();
        if (same || op->condition.type().is_scalar()) {
            const std::string c = print(same ? same->value : op->condition, kOr), a = print(op->true_value, kOr),
                              b = print(op->false_value, kOr);
            set(c + " ? " + a + " : " + b, kConditional);
        } else {
            call("select", {op->condition, op->true_value, op->false_value});
        }
    }

    void visit(const Ramp *op) override {
        if (!op->base.type().is_scalar()) {
            unsupported("a ramp of vectors");
        }
        set("ramp<" + std::to_string(op->lanes) + ">(" + argument(op->base) + ", " + argument(op->stride) + ")", kPrimary);
    }

    void visit(const Broadcast *op) override {
        if (!op->value.type().is_scalar()) {
            unsupported("a broadcast of a vector");
        }
        set("broadcast<" + std::to_string(op->lanes) + ">(" + argument(op->value) + ")", kPrimary);
    }

    void visit(const Load *op) override {
        const auto *ramp = op->index.as<Ramp>();
        const bool all = is_const_one(op->predicate);
        const std::string n = std::to_string(op->type.lanes());
        if (op->type.is_scalar()) {
            const std::string e = element(op->name, op->index);
            if (all) {
                set(e, kPrimary);
            } else {
                set(print(op->predicate, kOr) + " ? " + e + " : " + element_text(op->type) + "(0)", kConditional);
            }
        } else if (p_.memory_of_(op->name) == Memory::kRegisters && ramp && is_const_one(ramp->stride)) {
            set("load_registers<" + n + ">(" + pointer(op->name, ramp->base) + ")", kPrimary);
        } else if (const auto *same = op->predicate.as<Broadcast>(); !all && same && ramp && is_const_one(ramp->stride)) {
            const char *function = whole(op->name, op->type, op->alignment) ? "load_if<" : "load_elements_if<";
            const std::string condition = argument(same->value);
            set(function + n + ">(" + condition + ", " + pointer(op->name, ramp->base) + ")", kPrimary);
        } else if (!all) {
            set("gather_if(" + argument(op->predicate) + ", " + address(op->name) + ", " + argument(op->index) + ")", kPrimary);
        } else if (ramp && is_const_one(ramp->stride)) {
            const char *function = whole(op->name, op->type, op->alignment) ? "load<" : "load_elements<";
            set(function + n + ">(" + pointer(op->name, ramp->base) + ")", kPrimary);
        } else {
            set("gather(" + address(op->name) + ", " + argument(op->index) + ")", kPrimary);
        }
    }

    void visit(const Let *op) override {
        if (!lines_before_) {
            substitute(op->name, op->value, op->body).accept(this);
            return;
        }
        // The same let may stand in several expressions, all of whose lines come into one scope.
        const std::string name = unique_name(op->name);
        const std::string value = argument(op->value);
        p_.line_("const " + type_text(op->value.type()) + " " + p_.names_.of(name) + " = " + value + ";");
        substitute(op->name, Variable::make(op->value.type(), name), op->body).accept(this);
    }

    void visit(const VectorReduce *op) override {
        const char *f = nullptr;
        switch (op->op) {
        case VectorReduce::Add: f = "add()"; break;
        case VectorReduce::Mul: f = "multiply()"; break;
        case VectorReduce::Min: f = "take_min()"; break;
        case VectorReduce::Max: f = "take_max()"; break;
        case VectorReduce::And: f = "take_min()"; break;
        case VectorReduce::Or: f = "take_max()"; break;
        default: unsupported("this vector reduction");
        }
        const int each = op->value.type().lanes() / op->type.lanes();
        set("reduce_lanes<" + std::to_string(each) + ">(" + f + ", " + argument(op->value) + ")" + (op->type.is_scalar() ? "[0]" : ""),
            kPrimary);
    }

    void visit(const Shuffle *op) override {
        // Lanes picked one by one from what the vectors have, one after the other.
        std::vector<std::pair<std::string, int>> lanes;
        for (const auto &v : op->vectors) {
            const std::string t = print(v, kPrimary);
            for (int i = 0; i < v.type().lanes(); i++) {
                lanes.emplace_back(v.type().is_scalar() ? t : t + "[" + std::to_string(i) + "]", i);
            }
        }
        std::string s;
        for (const int i : op->indices) {
            s += (s.empty() ? "" : ", ") + lanes[i].first;
        }
        set(op->type.is_scalar() ? s : type_text(op->type) + "{" + s + "}", kPrimary);
    }

    void visit(const Call *op) override {
        if (op->name == kReduceThreads) {
            reduce_threads(op);
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
        } else if (op->is_intrinsic(Call::likely) || op->is_intrinsic(Call::likely_if_innermost) ||
                   op->is_intrinsic(Call::promise_clamped) || op->is_intrinsic(Call::unsafe_promise_clamped)) {
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

    // Of numbers of 32 bits, which are what instructions have.
    bool masked_or(const Expr &masked, const Expr &more) {
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

    // CUDA's arithmetic is IEEE 754's unless told otherwise.
    bool strict(const Call *op) {
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

    void print_as(const Expr &e) {
        e.accept(this);
    }

    void shift(const char *op, const Call *call) {
        // Of signed numbers to the left: as unsigned, where it is defined.
        const Type t = call->type;
        const Expr by = cast(t, call->args[1]);
        if (t.is_int() && *op == '<') {
            print_as(reinterpret(t, reinterpret(t.with_code(Type::UInt), call->args[0]) << cast(t.with_code(Type::UInt), call->args[1])));
            return;
        }
        binary(call->args[0], op, by, kShift);
    }

    void absolute(const Call *op) {
        const Type t = op->args[0].type();
        if (t.is_float()) {
            elementwise(t.bits() == 64 ? "fabs" : "fabsf", op->args);
        } else {
            print_as(cast(op->type, select(op->args[0] < make_zero(t), make_zero(t) - op->args[0], op->args[0])));
        }
    }

    bool math(const Call *op) {
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

    std::string pointer_of(const Load *op) {
        const auto *ramp = op->index.as<Ramp>();
        return pointer(op->name, ramp ? ramp->base : op->index);
    }

    void reduce_threads(const Call *op) {
        const std::string operation = op->args[2].as<StringImm>()->value;
        const std::string value = argument(op->args[0]), lanes = argument(op->args[1]);
        const std::string t = element_text(op->type);
        const auto offset = as_const_int(op->args[3]);
        const std::string scratch = offset && *offset < 0
                                        ? "shared<" + t + ">()"
                                        : "shared_array<" + t + ">(" + argument(op->args[3]) + ", " + argument(op->args[4]) + ")";
        set("reduce_threads<" + operation + ", " + lanes + ">(" + value + ", " + scratch + ")", kPrimary);
    }

    // Halide's fixed-point intrinsics have a form in plain arithmetic.
    void other(const Call *op) {
        const Expr lowered = op->is_intrinsic() ? lower_intrinsic(op) : Expr();
        if (!lowered.defined()) {
            unsupported("the CUDA backend has no word for Halide's " + op->name);
        }
        lowered.accept(this);
    }

    ExprPrinter &p_;
    bool lines_before_;
};

std::string ExprPrinter::print(const Expr &e) {
    return Visitor(*this, true).argument(e);
}

std::string ExprPrinter::print_store(const Store *op, bool streaming) {
    Visitor v(*this, true);
    const auto *ramp = op->index.as<Ramp>();
    const bool all = is_const_one(op->predicate);
    const std::string value = v.argument(op->value);
    if (op->value.type().is_scalar()) {
        const std::string s = v.element(op->name, op->index) + " = " + value + ";";
        return all ? s : "if (" + v.argument(op->predicate) + ") " + s;
    }
    const std::string array = v.address(op->name);
    if (memory_of_(op->name) == Memory::kRegisters && ramp && is_const_one(ramp->stride)) {
        const std::string p = v.pointer(op->name, ramp->base);
        const std::string old = "load_registers<" + std::to_string(ramp->lanes) + ">(" + p + ")";
        return "store_registers(" + p + ", " + (all ? value : "select(" + v.argument(op->predicate) + ", " + value + ", " + old + ")") +
               ");";
    }
    if (!all) {
        return "scatter_if(" + v.argument(op->predicate) + ", " + array + ", " + v.argument(op->index) + ", " + value + ");";
    }
    if (ramp && is_const_one(ramp->stride)) {
        const bool whole = v.whole(op->name, op->value.type(), op->alignment);
        const char *function = !whole ? "store_elements" : streaming ? "store_streaming" : "store";
        return std::string(function) + "(" + v.pointer(op->name, ramp->base) + ", " + value + ");";
    }
    return "scatter(" + array + ", " + v.argument(op->index) + ", " + value + ");";
}

}  // namespace halyard
