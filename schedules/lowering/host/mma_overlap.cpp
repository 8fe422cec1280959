#include "lowering/host/mma_overlap.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lowering/accesses.h"
#include "lowering/extern_call.h"
#include "lowering/host/vector_operations.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// A pair is 16 cycles, and so are as many operations, those of a multiply-add being two.
constexpr int kOperationsAPair = 32, kMostPairs = 4;

// As many as a bias and a ReLU of two vectors and the conversion to bf16 are. Behind so few, products are quicker one after the other.
constexpr int kFewOperations = 16;

class HasLoop : public IRVisitor {
    using IRVisitor::visit;

    void visit(const For *) override {
        found = true;
    }

public:
    bool found = false;
};

// Takes out of the body of a loop what each of its turns loads alike.
class TakeLoads : public IRMutator {
public:
    TakeLoads(const For *loop) : stored_(accesses_of(loop->body).stored) {
        moving_.insert(loop->name);
    }

    std::vector<std::pair<std::string, Expr>> taken;

private:
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        const bool moves = stored_.count(op->name) || !is_const_one(op->predicate) || under_condition_;
        if (moves || uses_moving(op->index)) {
            return IRMutator::visit(op);
        }
        for (const auto &[name, value] : taken) {
            if (equal(value, op)) {
                return Variable::make(op->type, name);
            }
        }
        taken.emplace_back(unique_name("same"), op);
        return Variable::make(op->type, taken.back().first);
    }

    Stmt visit(const LetStmt *op) override {
        moving_.insert(op->name);
        return IRMutator::visit(op);
    }
    Expr visit(const Let *op) override {
        moving_.insert(op->name);
        return IRMutator::visit(op);
    }

    Stmt visit(const IfThenElse *op) override {
        const bool before = std::exchange(under_condition_, true);
        const Stmt s = IRMutator::visit(op);
        under_condition_ = before;
        return s;
    }

    bool uses_moving(const Expr &index) const {
        for (const auto &name : moving_) {
            if (expr_uses_var(index, name)) {
                return true;
            }
        }
        return false;
    }

    std::set<std::string> stored_, moving_;  // buffers; names that have another value in each turn
    bool under_condition_ = false;
};

class StepInLoops : public IRMutator {
public:
    StepInLoops(std::string ahead, std::string step) : ahead_(std::move(ahead)), step_(std::move(step)) {}

private:
    using IRMutator::visit;

    Stmt visit(const For *op) override {
        HasLoop within;
        op->body.accept(&within);
        if (within.found) {
            return IRMutator::visit(op);
        }
        TakeLoads take(op);
        const std::string name = unique_name("turns");
        const Expr turns = Variable::make(Int(32), name), turn = turns + Variable::make(Int(32), op->name) - op->min;
        const Stmt step = call_of(step_, {Variable::make(Handle(), ahead_), turn});
        const Stmt body = Block::make(step, take.mutate(op->body));
        Stmt s = For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, body);
        for (auto it = take.taken.rbegin(); it != take.taken.rend(); ++it) {
            s = LetStmt::make(it->first, it->second, s);
        }
        const Stmt count = Store::make(ahead_, turns + op->extent, 0, Parameter(), const_true(), ModulusRemainder());
        s = LetStmt::make(name, Load::make(Int(32), ahead_, 0, Buffer<>(), Parameter(), const_true(), ModulusRemainder()),
                          Block::make(s, count));
        // Where there is no turn, nothing may be loaded.
        return IfThenElse::make(op->extent > 0, s);
    }

    std::string ahead_, step_;
};

}  // namespace

int pairs_a_turn(const std::string &func, const Stmt &body) {
    class Loops : public IRVisitor {
        using IRVisitor::visit;

        void visit(const ProducerConsumer *op) override {
            const bool before = consumes;
            consumes = consumes || (!op->is_producer && op->name == name);
            IRVisitor::visit(op);
            consumes = before;
        }

        void visit(const For *op) override {
            HasLoop within;
            op->body.accept(&within);
            if (within.found || !consumes) {
                IRVisitor::visit(op);
            } else {
                fewest = std::min(fewest, VectorOperations::of(op->body));
            }
        }

    public:
        std::string name;
        bool consumes = false;
        int fewest = kMostPairs * kOperationsAPair;
    } loops;
    loops.name = func;
    body.accept(&loops);
    return loops.fewest < kFewOperations ? 0 : std::max(loops.fewest / kOperationsAPair, 1);
}

Stmt step_in_loops(const Stmt &consumer, const std::string &ahead, const std::string &step) {
    return StepInLoops(ahead, step).mutate(consumer);
}

}  // namespace halyard
