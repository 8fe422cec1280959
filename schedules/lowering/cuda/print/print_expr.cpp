#include "lowering/cuda/print/print_expr.h"

#include "lowering/cuda/print/bytes.h"
#include "lowering/cuda/print/expr_text.h"
#include "lowering/cuda/print/expr_visitor.h"
#include "lowering/cuda/simt/alignment.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// The factors of a product that its type holds all of. Halide writes casts as intrinsics where it finds that they are.
bool is_exact_product(const Expr &e, Expr &a, Expr &b) {
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
bool is_sum_of_byte_products(const Expr &e, Expr &a, Expr &b) {
    const auto *sum = e.as<VectorReduce>();
    if (!sum || sum->op != VectorReduce::Add || e.type() != Int(32) || sum->value.type().lanes() != 4) {
        return false;
    }
    const auto *widened = sum->value.as<Cast>();
    const bool exact = widened && widened->type.can_represent(widened->value.type());
    const auto is_byte = [](const Type &t) { return t.bits() == 8 && t.is_int_or_uint(); };
    return is_exact_product(exact ? widened->value : sum->value, a, b) && is_byte(a.type()) && is_byte(b.type());
}

bool is_const_power_of_two_integer(const Expr &e, int *shift) {
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

}  // namespace

void ExprPrinter::unsupported(const std::string &what) {
    throw CompileError(what);
}

std::string ExprPrinter::Visitor::print(const Expr &e, Precedence at_least) {
    e.accept(this);
    return precedence > at_least ? "(" + text + ")" : text;
}

std::string ExprPrinter::Visitor::argument(const Expr &e) {
    return print(e, kConditional);
}

std::string ExprPrinter::Visitor::element(const std::string &array, const Expr &index) {
    const std::string name = p_.names_.of(array);
    return p_.memory_of_(array) == Memory::kScalar ? name : name + "[" + argument(index) + "]";
}

std::string ExprPrinter::Visitor::address(const std::string &array) const {
    const std::string name = p_.names_.of(array);
    return p_.memory_of_(array) == Memory::kScalar ? "&" + name : name;
}

std::string ExprPrinter::Visitor::pointer(const std::string &array, const Expr &base) {
    const std::string name = address(array);
    return is_const_zero(base) ? name : name + " + " + print(base, kAdd);
}

bool ExprPrinter::Visitor::whole(const std::string &array, const Type &type, const ModulusRemainder &alignment) const {
    const int n = vector_elements(type);
    return n > 1 && p_.memory_of_(array) != Memory::kRegisters && alignment.modulus % n == 0 && alignment.remainder % n == 0;
}

void ExprPrinter::Visitor::set(std::string t, Precedence p) {
    text = std::move(t);
    precedence = p;
}

void ExprPrinter::Visitor::call(const std::string &function, const std::vector<Expr> &args) {
    std::string s = function + "(";
    for (size_t i = 0; i < args.size(); i++) {
        s += (i ? ", " : "") + argument(args[i]);
    }
    set(s + ")", kPrimary);
}

bool ExprPrinter::Visitor::of_halves(const Expr &e) {
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

std::string ExprPrinter::Visitor::byte_words(const Expr &e) {
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

void ExprPrinter::Visitor::binary(const Expr &a, const char *op, const Expr &b, Precedence p) {
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

void ExprPrinter::Visitor::elementwise(const std::string &function, const std::vector<Expr> &args) {
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

void ExprPrinter::Visitor::visit(const IntImm *op) {
    const std::string v = std::to_string(op->value);
    if (op->type == Int(32) && op->value == INT32_MIN) {
        set("-2147483647 - 1", kAdd);  // which has no minus in C++
    } else if (op->type == Int(32)) {
        set(v, op->value < 0 ? kUnary : kPrimary);
    } else {
        set(element_text(op->type) + "(" + v + (op->type.bits() == 64 ? "ll)" : ")"), kPrimary);
    }
}

void ExprPrinter::Visitor::visit(const UIntImm *op) {
    if (op->type.is_bool()) {
        set(op->value ? "true" : "false", kPrimary);
    } else if (op->type == UInt(32)) {
        set(std::to_string(op->value) + "u", kPrimary);
    } else {
        set(element_text(op->type) + "(" + std::to_string(op->value) + "ull)", kPrimary);
    }
}

void ExprPrinter::Visitor::visit(const FloatImm *op) {
    if (op->type.bits() == 16) {
        set(element_text(op->type) + "(" + float_text(op->value, 32) + ")", kPrimary);
    } else {
        set(float_text(op->value, op->type.bits()), op->value < 0 ? kUnary : kPrimary);
    }
}

void ExprPrinter::Visitor::visit(const StringImm *op) {
    set("\"" + op->value + "\"", kPrimary);
}

void ExprPrinter::Visitor::visit(const Variable *op) {
    const bool coordinate = op->name.compare(0, 9, "blockIdx.") == 0;
    set(coordinate ? "int(" + op->name + ")" : p_.names_.of(op->name), kPrimary);
}

void ExprPrinter::Visitor::visit(const Cast *op) {
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

void ExprPrinter::Visitor::visit(const Reinterpret *op) {
    if (const Expr whole = whole_of_upper_halves(op); whole.defined()) {
        set("upper_halves<" + element_text(op->type.element_of()) + ">(" + argument(whole) + ")", kPrimary);
        return;
    }
    const bool each = op->type.lanes() == op->value.type().lanes();
    set((each ? "bits_as<" + element_text(op->type.element_of()) : "all_bits_as<" + type_text(op->type)) + ">(" + argument(op->value) + ")",
        kPrimary);
}

void ExprPrinter::Visitor::visit(const Add *op) {
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

void ExprPrinter::Visitor::visit(const Sub *op) {
    if (of_halves(op)) {
        return;
    }
    binary(op->a, "-", op->b, kAdd);
}

void ExprPrinter::Visitor::visit(const Mul *op) {
    if (of_halves(op)) {
        return;
    }
    binary(op->a, "*", op->b, kMultiply);
}

void ExprPrinter::Visitor::visit(const Div *op) {
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

void ExprPrinter::Visitor::visit(const Mod *op) {
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

void ExprPrinter::Visitor::visit(const Min *op) {
    half_or_call("minimum", op->a, op->b);
}

void ExprPrinter::Visitor::visit(const Max *op) {
    half_or_call("maximum", op->a, op->b);
}

void ExprPrinter::Visitor::half_or_call(const char *function, const Expr &a, const Expr &b) {
    if (a.type().is_float() && a.type().bits() == 16) {
        elementwise(function, {a, b});
    } else {
        call(function, {a, b});
    }
}

void ExprPrinter::Visitor::visit(const EQ *op) {
    binary(op->a, "==", op->b, kEqual);
}

void ExprPrinter::Visitor::visit(const NE *op) {
    binary(op->a, "!=", op->b, kEqual);
}

void ExprPrinter::Visitor::visit(const LT *op) {
    binary(op->a, "<", op->b, kCompare);
}

void ExprPrinter::Visitor::visit(const LE *op) {
    binary(op->a, "<=", op->b, kCompare);
}

void ExprPrinter::Visitor::visit(const GT *op) {
    binary(op->a, ">", op->b, kCompare);
}

void ExprPrinter::Visitor::visit(const GE *op) {
    binary(op->a, ">=", op->b, kCompare);
}

void ExprPrinter::Visitor::visit(const And *op) {
    binary(op->a, "&&", op->b, kAnd);
}

void ExprPrinter::Visitor::visit(const Or *op) {
    // Compilers warn of && in ||.
    const std::string left = print(op->a, kBitOr), right = print(op->b, kBitOr);
    set(left + " || " + right, kOr);
}

void ExprPrinter::Visitor::visit(const Not *op) {
    set("!" + print(op->a, kUnary), kUnary);
}

void ExprPrinter::Visitor::visit(const Select *op) {
    const auto *same = op->condition.as<Broadcast>();
    if (same || op->condition.type().is_scalar()) {
        const std::string c = print(same ? same->value : op->condition, kOr), a = print(op->true_value, kOr),
                          b = print(op->false_value, kOr);
        set(c + " ? " + a + " : " + b, kConditional);
    } else {
        call("select", {op->condition, op->true_value, op->false_value});
    }
}

void ExprPrinter::Visitor::visit(const Ramp *op) {
    if (!op->base.type().is_scalar()) {
        unsupported("a ramp of vectors");
    }
    set("ramp<" + std::to_string(op->lanes) + ">(" + argument(op->base) + ", " + argument(op->stride) + ")", kPrimary);
}

void ExprPrinter::Visitor::visit(const Broadcast *op) {
    if (!op->value.type().is_scalar()) {
        unsupported("a broadcast of a vector");
    }
    set("broadcast<" + std::to_string(op->lanes) + ">(" + argument(op->value) + ")", kPrimary);
}

void ExprPrinter::Visitor::visit(const Load *op) {
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

void ExprPrinter::Visitor::visit(const Let *op) {
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

void ExprPrinter::Visitor::visit(const VectorReduce *op) {
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

void ExprPrinter::Visitor::visit(const Shuffle *op) {
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
