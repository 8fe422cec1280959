#include "lowering/cuda/tensor_cores/fused_parts.h"

#include <algorithm>
#include <utility>

#include "lowering/cuda/tensor_cores/coordinates.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class FindLoopOfBoth : public IRVisitor {
    using IRVisitor::visit;

    void visit(const For *op) override {
        if (!is_gpu(op->for_type) &&
            std::all_of(products.begin(), products.end(), [&](const TensorCores &p) { return has_product(op->body, p); })) {
            found = true;
        }
        IRVisitor::visit(op);
    }

    const std::vector<TensorCores> &products;

public:
    explicit FindLoopOfBoth(const std::vector<TensorCores> &products) : products(products) {}
    bool found = false;
};

class Reader {
public:
    Reader(const std::vector<TensorCores> &products, const Lets &host, const Strides &strides)
        : products_(products), strides_(strides),
          nests_(
              parts.held, [this](const Expr &e) { return inlined(e); }, [this](const std::string &message) { fail(message); }) {
        for (auto it = host.cbegin(); it != host.cend(); ++it) {
            lets_.push(it.name(), it.value());
            parts.lets.push(it.name(), it.value());
        }
    }

    FusedParts parts;

    void read(const Kernel &kernel) {
        kernel_ = &kernel;
        into_ = &parts.before;
        walk(kernel.body);
        if (!parts.first_asked || !parts.second_asked) {
            fail("is not one of two products in a loop over steps, the second with what was made of the first");
        }
    }

private:
    [[noreturn]] void fail(const std::string &message) const {
        products_.front().fail(message);
        throw CompileError(message);
    }

    void walk(const Stmt &s) {
        if (const auto *let = s.as<LetStmt>()) {
            if (note_block_name(let, parts.block_names)) {
                walk(let->body);
                return;
            }
            local_.emplace_back(let->name, let->value);
            ScopedBinding<Expr> bind(lets_, let->name, let->value);
            walk(let->body);
            local_.pop_back();
        } else if (const auto *block = s.as<Block>()) {
            walk(block->first);
            walk(block->rest);
        } else if (const auto *pc = s.as<ProducerConsumer>()) {
            walk(pc->body);
        } else if (const auto *allocate = s.as<Allocate>()) {
            nests_.hold(allocate);
            walk(allocate->body);
        } else if (s.as<Free>() || s.as<Evaluate>()) {
            return;
        } else if (const auto *promise = s.as<AssertStmt>()) {
            parts.promises.push_back(inlined(promise->condition));
        } else if (const auto *branch = s.as<IfThenElse>(); branch && !branch->else_case.defined()) {
            if (in_steps()) {
                leave_out_steps(branch);
                return;
            }
            // Of the tile: where it does not hold, nothing is stored.
            conditions_++;
            walk(branch->then_case);
            conditions_--;
        } else if (const auto *loop = s.as<For>()) {
            visit_loop(loop);
        } else {
            fail("stands in one kernel with something else than loops over its tile");
        }
    }

    void visit_loop(const For *loop) {
        const auto in_it = [&](const TensorCores &p) { return has_product(Stmt(loop), p); };
        const auto count = std::count_if(products_.begin(), products_.end(), in_it);
        if (count == 2) {
            if (!parts.step.empty()) {
                fail("has two loops over steps");
            }
            parts.step = loop->name;
            parts.first_step = inlined(loop->min);
            parts.steps = inlined(loop->extent);
            for (const auto &h : parts.held) {
                carried_.insert(h.first);
            }
            lets_around_steps_ = local_.size();
            into_ = &parts.between;
            walk(loop->body);
            if (counts_.defined()) {
                end_steps_early();
            }
            into_ = &parts.after;
        } else if (count == 1) {
            read_product_of(*std::find_if(products_.begin(), products_.end(), in_it), loop);
        } else {
            into_->push_back(nests_.read(loop, conditions_ > 0));
            if (into_->back().column_extent.defined() && !as_const_int(into_->back().column_extent)) {
                fail("stands in one kernel with the store of a tile whose number of columns is not known when it is compiled; bound it");
            }
            note_stored(into_->back());
        }
    }

    // ---- Conditions in steps ----

    bool in_steps() const {
        return into_ == &parts.between || into_ == &parts.behind;
    }

    // Halide makes the loop's extent of an RDom's `where`, and where it can't tell that this is all (as with a length that is
    // loaded) leaves the condition in the loop as well, around each stage. The steps that do not count are the last ones.
    void leave_out_steps(const IfThenElse *branch) {
        const Expr counts = inlined(branch->condition, lets_around_steps_);
        if (counts_.defined() && !equal(counts_, counts)) {
            fail("has several conditions in its steps, which should be one");
        }
        counts_ = counts;
        conditions_++;
        walk(branch->then_case);
        conditions_--;
    }

