#include "lowering/cuda/tensor_cores/tile_parts.h"

#include "lowering/accesses.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool begins_with(const std::string &s, const std::string &start) {
    return s.compare(0, start.size(), start) == 0;
}

class FindLoop : public IRVisitor {
    using IRVisitor::visit;

    void visit(const For *op) override {
        found = found || begins_with(op->name, prefix);
        IRVisitor::visit(op);
    }

    const std::string prefix;

public:
    explicit FindLoop(std::string prefix) : prefix(std::move(prefix)) {}
    bool found = false;
};

// Of two sides the simplifier does not see that they have terms in common, but it sees what their difference is.
bool proved(const Expr &e) {
    if (const auto *both = e.as<And>()) {
        return proved(both->a) && proved(both->b);
    }
    const auto *le = e.as<LE>();
    if (const auto *least = le ? le->a.as<Min>() : nullptr) {
        if (proved(least->a <= le->b) || proved(least->b <= le->b)) {
            return true;
        }
    }
    return can_prove(e) || can_prove(le ? simplify(le->a - le->b) <= 0 : e);
}

class SplitIntoParts {
public:
    SplitIntoParts(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host) : products_(products) {
        for (auto it = host.cbegin(); it != host.cend(); ++it) {
            lets_.push(it.name(), it.value());
        }
        walk(kernel.body);
        for (const auto &p : products_) {
            if (std::none_of(parts.products.begin(), parts.products.end(), [&](const ProductPart &q) { return q.asked == &p; })) {
                p.fail("is not in a loop over steps: split the loop over k, and put the inner one inside of the tile");
            }
        }
    }

    Parts parts;

private:
    Stmt inlined(Stmt s) const {
        for (auto it = local_.rbegin(); it != local_.rend(); ++it) {
            s = substitute(it->first, it->second, s);
        }
        return s;
    }

    Expr inlined(const Expr &e) const {
        const Stmt s = inlined(Stmt(Evaluate::make(e)));
        return simplify(s.as<Evaluate>()->value);
    }

    // A check that holds always, as that a tile has the extent that it is bound to.
    bool holds(const Stmt &s) const {
        const auto *check = s.as<AssertStmt>();
        if (!check) {
            return false;
        }
        return proved(substitute_in_all_lets(inlined(check->condition)));
    }

    const TensorCores *product_in(const Stmt &s) const {
        for (const auto &p : products_) {
            if (has_product(s, p)) {
                return &p;
            }
        }
        return nullptr;
    }

    void walk(const Stmt &s) {
        if (const auto *let = s.as<LetStmt>()) {
            if (note_block_name(let, parts.block_names)) {
                walk(let->body);
                return;
            }
            ScopedBinding<Expr> bind(lets_, let->name, let->value);
            local_.emplace_back(let->name, let->value);
            walk(let->body);
            local_.pop_back();
        } else if (const auto *block = s.as<Block>()) {
            walk(block->first);
            walk(block->rest);
        } else if (const auto *pc = s.as<ProducerConsumer>()) {
            walk(pc->body);
        } else if (const auto *allocate = s.as<Allocate>()) {
            parts.allocated[allocate->name] = allocate->type.element_of();
            walk(allocate->body);
        } else if (const auto *branch = s.as<IfThenElse>(); branch && !branch->else_case.defined()) {
            // Of two Funcs that share blocks, each has those that are its own.
            const Expr outer = own_;
            own_ = simplify(own_ && branch->condition);
            walk(branch->then_case);
            own_ = outer;
        } else if (s.as<Free>() || holds(s) || s.as<Evaluate>()) {
            return;
        } else if (const auto *product = s.as<For>() ? product_in(s) : nullptr) {
            const Stmt whole = inlined(s);
            const auto *steps = whole.as<For>();
            ProductPart part;
            part.asked = product;
            part.step = steps->name;
            part.min = steps->min;
            part.extent = steps->extent;
            part.counts = inlined(own_);
            find_nest(part, s.as<For>()->body);
            parts.products.push_back(part);
        } else {
            parts.nests.push_back(inlined(of_own_blocks(s)));
        }
    }

    // In other blocks the loops of a nest that stores outside have no turns. What stays in the block is asked for only if it changes
    // what was there, as a reduction does.
    Stmt of_own_blocks(const Stmt &nest) const {
        const auto *loop = nest.as<For>();
        if (!loop || is_const_one(own_)) {
            return nest;
        }
        if (!stores_outside(nest)) {
            return changes(nest) ? IfThenElse::make(own_, nest) : nest;
        }
        return For::make(loop->name, loop->min, select(own_, loop->extent, 0), loop->for_type, loop->partition_policy, loop->device_api,
                         loop->body);
    }

    bool stores_outside(const Stmt &nest) const {
        class FindStores : public IRVisitor {
            using IRVisitor::visit;
            void visit(const Store *op) override {
                outside = outside || !allocated.count(op->name);
            }
            const std::map<std::string, Type> &allocated;

        public:
            explicit FindStores(const std::map<std::string, Type> &allocated) : allocated(allocated) {}
            bool outside = false;
        } find(parts.allocated);
        nest.accept(&find);
        return find.outside;
    }

    static bool changes(const Stmt &nest) {
        const Accesses all = accesses_of(nest);
        return meet(all.stored, all.loaded);
    }

    void find_nest(ProductPart &part, const Stmt &s) {
        if (const auto *let = s.as<LetStmt>()) {
            ScopedBinding<Expr> bind(lets_, let->name, let->value);
            find_nest(part, let->body);
        } else if (const auto *pc = s.as<ProducerConsumer>()) {
            find_nest(part, pc->body);
        } else if (s.as<For>()) {
            part.nest = s;
            for (auto it = lets_.cbegin(); it != lets_.cend(); ++it) {
                part.lets->push(it.name(), it.value());
            }
        } else {
            part.asked->fail("is not all that its loop over steps has; compute elsewhere what stands beside it");
        }
    }

    const std::vector<TensorCores> &products_;
    Lets lets_;
    Expr own_ = const_true();  // whether what is walked is done in this block
    std::vector<std::pair<std::string, Expr>> local_;
};

}  // namespace

bool has_product(const Stmt &part, const TensorCores &product) {
    FindLoop find(product.func + ".s" + std::to_string(product.stage) + ".");
    part.accept(&find);
    return find.found;
}

bool note_block_name(const LetStmt *let, std::array<std::string, 3> &names) {
    const auto *v = let->value.as<Variable>();
    if (!v || !begins_with(v->name, "blockIdx.")) {
        return false;
    }
    names[size_t(gpu_dimension(let->name))] = let->name;
    return true;
}

Parts split_into_parts(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host) {
    return SplitIntoParts(kernel, products, host).parts;
}

}  // namespace halyard
