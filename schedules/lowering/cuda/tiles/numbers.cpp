#include <algorithm>
#include <set>

#include "lowering/cuda/tiles/block_program.h"
#include "lowering/cuda/tiles/expressions.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class TakeNumbers : public IRMutator {
public:
    explicit TakeNumbers(const BlockProgram &program) : program_(program) {
        for (const TileNode *n : program.nodes()) {
            if (n->kind == TileNode::kLoop) {
                inner_.insert(n->loop);
            }
            for (const auto &a : n->nest.assignments) {
                stored_.insert(a.stored);
            }
        }
    }

    // What stands under a condition in a loop is not loaded before the loop.
    void take(TileBody &body, std::vector<NumberOfTile> &numbers, const Expr &needed, bool in_loop) {
        const size_t scopes = known_.size();
        for (auto &n : body) {
            numbers_ = &numbers;
            needed_ = needed;
            if (n.kind == TileNode::kNest) {
                const Expr columns = n.nest.column_extent.defined() ? n.nest.column_extent > 0 : const_true();
                needed_ = mutate(simplify(needed && n.nest.row_extent > 0 && columns));
            }
            mutate_own_expressions(n, [&](const Expr &e) { return mutate(e); });
            if (n.kind == TileNode::kLoop) {
                take(*n.body, numbers, simplify(needed && n.extent > 0), true);
            } else if (n.kind == TileNode::kIf && !in_loop) {
                take(*n.body, n.numbers, const_true(), false);
            }
        }
        if (!in_loop) {
            known_.resize(scopes);
        }
    }

private:
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        const bool of_tile = op->type == Int(32) && !stored_.count(op->name) && !program_.held.count(op->name) &&
                             std::none_of(inner_.begin(), inner_.end(), [&](const std::string &v) { return expr_uses_var(op->index, v); });
        if (!of_tile) {
            return IRMutator::visit(op);
        }
        for (const auto &[name, load] : known_) {
            if (equal(load, op)) {
                return Variable::make(Int(32), name);
            }
        }
        const std::string name = unique_name(op->name + ".of_tile");
        numbers_->push_back({name, op, needed_});
        known_.emplace_back(name, op);
        return Variable::make(Int(32), name);
    }

    const BlockProgram &program_;
    std::set<std::string> inner_ = {kChainRow, kChainColumn, kChainElement, kChainHeldRow, kOperandDepth, kOperandOther}, stored_;
    std::vector<std::pair<std::string, Expr>> known_;  // in the bodies around
    std::vector<NumberOfTile> *numbers_ = nullptr;     // of the body where they are loaded
    Expr needed_;
};

}  // namespace

void load_numbers_once(BlockProgram &program) {
    TakeNumbers(program).take(program.body, program.numbers, const_true(), false);
}

}  // namespace halyard