    void end_steps_early() {
        const auto solved = solve_expression(counts_, parts.step);
        const Expr result = substitute_in_all_lets(solved.result);
        const auto *le = result.as<LE>();
        const auto *step = le ? le->a.as<Variable>() : nullptr;
        if (!solved.fully_solved || !step || step->name != parts.step || expr_uses_var(le->b, parts.step)) {
            fail("has a condition in its steps that does not say which is the last one");
        }
        if (carries_always_) {
            fail("has a condition in its steps that is not around all that goes on from step to step");
        }
        parts.steps = simplify(min(parts.steps, inlined(le->b) + 1 - parts.first_step));
    }

    void note_stored(const FusedNest &nest) {
        for (const auto &a : nest.assignments) {
            if (nests_.holds(a.stored)) {
                stored_in_step(a.stored);
            }
        }
    }

    void stored_in_step(const std::string &name) {
        carries_always_ = carries_always_ || (in_steps() && conditions_ == 0 && carried_.count(name));
    }

    // With the kernel's lets but for the first `outer`.
    Expr inlined(Expr e, size_t outer = 0) const {
        for (size_t i = local_.size(); i > outer; i--) {
            e = substitute(local_[i - 1].first, local_[i - 1].second, e);
        }
        return simplify(substitute_in_all_lets(e));
    }

    // ---- Products ----

    void read_product_of(const TensorCores &p, const For *loop) {
        const Stmt nest = loop;
        IndexVariables variables = {loops_of(nest), extents_of_launch(*kernel_, parts.block_names, strides_)};
        if (is_const_zero(simplify(parts.first_step))) {
            variables.extents[parts.step] = strides_.expanded(parts.steps);
        }
        const auto coordinates_of = [&](const Expr &index, const std::string &buffer) {
            return nests_.holds(buffer) ? held_coordinates(index) : tensor_coordinates(index, buffer, strides_, variables);
        };
        TileOfProduct tile = read_product(nest, lets_, coordinates_of, p.fail);
        if (tile.row_loops.size() != 1 || tile.row_strides[0] != tile.columns) {
            p.fail("has rows of several loops, or gaps between them, and stands in one kernel with another product");
        }
        if (!parts.first_asked) {
            parts.first_asked = &p;
            parts.rows = tile.rows;
            nests_.set_rows(tile.rows);
        } else {
            parts.second_asked = &p;
            if (tile.rows != parts.rows || !nests_.holds(tile.a.buffer)) {
                p.fail("does not multiply what was made of the product before it, row by row");
            }
            into_ = &parts.behind;
        }
        for (Operand *o : {&tile.a, &tile.b}) {
            for (auto &c : o->origin) {
                c = simplify(substitute_in_all_lets(c));
            }
            if (o->counts.defined()) {
                o->counts = simplify(substitute_in_all_lets(o->counts));
            }
        }
        (into_ == &parts.behind ? parts.second : parts.first) = tile;
        nests_.know(tile.accumulator, tile.columns);
        stored_in_step(tile.accumulator);
        if (nests_.holds(tile.a.buffer)) {
            nests_.know(tile.a.buffer, tile.depth);
        }
    }

    const std::vector<TensorCores> &products_;
    const Strides &strides_;
    const Kernel *kernel_ = nullptr;
    Lets lets_;
    std::vector<std::pair<std::string, Expr>> local_;
    NestReader nests_;
    std::vector<FusedNest> *into_ = nullptr;
    int conditions_ = 0;  // around what is read now
    size_t lets_around_steps_ = 0;
    std::set<std::string> carried_;  // from step to step
    Expr counts_;                    // whether a step does
    bool carries_always_ = false;    // whether something is carried on from steps that do not count
};

}  // namespace

bool has_fused_products(const Kernel &kernel, const std::vector<TensorCores> &products) {
    if (products.size() != 2) {
        return false;
    }
    FindLoopOfBoth find(products);
    kernel.body.accept(&find);
    return find.found;
}

FusedParts read_fused(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides) {
    Reader reader(products, host, strides);
    reader.read(kernel);
    return std::move(reader.parts);
}

bool is_skinny(const FusedParts &parts) {
    return parts.rows == 16;
}

bool varies_in_row(const Expr &e) {
    return expr_uses_var(e, kChainColumn) || expr_uses_var(e, kChainElement);
}

std::set<std::string> held_in(const Expr &e) {
    class Loads : public IRGraphVisitor {
        using IRGraphVisitor::visit;
        void visit(const Load *op) override {
            const auto *v = op->index.as<Variable>();
            if (v && (v->name == kChainElement || v->name == kChainHeldRow)) {
                names.insert(op->name);
            }
            IRGraphVisitor::visit(op);
        }

    public:
        std::set<std::string> names;
    };
    Loads loads;
    e.accept(&loads);
    return loads.names;
}

}  // namespace halyard
