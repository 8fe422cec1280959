#include "lowering/cuda/tensor_cores/tensor_number.h"

#include <sstream>

#include "generators/math/float8.h"
#include "lowering/cuda/print/print_expr.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// x of an f32 x without the bits that TF32 has not.
Expr whole_of_tf32(const Expr &e) {
    const auto *number = e.as<Reinterpret>();
    const Call *cut = number && e.type() == Float(32) ? number->value.as<Call>() : nullptr;
    const auto mask = cut && cut->is_intrinsic(Call::bitwise_and) ? as_const_uint(cut->args[1]) : std::nullopt;
    const auto *bits = mask ? cut->args[0].as<Reinterpret>() : nullptr;
    return bits && *mask == 0xffffe000 && bits->value.type() == Float(32) ? bits->value : Expr();
}

// The outermost expressions of 8 bits.
class FindBytes : public IRGraphVisitor {
public:
    using IRGraphVisitor::visit;
    using IRGraphVisitor::include;

    void include(const Expr &e) override {
        if (e.type() == UInt(8)) {
            found = found.defined() && !equal(found, e) ? Expr() : e;
            several = several || !found.defined();
        } else {
            IRGraphVisitor::include(e);
        }
    }

    Expr found;
    bool several = false;
};

// The byte of which an expression is the number, divided by 256 for e4m3.
Expr byte_of(const Expr &e, Expr (*number)(const Expr &)) {
    FindBytes find;
    find.include(e);
    const bool is_number = find.found.defined() && !find.several && equal(simplify(number(find.found)), simplify(e));
    return is_number ? find.found : Expr();
}

// A number of 8 bits, and what it is to be multiplied by; no element, where it is none.
std::pair<FactorOfProduct, float> float8(const Expr &factor) {
    const auto *wide = factor.as<Cast>();
    if (!wide || wide->type != Float(32) || wide->value.type() != Float(16)) {
        return {};
    }
    if (const Expr byte = byte_of(wide->value, e4m3_as_f16); byte.defined()) {
        return {{TensorNumber::kE4M3, byte}, kFactorOfE4M3};
    }
    return {{TensorNumber::kE5M2, byte_of(wide->value, e5m2_as_f16)}, 1.0f};
}

FactorOfProduct whole_number(const Expr &factor) {
    const Expr whole = whole_of_tf32(factor);
    return whole.defined() ? FactorOfProduct{TensorNumber::kTF32, whole} : FactorOfProduct{TensorNumber::kStored, factor};
}

}  // namespace

std::string TensorNumber::text() const {
    return format == kE4M3 ? "e4m3" : format == kE5M2 ? "e5m2" : type_text(type);
}

std::string TensorNumber::ptx() const {
    if (is_float8()) {
        return text();
    }
    if (type.is_float()) {
        return type.is_bfloat() ? "bf16" : type.bits() == 32 ? "tf32" : "f16";
    }
    return type.is_uint() ? "u8" : "s8";
}

std::string TensorNumber::name() const {
    std::ostringstream s;
    s << type;
    return is_float8() ? "float8_" + text() : s.str();
}

std::optional<std::pair<FactorOfProduct, FactorOfProduct>> factors_of_product(const Expr &a, const Expr &b, const Expr &times) {
    const auto left = times.defined() ? as_const_float(times) : std::optional<double>(1);
    const auto [byte_a, of_a] = float8(a);
    const auto [byte_b, of_b] = float8(b);
    if (byte_a.element.defined() && byte_b.element.defined() && left && float(*left) == of_a * of_b) {
        return std::pair(byte_a, byte_b);
    }
    return times.defined() ? std::nullopt : std::make_optional(std::pair(whole_number(a), whole_number(b)));
}

}  // namespace halyard
