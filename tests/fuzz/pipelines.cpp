#include "pipelines.h"

#include <stdexcept>

namespace fuzz {

using namespace Halide;

namespace {

Var col("col"), row("row"), i("i");

// A chain of stages of which each reads neighbours of the one before.
Pipeline stencil(ImageParam x, ImageParam, Expr scale) {
    Func in("in_range"), across("across"), down("down"), y("y");
    in(col, row) = x(clamp(col, 0, x.width() - 1), clamp(row, 0, x.height() - 1));
    across(col, row) = in(col - 1, row) + 2 * in(col, row) + in(col + 1, row);
    down(col, row) = across(col, row - 1) + 2 * across(col, row) + across(col, row + 1);
    y(col, row) = down(col, row) * scale + in(col, row);
    return Pipeline(y);
}

// Reductions of rows, one with two updates.
Pipeline reductions(ImageParam x, ImageParam, Expr scale) {
    Func f("f"), sum("sum"), most("most"), g("g"), y("y");
    RDom r(0, x.width(), "r"), box(0, 2, 0, x.height(), "box");
    f(col, row) = x(col, row) * x(col, row) % 101 + 1;
    sum(row) = scale;
    sum(row) += f(r, row);
    sum(row) += x(0, box.y) * box.x;
    most(row) = -1;
    most(row) = max(most(row), f(r, row));
    g(col, row) = f(col, row) * most(row);
    y(col, row) = g(col, row) + sum(row);
    return Pipeline(y);
}

// The greatest of a row and where it is.
Pipeline tuple(ImageParam x, ImageParam, Expr scale) {
    Func f("f"), best("best"), y("y");
    RDom r(0, x.width(), "r");
    f(col, row) = Tuple(x(col, row) * scale, col);
    best(row) = Tuple(-1000000, 0);
    best(row) = Tuple(max(best(row)[0], f(r, row)[0]),
                      select(f(r, row)[0] > best(row)[0], f(r, row)[1], best(row)[1]));
    y(col, row) = Tuple(best(row)[0] - f(col, row)[0], best(row)[1]);
    return Pipeline(y);
}

// A scatter, and a scan of what it gives.
Pipeline histogram(ImageParam x, ImageParam, Expr scale) {
    Func hist("hist"), below("below"), y("y");
    RDom box(0, x.width(), 0, x.height(), "box"), r(1, 15, "r");
    hist(i) = 0;
    hist(clamp(x(box.x, box.y), 0, 15)) += scale;
    below(i) = hist(i);
    below(r) += below(r - 1);
    y(col, row) = below(clamp(x(col, row), 0, 15));
    return Pipeline(y);
}

// A product of matrices with something in front of it and something behind.
Pipeline product(ImageParam x, ImageParam w, Expr scale) {
    Func a("a"), acc("acc"), y("y");
    RDom k(0, x.width(), "k");
    a(col, row) = cast<float>(x(col, row) * scale);
    acc(col, row) = 0.0f;
    acc(col, row) += a(k, row) * cast<float>(w(col, k));
    y(col, row) = cast<int>(max(acc(col, row), 0.0f)) + x(col, row);
    return Pipeline(y);
}

// Two outputs, of which one is read by the other.
Pipeline outputs(ImageParam x, ImageParam, Expr scale) {
    Func f("f"), sum("sum"), y("y"), z("z");
    RDom r(0, x.width(), "r");
    f(col, row) = x(col, row) + scale;
    sum(row) += f(r, row);
    y(col, row) = f(col, row) * 2;
    z(col, row) = y(col, row) + sum(row);
    return Pipeline({y, z});
}

struct Entry {
    const char *name;
    Pipeline (*make)(ImageParam, ImageParam, Expr);
    size_t outputs;
};

const Entry kEntries[] = {{"stencil", stencil, 1}, {"reductions", reductions, 1}, {"tuple", tuple, 2},
                          {"histogram", histogram, 1}, {"product", product, 1}, {"outputs", outputs, 2}};

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

Algorithm make_algorithm(const std::string &name) {
    for (const Entry &e : kEntries) {
        if (name == e.name) {
            Algorithm a;
            a.x = ImageParam(Int(32), 2, "x");
            a.w = ImageParam(Int(32), 2, "w");
            a.scale = Param<int>("scale");
            a.pipeline = e.make(a.x, a.w, a.scale);
            a.outputs = e.outputs;
            return a;
        }
    }
    throw std::invalid_argument("no algorithm \"" + name + "\"");
}

}  // namespace fuzz
