#ifndef HALYARD_MATH_EPILOGUE_H
#define HALYARD_MATH_EPILOGUE_H

/** \file
 * What follows a product: a chain of steps, in the order that a generator parameter names.
 */

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** A step by its name, and what it makes of a value. One that a build does not have returns what it gets. */
using Step = std::function<Halide::Expr(const Halide::Expr &)>;
using Steps = std::map<std::string, Step>;

/** The names in "a,b,c". */
inline std::vector<std::string> split_names(const std::string &list) {
    std::vector<std::string> names(1);
    for (char c : list) {
        if (c == ',') {
            names.emplace_back();
        } else {
            names.back() += c;
        }
    }
    return names;
}

/** v after the steps in the order `order` names them, as "bias,activation": each of them once. */
inline Halide::Expr in_order(const std::string &order, Halide::Expr v, const Steps &steps) {
    std::string all;
    for (const auto &step : steps) {
        all += (all.empty() ? "" : ", ") + step.first;
    }
    Steps left = steps;
    for (const std::string &name : split_names(order)) {
        const auto step = left.find(name);
        if (step == left.end()) {
            throw Halide::CompileError("order=" + order + ": " +
                                       (steps.count(name) ? name + " stands there twice" : "\"" + name + "\" is no step") +
                                       "; it has to name each of " + all + " once, with commas between them");
        }
        v = step->second(v);
        left.erase(step);
    }
    if (!left.empty()) {
        throw Halide::CompileError("order=" + order + ": " + left.begin()->first + " is missing; it has to name each of " + all +
                                   " once, with commas between them, whether a build has it or not");
    }
    return v;
}

}  // namespace halyard

#endif
