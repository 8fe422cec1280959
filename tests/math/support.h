#ifndef HALYARD_TESTS_MATH_SUPPORT_H
#define HALYARD_TESTS_MATH_SUPPORT_H

/** \file
 * Evaluates an expression of one f32 at many points.
 */

#include <functional>
#include <vector>

#include <Halide.h>

namespace math_test {

using Fragment = std::function<Halide::Expr(const Halide::Expr &)>;

/** Targets of this machine: with AVX-512, AVX2 and SSE4.1, where it has them. */
std::vector<Halide::Target> targets();

enum class Lanes { kMany, kOne };

/** What the fragment gives for each x, compiled as a schedule would: SIMD or one by one, fast-math. */
template<typename T>
std::vector<T> evaluate(const Fragment &fragment, const std::vector<float> &x, const Halide::Target &target, Lanes lanes = Lanes::kMany) {
    Halide::Buffer<float> in(const_cast<float *>(x.data()), static_cast<int>(x.size()));
    Halide::Func f;
    Halide::Var i;
    f(i) = fragment(in(i));
    if (lanes == Lanes::kMany) {
        f.vectorize(i, target.natural_vector_size<float>(), Halide::TailStrategy::GuardWithIf);
    }
    std::vector<T> result(x.size());
    Halide::Buffer<T> out(result.data(), static_cast<int>(result.size()));
    f.realize(out, target);
    return result;
}

/** Every step-th f32 from minus infinity to infinity by its bits, NaNs of both signs, and `more`. */
std::vector<float> samples(unsigned step, const std::vector<float> &more = {});

}  // namespace math_test

#endif
