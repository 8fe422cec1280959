#include "lowering/cuda/tensor_cores/gathered_launches.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lowering/accesses.h"
#include "lowering/cuda/tensor_cores/dependent_launch.h"
#include "lowering/cuda/tensor_cores/tile_parts.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

struct Let {
    std::string name;
    Expr value;
};

struct Member {
    const For *kernel;
    std::vector<Let> lets;  // around it, the outermost first
};
using Run = std::vector<Member>;

class FindRuns : public IRVisitor {
public:
    FindRuns(std::map<const For *, DependentLaunch> together, const std::function<bool(const For *)> &wanted)
        : together_(std::move(together)), wanted_(wanted) {}
    std::vector<Run> runs;

private:
    using IRVisitor::visit;

    void visit(const LetStmt *op) override {
        lets_.push_back({op->name, op->value});
        op->body.accept(this);
        lets_.pop_back();
    }

    void visit(const For *op) override {
        if (op->for_type != ForType::GPUBlock) {
            IRVisitor::visit(op);
            return;
        }
        const bool wanted = wanted_(op);
        if (!wanted || !goes_on_ || !together_[op].beside_last) {
            runs.emplace_back();
            of_run_ = {};
        }
        goes_on_ = wanted;
        if (wanted) {
            runs.back().push_back({op, lets_});
            of_run_.add(accesses_of(Stmt(op)));
        }
    }

    // Kernels that are to come later stay before the host reads what they store, writes what they load, or frees it.
    void visit(const Variable *op) override {
        end_run_by(op->name);
    }
    void visit(const Load *op) override {
        end_run_by(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        end_run_by(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Free *op) override {
        end_run_by(op->name);
    }
    void visit(const Call *op) override {
        // What is asked of a buffer or noted in it, and what is on the device already.
        if (op->name.rfind("_halide_buffer_", 0) != 0 && op->name != "halide_copy_to_device") {
            IRVisitor::visit(op);
        }
    }

    void end_run_by(const std::string &name) {
        const std::string end = ".buffer", array = ends_with(name, end) ? name.substr(0, name.size() - end.size()) : name;
        goes_on_ = goes_on_ && of_run_.loaded.count(array) == 0 && of_run_.stored.count(array) == 0;
    }

    std::map<const For *, DependentLaunch> together_;
    const std::function<bool(const For *)> &wanted_;
    std::vector<Let> lets_;
    Accesses of_run_;
    bool goes_on_ = false;
};

// The lets that are to stand around kernels which come to the place of the last of a run; false: they cannot.
bool lets_to_move(const Run &run, std::vector<Let> &moved) {
    std::map<std::string, Expr> there;
    for (const Let &l : run.back().lets) {
        there[l.name] = l.value;
    }
    for (auto m = run.begin(); m + 1 != run.end(); m++) {
        FreeVariables needed;
        m->kernel->accept(&needed);
        std::vector<Let> own;
        for (auto l = m->lets.rbegin(); l != m->lets.rend(); l++) {
            if (!needed.types.count(l->name)) {
                continue;
            }
            const auto same = there.find(l->name);
            if (same != there.end() && same->second.same_as(l->value)) {
                continue;
            }
            if (same != there.end() || !is_pure(l->value) || !accesses_of(l->value).loaded.empty()) {
                return false;
            }
            l->value.accept(&needed);
            own.push_back(*l);
        }
        for (auto l = own.rbegin(); l != own.rend(); l++) {
            there[l->name] = l->value;
            moved.push_back(*l);
        }
    }
    return true;
}

class Move : public IRMutator {
public:
    std::set<const For *> taken;
    std::map<const For *, Stmt> put;

private:
    using IRMutator::visit;

    Stmt visit(const For *op) override {
        if (taken.count(op)) {
            return Evaluate::make(0);
        }
        const auto it = put.find(op);
        return it != put.end() ? it->second : op->for_type == ForType::GPUBlock ? Stmt(op) : IRMutator::visit(op);
    }
};

}  // namespace

Stmt gather_launches(const Stmt &s, const std::function<bool(const For *)> &wanted) {
    FindRuns find(find_dependent_launches(s), wanted);
    s.accept(&find);
    Move move;
    for (const Run &run : find.runs) {
        std::vector<Let> lets;
        if (run.size() < 2 || !lets_to_move(run, lets)) {
            continue;
        }
        std::vector<Stmt> kernels;
        for (const Member &m : run) {
            kernels.emplace_back(m.kernel);
            move.taken.insert(m.kernel);
        }
        move.taken.erase(run.back().kernel);
        Stmt all = Block::make(kernels);
        for (auto l = lets.rbegin(); l != lets.rend(); l++) {
            all = LetStmt::make(l->name, l->value, all);
        }
        move.put[run.back().kernel] = all;
    }
    return move.mutate(s);
}

}  // namespace halyard
