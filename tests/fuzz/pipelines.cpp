#include "pipelines.h"

#include <stdexcept>

namespace fuzz {

using namespace Halide;

namespace {

Var col("col"), row("row"), i("i");

// A chain of stages of which each reads neighbours of the one before.
std::vector<Func> stencil(const Inputs &in) {
    Func near("in_range"), across("across"), down("down"), y("y");
    near(col, row) = in.x(clamp(col, 0, in.cols - 1), clamp(row, 0, in.rows - 1));
    across(col, row) = near(col - 1, row) + 2 * near(col, row) + near(col + 1, row);
    down(col, row) = across(col, row - 1) + 2 * across(col, row) + across(col, row + 1);
    y(col, row) = down(col, row) * in.scale + near(col, row);
    return {y};
}

// Reductions of rows, one with two updates.
std::vector<Func> reductions(const Inputs &in) {
    Func f("f"), sum("sum"), most("most"), g("g"), y("y");
    RDom r(0, in.cols, "r"), box(0, 2, 0, in.rows, "box");
    f(col, row) = in.x(col, row) * in.x(col, row) % 101 + 1;
    sum(row) = in.scale;
    sum(row) += f(r, row);
    sum(row) += in.x(0, box.y) * box.x;
    most(row) = -1;
    most(row) = max(most(row), f(r, row));
    g(col, row) = f(col, row) * most(row);
    y(col, row) = g(col, row) + sum(row);
    return {y};
}

// The greatest of a row and where it is.
std::vector<Func> tuple(const Inputs &in) {
    Func f("f"), best("best"), y("y");
    RDom r(0, in.cols, "r");
    // No two are equal: of those, either would do.
    f(col, row) = Tuple(in.x(col, row) * in.scale * 128 - col, col);
    best(row) = Tuple(-1000000, 0);
    best(row) = Tuple(max(best(row)[0], f(r, row)[0]), select(f(r, row)[0] > best(row)[0], f(r, row)[1], best(row)[1]));
    y(col, row) = Tuple(best(row)[0] - f(col, row)[0], best(row)[1]);
    return {y};
}

// A scatter, and a scan of what it gives.
std::vector<Func> histogram(const Inputs &in) {
    Func hist("hist"), below("below"), y("y");
    RDom box(0, in.cols, 0, in.rows, "box"), r(1, 15, "r");
    hist(i) = 0;
    hist(clamp(in.x(box.x, box.y), 0, 15)) += in.scale;
    below(i) = hist(i);
    below(r) += below(r - 1);
    y(col, row) = below(clamp(in.x(col, row), 0, 15));
    return {y};
}

// A product of matrices with something in front of it and something behind.
std::vector<Func> product(const Inputs &in) {
    Func a("a"), acc("acc"), y("y");
    RDom k(0, in.cols, "k");
    a(col, row) = cast<float>(in.x(col, row) * in.scale);
    acc(col, row) = 0.0f;
    acc(col, row) += a(k, row) * cast<float>(in.w(col, k));
    y(col, row) = cast<int>(max(acc(col, row), 0.0f)) + in.x(col, row);
    return {y};
}

// Two outputs, of which one is read by the other.
std::vector<Func> outputs(const Inputs &in) {
    Func f("f"), sum("sum"), y("y"), z("z");
    RDom r(0, in.cols, "r");
    f(col, row) = in.x(col, row) + in.scale;
    sum(row) += f(r, row);
    y(col, row) = f(col, row) * 2;
    z(col, row) = y(col, row) + sum(row);
    return {y, z};
}

struct Entry {
    const char *name;
    std::vector<Func> (*make)(const Inputs &);
};

const Entry kEntries[] = {{"stencil", stencil},     {"reductions", reductions}, {"tuple", tuple},
                          {"histogram", histogram}, {"product", product},       {"outputs", outputs}};

}  // namespace

const std::vector<std::string> &algorithm_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> n;
        for (const Entry &e : kEntries) {
            n.emplace_back(e.name);
        }
        return n;
    }();
    return names;
}

std::vector<Func> define_algorithm(const std::string &name, const Inputs &inputs) {
    for (const Entry &e : kEntries) {
        if (name == e.name) {
            return e.make(inputs);
        }
    }
    throw std::invalid_argument("no algorithm \"" + name + "\"");
}

Algorithm make_algorithm(const std::string &name) {
    Algorithm a;
    a.x = ImageParam(Int(32), 2, "x");
    a.w = ImageParam(Int(32), 2, "w");
    a.scale = Param<int>("scale");
    a.pipeline = Pipeline(define_algorithm(name, {a.x, a.w, a.x.width(), a.x.height(), a.scale}));
    a.outputs = 0;
    for (const Func &f : a.pipeline.outputs()) {
        a.outputs += size_t(f.outputs());
    }
    return a;
}

}  // namespace fuzz
