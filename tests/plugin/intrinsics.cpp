// Every intrinsic of Halide's IR that a front end can write, one a row of the result; those of a type, and those of none, are an
// update. A stock generator.

#include <Halide.h>

namespace {

using namespace Halide;

class Intrinsics : public Generator<Intrinsics> {
public:
    Input<Buffer<int32_t, 1>> a{"a"}, b{"b"};  // [x]
    Output<Buffer<int64_t, 3>> y{"y"};         // [x, intrinsic, type]

    void generate() {
        y(x, row, type) = cast<int64_t>(0);
        const Expr p = a(x), q = b(x);
        for (const Type &t : {UInt(8), Int(8), UInt(16), Int(16), UInt(32), Int(32), UInt(64), Int(64)}) {
            const Expr v = t.bits() < 64 ? cast(t, p) : cast(t, p) * cast(t, q);
            add(popcount(v));
            add(count_leading_zeros(v));
            add(count_trailing_zeros(v));
            add(~v);
            add((v & cast(t, q)) | (v ^ cast(t, 5)));
            add(v << cast(t.with_code(Type::UInt), q & 3));
            add(v >> cast(t.with_code(Type::UInt), q & 3));
            if (t.is_int()) {
                add(abs(v));
            }
            add(absd(v, cast(t, q)));
            add(div_round_to_zero(v, max(cast(t, q & 7), cast(t, 1))));
            add(mod_round_to_zero(v, max(cast(t, q & 7), cast(t, 1))));
            end_type();
        }
        for (const Type &t : {UInt(8), Int(8), UInt(16), Int(16)}) {
            const Expr v = cast(t, p), w = cast(t, q);
            add(widening_add(v, w));
            add(widening_sub(v, w));
            add(widening_mul(v, w));
            add(widen_right_add(widening_mul(v, w), w));
            add(saturating_add(v, w));
            add(saturating_sub(v, w));
            add(halving_add(v, w));
            add(halving_sub(v, w));
            add(rounding_halving_add(v, w));
            add(rounding_shift_right(v, cast(t, q & 3)));
            add(rounding_shift_left(v, cast(t, q & 3)));
            add(mul_shift_right(v, w, cast(t.with_code(Type::UInt), 3)));
            add(rounding_mul_shift_right(v, w, cast(t.with_code(Type::UInt), 3)));
            add(saturating_cast(t, p));
            end_type();
        }
        const Expr byte = cast<uint8_t>(p), other = cast<uint8_t>(q), f = cast<float>(p & 255), g = cast<float>(q & 255);
        add(lerp(byte, other, cast<uint8_t>(p >> 3)));
        add(lerp(cast<uint16_t>(p), cast<uint16_t>(q), cast<uint16_t>(p * 7)));
        add(cast<int64_t>(16 * lerp(f, g, cast<float>(p & 15) / 16.0f)));
        add(cast<int64_t>(16 * lerp(f, g, cast<uint8_t>(select(p % 2 == 0, 255, 0)))));
        add(mux(p & 3, {p, q, p + q, p - q}));
        add(require(p >= -1000000, p + q, "an element below", -1000000));
        add(memoize_tag(p * q, p));
        add(extract_bits<uint8_t>(p, 8));
        add(concat_bits({byte, other}));
        add(likely(p) + clamp(q, 0, 9));
        add(select(p < q, p, q));
        add(unsafe_promise_clamped(p & 15, 0, 15));
        add(cast<int64_t>(round(f * 0.5f)) + cast<int64_t>(floor(g * 0.25f)) + cast<int64_t>(ceil(g * 0.25f)) +
            cast<int64_t>(trunc(f * 0.25f)));
        add(cast<int64_t>(strict_float(f * 3.0f + g)) + cast<int64_t>(strict_float(max(f, g) - min(f, g))));
        add(cast<int64_t>(is_nan(f)) + cast<int64_t>(is_finite(g)) + cast<int64_t>(is_inf(f)));
        add(reinterpret<int32_t>(f));
        end_type();
        y.dim(1).set_bounds(0, 16);
        y.dim(2).set_bounds(0, types_);
    }

private:
    void add(const Expr &value) {
        values_.push_back(cast<int64_t>(value));
    }

    void end_type() {
        Expr chosen = values_.back();
        for (int i = int(values_.size()) - 2; i >= 0; i--) {
            chosen = select(row == i, values_[size_t(i)], chosen);
        }
        y(x, row, types_++) = chosen;
        values_.clear();
    }

    const Var x{"x"}, row{"row"}, type{"type"};
    std::vector<Expr> values_;
    int types_ = 0;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Intrinsics, intrinsics)
