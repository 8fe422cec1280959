#include "lowering/host/parallel_jobs.h"

#include <algorithm>

#include "lowering/depends_on_data.h"
#include "lowering/host/parallel_loops.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// A body with more accesses is a function of its own, by a loop of one iteration. With the bodies of q, k and v in one function, LLVM
// kept sums of v in memory (4 rows by 64 columns of a panel that is not full, AVX-512). The size of the function seems to be why, as
// room on the stack that no other body has changed nothing. A function of its own costs each job a call, which is felt in the body of
// a single row; that one has 30 to 75 accesses.
constexpr int kFew = 80;

int accesses(const Stmt &s) {
    class Count : public IRVisitor {
        using IRVisitor::visit;
        void visit(const Load *op) override {
            number++;
            IRVisitor::visit(op);
        }
        void visit(const Store *op) override {
            number++;
            IRVisitor::visit(op);
        }

    public:
        int number = 0;
    } count;
    s.accept(&count);
    return count.number;
}

// Not a select, which reads memory for both cases.
Expr one_of(const Expr &condition, const Expr &yes, const Expr &no) {
    return Call::make(Int(32), Call::if_then_else, {condition, yes, no}, Call::PureIntrinsic);
}

class Jobs {
public:
    Jobs(const std::string &job, Definitions &common) : job_(job), common_(common) {}

    ParallelJobs of(const Stmt &s) {
        if (!s.defined() || is_no_op(s)) {
            return {0, Evaluate::make(0)};
        }
        if (const auto *let = s.as<LetStmt>()) {
            return of_definition(let);
        }
        if (const auto *node = s.as<ProducerConsumer>(); node && !node->is_producer) {
            return of(node->body);
        }
        if (const auto *condition = s.as<IfThenElse>()) {
            const ParallelJobs yes = of(condition->then_case), no = of(condition->else_case);
            if (!yes.count.defined() || !no.count.defined()) {
                return {};
            }
            return {one_of(condition->condition, yes.count, no.count), IfThenElse::make(condition->condition, yes.body, no.body)};
        }
        if (const auto *block = s.as<Block>()) {
            return of_block(block);
        }
        if (const auto *loop = s.as<For>(); loop && loop->is_parallel()) {
            const Expr at = Variable::make(Int(32), job_) + loop->min;
            return {max(loop->extent, 0), accesses(loop->body) <= kFew ? LetStmt::make(loop->name, at, loop->body)
                                                                       : For::make(loop->name, at, 1, loop->for_type,
                                                                                   loop->partition_policy, loop->device_api, loop->body)};
        }
        if (has_parallel_loop(s)) {
            return {};
        }
        return {1, s};
    }

private:
    ParallelJobs of_definition(const LetStmt *let) {
        const bool of_loads =
            std::any_of(loaded_.begin(), loaded_.end(), [&](const std::string &name) { return expr_uses_var(let->value, name); });
        if (of_loads || depends_on_data(let->value) || !is_pure(let->value)) {
            loaded_.push_back(let->name);
            ParallelJobs inner = of(let->body);
            loaded_.pop_back();
            if (inner.count.defined()) {
                inner.count = Let::make(let->name, let->value, inner.count);
                inner.body = LetStmt::make(let->name, let->value, inner.body);
            }
            return inner;
        }
        // Two cases of a specialisation may have the same name for different things.
        const std::string name = let->name + "." + std::to_string(common_.size());
        common_.emplace_back(name, let->value);
        return of(substitute(let->name, Variable::make(let->value.type(), name), let->body));
    }

    // An assertion fails in a job as well; more than one statement has an order.
    ParallelJobs of_block(const Block *block) {
        const bool no_more = is_no_op(block->rest);
        if (no_more || is_no_op(block->first)) {
            return of(no_more ? block->first : block->rest);
        }
        if (!block->first.as<AssertStmt>()) {
            return has_parallel_loop(block) ? ParallelJobs() : ParallelJobs{1, block};
        }
        ParallelJobs rest = of(block->rest);
        if (rest.count.defined()) {
            rest.body = Block::make(block->first, rest.body);
        }
        return rest;
    }

    const std::string &job_;
    Definitions &common_;
    std::vector<std::string> loaded_;  // definitions around that stay where they are
};

}  // namespace

ParallelJobs jobs_of(const Stmt &s, const std::string &job, Definitions &common) {
    return Jobs(job, common).of(s);
}

}  // namespace halyard
