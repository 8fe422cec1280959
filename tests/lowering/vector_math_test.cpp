// Functions of f32 as vector code: a picture of the pass, that no call of libm is left, and how far results are off.

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>

#include "lowering/host/vector_math.h"
#include "tests/language/support.h"
#include "tests/math/support.h"

using namespace Halide;

namespace {

using Function = std::function<Expr(const Expr &)>;
using Reference = std::function<double(double)>;

Expr by_name(const std::string &name, const Expr &x) {
    return Internal::Call::make(x.type(), name, {x}, Internal::Call::PureExtern);
}

struct Case {
    std::string name;
    Function function;
    Reference exact;
    double with_fma, without_fma;  // units in the last place
    float from, to;                // where the bound holds
};

std::vector<Case> cases() {
    const float kAll = INFINITY;
    std::vector<Case> all = {
        {"tanh", [](const Expr &x) { return tanh(x); }, [](double x) { return std::tanh(x); }, 1.4, 1.4, -kAll, kAll},
        {"sin", [](const Expr &x) { return sin(x); }, [](double x) { return std::sin(x); }, 1.6, 1.6, -kAll, kAll},
        {"cos", [](const Expr &x) { return cos(x); }, [](double x) { return std::cos(x); }, 1.6, 1.6, -kAll, kAll},
        {"exp", [](const Expr &x) { return exp(x); }, [](double x) { return std::exp(x); }, 5.5, 0.6, -86.98f, kAll},
        {"log", [](const Expr &x) { return log(x); }, [](double x) { return std::log(x); }, 1.6, 1.6, -kAll, kAll},
        {"erf", [](const Expr &x) { return by_name("erff", x); }, [](double x) { return std::erf(x); }, 6.5, 6.5, -kAll, kAll},
    };
    for (const float y : {0.5f, -0.5f, 3.0f, -3.0f, 1.0001f, -7.25f, 37.3f, 1e-3f, 33554432.0f, 0.0f}) {
        // Not pow(x, 3): Halide makes products of a constant whole exponent.
        const auto power = [y](const Expr &x) { return Internal::Call::make(Float(32), "powf", {x, y}, Internal::Call::PureExtern); };
        all.push_back({"pow " + std::to_string(y), power, [y](double x) { return double(std::pow((long double)x, (long double)y)); }, 0.6,
                       0.6, -kAll, kAll});
    }
    return all;
}

std::vector<float> computed(const Function &function, const std::vector<float> &x, const Target &target) {
    Buffer<float> in(const_cast<float *>(x.data()), int(x.size()));
    Func f("f");
    Var i("i");
    f(i) = function(in(i));
    f.vectorize(i, target.natural_vector_size<float>(), TailStrategy::GuardWithIf);
    Pipeline p(f);
    p.add_custom_lowering_pass(halyard::compute_math_in_vectors(target).release());
    std::vector<float> y(x.size());
    Buffer<float> out(y.data(), int(y.size()));
    p.realize(out, target);
    return y;
}

double last_places(float got, double exact) {
    int exponent = 0;
    std::frexp(exact, &exponent);
    return std::fabs(got - exact) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

// The numbers next to multiples of pi/2, where sin and cos are small.
std::vector<float> next_to_quarters() {
    std::vector<float> all;
    for (double n = 1; n < 83000; n = n < 400 ? n + 1 : n * 1.003) {
        const float x = float(std::floor(n) * M_PI / 2);
        for (const float v : {std::nextafter(x, 0.0f), x, std::nextafter(x, INFINITY)}) {
            all.insert(all.end(), {v, -v});
        }
    }
    return all;
}

// What Halide hands to the pass, and what it makes of it.
class Seen : public Internal::IRMutator {
public:
    Seen(std::unique_ptr<Internal::IRMutator> pass, std::string &text) : pass_(std::move(pass)), text_(text) {}

    using IRMutator::mutate;
    Internal::Stmt mutate(const Internal::Stmt &s) override {
        const Internal::Stmt after = pass_->mutate(s);
        std::ostringstream out;
        out << "# Before\n\n" << s << "\n# After\n\n" << after;
        text_ = std::regex_replace(out.str(), std::regex("\\$[0-9]+"), "");
        return after;
    }

private:
    std::unique_ptr<Internal::IRMutator> pass_;
    std::string &text_;
};

std::string compiled(const Function &function, const Type &type, bool pass, std::string *picture = nullptr) {
    const Target target("x86-64-linux-sse41-avx-avx2-fma-f16c-no_asserts-no_bounds_query-no_runtime");
    ImageParam x(type, 1, "x");
    Func y("y");
    Var i("i");
    y(i) = function(x(i));
    y.vectorize(i, 8, TailStrategy::RoundUp);
    Pipeline p(y);
    std::string text;
    if (pass) {
        p.add_custom_lowering_pass(new Seen(halyard::compute_math_in_vectors(target), picture ? *picture : text));
    }
    const TempDir folder;
    p.compile_to_assembly(folder.path() + "/y.s", {x}, "y", target);
    return read_file(folder.path() + "/y.s");
}

}  // namespace

TEST_CASE("vector math: what the pass does", "[vector_math]") {
    std::string picture;
    compiled([](const Expr &x) { return sin(x); }, Float(32), true, &picture);
    const std::string file = HALYARD_SOURCE "/tests/lowering/passes/vector_math.txt";
    if (std::getenv("HALYARD_UPDATE_GOLDEN")) {
        std::ofstream(file) << picture;
    }
    INFO("tests/lowering/passes/vector_math.txt; if the change is meant: HALYARD_UPDATE_GOLDEN=1 lowering_test \"[vector_math]\"");
    CHECK(picture == read_file(file));
}

TEST_CASE("vector math: no call of libm is left, but for angles that are large", "[vector_math]") {
    const auto calls = [](const std::string &assembly, const std::string &name) {
        return std::regex_search(assembly, std::regex("\\b" + name + "\\b"));
    };
    for (const Type &type : {Float(32), Float(16)}) {
        INFO(type);
        const auto hyperbolic = [](const Expr &x) { return tanh(x); };
        CHECK(calls(compiled(hyperbolic, type, false), "tanhf"));
        CHECK_FALSE(calls(compiled(hyperbolic, type, true), "tanhf"));
    }
    const auto sine = [](const Expr &x) { return sin(x); };
    const std::string before = compiled(sine, Float(32), false), after = compiled(sine, Float(32), true);
    CHECK(calls(before, "sinf"));
    CHECK(calls(after, "sinf"));
    CHECK(calls(after, "vcvttpd2dq"));
    CHECK_FALSE(calls(before, "vcvttpd2dq"));
    // f64 is libm's.
    CHECK(calls(compiled([](const Expr &x) { return tanh(x); }, Float(64), true), "tanh"));
}

TEST_CASE("vector math: errors, infinities, NaN and the sign of 0", "[vector_math]") {
    std::vector<float> x = math_test::samples(16411, next_to_quarters());
    for (const float edge : {0.0f, 1e-4f, 0.625f, 1.0f, 131072.0f, 86.98f, 88.72f, 1e-38f, 1e-45f, 16777216.0f}) {
        for (const float v : {edge, std::nextafter(edge, INFINITY), std::nextafter(edge, -INFINITY)}) {
            x.insert(x.end(), {v, -v});
        }
    }
    for (const Target &target : math_test::targets()) {
        for (const Case &c : cases()) {
            INFO(target.to_string() << " " << c.name);
            const double bound = target.has_feature(Target::FMA) ? c.with_fma : c.without_fma;
            const std::vector<float> y = computed(c.function, x, target);
            double worst = 0;
            float at = 0;
            size_t wrong = 0;
            for (size_t i = 0; i < x.size(); i++) {
                const double exact = c.exact(x[i]);
                const bool special = std::isnan(exact) || std::isinf(float(exact)) || exact == 0;
                if (std::isnan(exact) || special) {
                    const bool right =
                        std::isnan(exact) ? std::isnan(y[i]) : y[i] == float(exact) && std::signbit(y[i]) == std::signbit(exact);
                    if (!right && wrong++ == 0) {
                        UNSCOPED_INFO("f(" << x[i] << ") is " << y[i] << " and not " << exact);
                    }
                } else if (x[i] < c.from) {
                    wrong += !(std::fabs(y[i] - exact) < 1.8e-38);
                } else if (!(last_places(y[i], exact) <= worst)) {
                    worst = last_places(y[i], exact);
                    at = x[i];
                }
            }
            INFO("at " << at);
            CHECK(wrong == 0);
            CHECK(worst < bound);
            CHECK((worst > 0.5 * bound || c.exact(2) == 1));  // the bound is not a wide one
        }
    }
}

TEST_CASE("vector math: an element is the same in a vector and by itself", "[vector_math]") {
    const Target target = math_test::targets().back();
    const std::vector<float> x = {0.3f, -2.5f, 1e-3f, 17.0f, 3.0f, 0.7f, 99.0f, 1e5f, 0.1f, 0.2f, 0.4f, 5.0f, 6.0f, 7.0f, 8.0f, 9.0f};
    for (const Case &c : cases()) {
        INFO(c.name);
        const std::vector<float> together = computed(c.function, x, target);
        for (size_t i = 0; i < x.size(); i++) {
            const float alone = computed(c.function, {x[i]}, target)[0];
            CHECK((alone == together[i] || std::isnan(alone)));
            if (i == 3) {
                break;  // each is a compilation
            }
        }
    }
}
