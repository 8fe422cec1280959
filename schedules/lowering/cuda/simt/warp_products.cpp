#include "lowering/cuda/simt/warp_products.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

const char *const kMultiplyInWarp = "halyard_multiply_in_warp";

namespace {

constexpr int kWarpAcross = 4, kWarpDown = 8;  // threads of a warp, by x and y

// A nest of four loops with constant extents around one store.
struct Nest {
    std::vector<const For *> loops;
    const Store *store = nullptr;
};

std::optional<Nest> nest_of(const For *loop, Lets &lets) {
    Nest nest;
    Stmt s = loop;
    while (!nest.store) {
        if (const auto *inner = s.as<For>()) {
            if (nest.loops.size() == 4 || !is_const_zero(inner->min) || !is_const(inner->extent)) {
                return std::nullopt;
            }
            nest.loops.push_back(inner);
            s = inner->body;
        } else if (const auto *let = s.as<LetStmt>()) {
            lets.push(let->name, let->value);
            s = let->body;
        } else if (const auto *store = s.as<Store>()) {
            nest.store = store;
        } else {
            return std::nullopt;
        }
    }
    return nest.loops.size() == 4 ? std::optional<Nest>(nest) : std::nullopt;
}

// The load of which e is the f32 of a 16-bit float.
const Load *narrow_load(const Expr &e) {
    const auto *cast = e.as<Cast>();
    const auto *load = cast && cast->type == Float(32) ? cast->value.as<Load>() : nullptr;
    return load && (load->type == Float(16) || load->type == BFloat(16)) ? load : nullptr;
}

Expr thread(int d) {
    return Variable::make(Int(32), kThreadNames[d]);
}

// An index without the loops and the threads by which it is an element's, which others take the place of.
class Place {
public:
    Place(const Expr &index, const Lets &lets) : at_(linear(expand(index, lets))) {}

    int64_t of(const For *loop) const {
        return at_.factor_of(loop->name);
    }
    int64_t of_thread(int d) const {
        return at_.factor_of(kThreadNames[d]);
    }

    Expr without(const std::vector<const For *> &loops, bool threads_too) const {
        Linear rest = at_;
        const auto goes = [&](const Linear::Term &t) {
            const auto *v = t.atom.as<Variable>();
            return v && ((threads_too && (v->name == kThreadNames[0] || v->name == kThreadNames[1])) ||
                         std::any_of(loops.begin(), loops.end(), [&](const For *l) { return l->name == v->name; }));
        };
        rest.terms.erase(std::remove_if(rest.terms.begin(), rest.terms.end(), goes), rest.terms.end());
        return rest.expr();
    }

private:
    Linear at_;
};

class FindWarpProducts : public IRGraphVisitor {
    using IRGraphVisitor::visit;
    void visit(const Call *op) override {
        found = found || op->name == kMultiplyInWarp;
        IRGraphVisitor::visit(op);
    }

public:
    bool found = false;
};

}  // namespace

bool has_warp_products(const Stmt &body) {
    FindWarpProducts find;
    body.accept(&find);
    return find.found;
}

