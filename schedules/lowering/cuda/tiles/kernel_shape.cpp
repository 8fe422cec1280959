#include "lowering/cuda/tiles/kernel_shape.h"

#include <algorithm>
#include <map>

#include "lowering/accesses.h"
#include "lowering/contraction.h"
#include "lowering/cuda/tensor_cores/tensor_number.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

std::string stage_of(const TensorCores &p) {
    return p.func + ".s" + std::to_string(p.stage) + ".";
}

bool is_of(const std::string &loop, const TensorCores &p) {
    const std::string stage = stage_of(p);
    return loop.compare(0, stage.size(), stage) == 0;
}

// The store in loops with nothing else in them but conditions, with the lets between put in; undefined: there is more.
Stmt only_store(Stmt s, std::vector<std::pair<std::string, Expr>> &loops, bool &conditional) {
    std::vector<std::pair<std::string, Expr>> inner;
    for (;;) {
        if (const auto *let = s.as<LetStmt>()) {
            inner.emplace_back(let->name, let->value);
            s = let->body;
        } else if (const auto *l = s.as<For>()) {
            Expr extent = l->extent;
            for (auto it = inner.rbegin(); it != inner.rend(); ++it) {
                extent = substitute(it->first, it->second, extent);
            }
            loops.emplace_back(l->name, simplify(extent));
            s = l->body;
        } else if (const auto *branch = s.as<IfThenElse>(); branch && !branch->else_case.defined()) {
            conditional = true;
            s = branch->then_case;
        } else {
            break;
        }
    }
    for (auto it = inner.rbegin(); it != inner.rend() && s.as<Store>(); ++it) {
        s = substitute(it->first, it->second, s);
    }
    return s.as<Store>() ? s : Stmt();
}

class FindShape : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Allocate *op) override {
        shape.allocated.insert(op->name);
        IRVisitor::visit(op);
    }

    void visit(const For *op) override {
        const auto product = std::find_if(asked.begin(), asked.end(), [&](const TensorCores &p) { return has_product(Stmt(op), p); });
        Stmt store;
        bool conditional = false;
        const bool outer = in_product;
        in_product = in_product || (product != asked.end() && is_of(op->name, *product));
        const bool tile = product != asked.end() && is_tile_of_product(op, &store, &conditional) && !in_tile;
        if (tile) {
            shape.products.push_back({&*product, around, store, conditional});
        }
        const bool steps = product != asked.end() && !is_gpu(op->for_type) && !tile && !in_tile;
        if (steps) {
            around.push_back(op->name);
        }
        in_tile = in_tile || tile;
        IRVisitor::visit(op);
        in_tile = in_tile && !tile;
        if (steps) {
            around.pop_back();
        }
        in_product = outer;
    }

    void visit(const Store *op) override {
        const Accesses read = accesses_of(op->value);
        stores[op->name].insert(read.loaded.begin(), read.loaded.end());
        if (in_product && read.loaded.count(op->name)) {
            multiplied.insert(read.loaded.begin(), read.loaded.end());
            sums.insert(op->name);
        }
        IRVisitor::visit(op);
    }

    const std::vector<TensorCores> &asked;
    bool in_product = false, in_tile = false;
    std::vector<std::string> around;
    std::set<std::string> multiplied, sums;
    std::map<std::string, std::set<std::string>> stores;  // and what is read for them

public:
    explicit FindShape(const std::vector<TensorCores> &asked) : asked(asked) {}

    KernelShape shape;

    // Arrays that are computed of device memory, and of others that are.
    void find_staged() {
        std::set<std::string> computed;
        for (size_t before = 0, first = true; first || before != computed.size(); first = false) {
            before = computed.size();
            for (const auto &[name, read] : stores) {
                const bool all = std::all_of(read.begin(), read.end(),
                                             [&](const std::string &n) { return !shape.allocated.count(n) || computed.count(n); });
                if (all && shape.allocated.count(name) && !sums.count(name)) {
                    computed.insert(name);
                }
            }
        }
        std::vector<std::string> found(multiplied.begin(), multiplied.end());
        while (!found.empty()) {
            const std::string name = found.back();
            found.pop_back();
            if (computed.count(name) && shape.staged.insert(name).second) {
                found.insert(found.end(), stores[name].begin(), stores[name].end());
            }
        }
    }
};

// Whether where it lies is itself loaded.
bool is_indexed(const Expr &factor) {
    class FindIndex : public IRVisitor {
        using IRVisitor::visit;
        void visit(const Load *op) override {
            found = found || !accesses_of(op->index).loaded.empty();
        }

    public:
        bool found = false;
    } find;
    factor.accept(&find);
    return find.found;
}

bool is_computed(const Expr &factor) {
    const auto *wide = factor.as<Cast>();
    return wide && wide->type == Float(32) && !wide->value.as<Load>() && !wide->value.as<Select>();
}

}  // namespace

bool is_tile_of_product(const For *loop, Stmt *found, bool *conditional) {
    using Loop = std::pair<std::string, Expr>;  // its name and extent
    std::vector<Loop> loops;
    bool under_condition = false;
    const Stmt store = only_store(loop, loops, under_condition);
    const auto moves = [&](const Loop &l) { return store.defined() && expr_uses_var(store.as<Store>()->index, l.first); };
    if (found) {
        const auto ends = [&](const Loop &l) { return moves(l) && !is_const(l.second) && !l.second.as<Variable>(); };
        *found = store;
        *conditional = under_condition || std::any_of(loops.begin(), loops.end(), ends);
    }
    return store.defined() && std::count_if(loops.begin(), loops.end(), [&](const Loop &l) { return !moves(l); }) == 1;
}

KernelShape shape_of(const Kernel &kernel, const std::vector<TensorCores> &products) {
    FindShape find(products);
    kernel.body.accept(&find);
    find.find_staged();
    return find.shape;
}

bool KernelShape::is_block_program() const {
    if (!staged.empty()) {
        return true;
    }
    std::set<std::string> sums;
    std::set<std::vector<std::string>> loops;
    bool held = false, own_steps = true;
    for (const auto &p : products) {
        const auto *store = p.store.as<Store>();
        const auto update = contraction(store->value, [&](const Expr &sum) {
            const auto *load = sum.as<Load>();
            return load && load->name == store->name;
        });
        const auto factors = update ? factors_of_product(update->a, update->b, update->times) : std::nullopt;
        const auto is_special = [](const Expr &factor) { return is_computed(factor) || is_indexed(factor); };
        if (p.conditional || p.around.size() > 1 || !sums.insert(store->name).second ||
            (factors && (is_special(factors->first.element) || is_special(factors->second.element)))) {
            return true;
        }
        loops.insert(p.around);
        own_steps = own_steps && !p.around.empty() && is_of(p.around.back(), *p.asked);
        std::set<std::string> read = accesses_of(store->value).loaded;
        read.erase(store->name);
        held = held || meet(read, allocated);
    }
    const bool pair = products.size() == 2 && held && loops.size() == 1;
    return (loops.size() < products.size() || !own_steps) && !pair;
}

}  // namespace halyard