Stmt warp_product(const For *loop, const Kernel &kernel, const RegisterArrays &arrays, const Lets &around) {
    Lets lets;
    lets.set_containing_scope(&around);
    const auto nest = nest_of(loop, lets);
    const auto *add = nest ? nest->store->value.as<Add>() : nullptr;
    const auto *sum = add ? add->a.as<Load>() : nullptr;
    const auto *product = add ? add->b.as<Mul>() : nullptr;
    const Load *w = product ? narrow_load(product->a) : nullptr, *a = product ? narrow_load(product->b) : nullptr;
    if (!sum || !w || !a || sum->name != nest->store->name || !equal(sum->index, nest->store->index) || w->type != a->type ||
        !arrays.count(w->name) || !arrays.count(a->name) || !arrays.count(sum->name)) {
        return Stmt();
    }
    const int threads = kernel.constant_threads(0) * kernel.constant_threads(1) * kernel.constant_threads(2);
    if (kernel.constant_threads(0) != kWarpAcross || kernel.constant_threads(1) != kWarpDown || threads == 0) {
        return Stmt();
    }
    const Place of_sum(sum->index, lets);
    Place of_w(w->index, lets), of_a(a->index, lets);
    const auto extent = [](const For *l) { return as_const_int(l->extent).value_or(0); };
    const auto find = [&](auto &&is) {
        const auto found = std::find_if(nest->loops.begin(), nest->loops.end(), is);
        return found == nest->loops.end() ? nullptr : *found;
    };
    const auto near = [&](const Place &one, const Place &other) {
        return find([&](const For *l) { return one.of(l) != 0 && other.of(l) == 0 && of_sum.of(l) != 0 && extent(l) == 2; });
    };
    const For *w_near = near(of_w, of_a);
    if (w_near && of_w.of_thread(0) != 0) {  // the factors stand the other way round
        std::swap(w, a);
        std::swap(of_w, of_a);
        w_near = near(of_w, of_a);
    }
    const auto &w_stride = arrays.at(w->name).stride, &a_stride = arrays.at(a->name).stride, &sum_stride = arrays.at(sum->name).stride;
    const For *a_near = near(of_a, of_w);
    const For *member = find([&](const For *l) { return of_w.of(l) == 1 && of_a.of(l) == 1 && of_sum.of(l) == 0 && extent(l) == 4; });
    const For *group = find([&](const For *l) {
        return l != member && of_w.of(l) == w_stride[0] && of_a.of(l) == a_stride[0] && of_sum.of(l) == 0 && extent(l) == kWarpAcross;
    });
    if (!w_near || !a_near || !member || !group || w_stride[0] == 0 || a_stride[0] == 0) {
        return Stmt();
    }
    const bool fits = of_w.of_thread(0) == 0 && of_w.of_thread(1) == w_stride[1] && of_w.of_thread(2) == w_stride[2] &&
                      of_a.of_thread(0) == 2 * a_stride[1] && of_a.of(a_near) == a_stride[1] && of_a.of_thread(1) == 0 &&
                      of_a.of_thread(2) == a_stride[2] && of_sum.of_thread(0) == sum_stride[0] && of_sum.of_thread(1) == sum_stride[1] &&
                      a_stride[1] != 0 && w_stride[1] != 0;
    if (!fits) {
        return Stmt();
    }

    const auto four = [&](const Load *l, const Expr &base) {
        return Load::make(l->type.with_lanes(4), l->name, Ramp::make(simplify(base), 1, 4), l->image, l->param, const_true(4),
                          ModulusRemainder());
    };
    const Expr w_base = of_w.without(nest->loops, false) + make_const(Int(32), w_stride[0]) * thread(0);
    const Expr a_base =
        of_a.without(nest->loops, true) + make_const(Int(32), a_stride[0]) * thread(0) + make_const(Int(32), a_stride[1]) * thread(1);
    const Expr sum_base = of_sum.without(nest->loops, false);
    std::vector<Expr> args = {four(w, w_base), four(w, w_base + make_const(Int(32), of_w.of(w_near))), four(a, a_base)}, places;
    for (int i = 0; i < 4; i++) {
        places.push_back(simplify(sum_base + make_const(Int(32), of_sum.of(a_near) * (i % 2) + of_sum.of(w_near) * (i / 2))));
        args.push_back(Load::make(sum->type, sum->name, places.back(), sum->image, sum->param, const_true(), ModulusRemainder()));
    }
    const std::string name = unique_name(sum->name + ".of_warp");
    const Expr sums = Variable::make(Float(32, 4), name);
    std::vector<Stmt> stores;
    for (int i = 0; i < 4; i++) {
        stores.push_back(Store::make(sum->name, Shuffle::make_extract_element(sums, i), places[size_t(i)], nest->store->param, const_true(),
                                     ModulusRemainder()));
    }
    return LetStmt::make(name, Call::make(Float(32, 4), kMultiplyInWarp, args, Call::Intrinsic), Block::make(stores));
}

}  // namespace halyard
