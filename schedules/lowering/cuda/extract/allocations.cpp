#include "lowering/cuda/extract/allocations.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// The buffer, where a statement is its allocation on the device; else undefined.
Expr allocated_by(const Stmt &s) {
    const auto *let = s.as<LetStmt>();
    const auto *call = let ? let->value.as<Call>() : nullptr;
    const bool alone = let && let->body.as<AssertStmt>();
    return alone && call && call->name == "halide_device_malloc" ? call->args[0] : Expr();
}

// Of value 1 of the tuple f, f.1.buffer: f. Of others, nothing.
std::string tuple_of(const Expr &buffer) {
    const auto *v = buffer.as<Variable>();
    const size_t end = v ? v->name.rfind('.') : 0, number = end == 0 || end == std::string::npos ? 0 : v->name.rfind('.', end - 1);
    if (number == 0 || number == std::string::npos || number + 1 == end ||
        !std::all_of(v->name.begin() + long(number) + 1, v->name.begin() + long(end), [](unsigned char c) { return std::isdigit(c); })) {
        return "";
    }
    return v->name.substr(0, number);
}

// One call for all of these buffers of the pipeline.
Stmt allocate(const std::vector<Expr> &buffers) {
    const Expr user_context = Call::make(Handle(), Call::get_user_context, {}, Call::PureIntrinsic);
    const Expr all = Call::make(Handle(), Call::make_struct, buffers, Call::Intrinsic);
    const std::string result = unique_name("halyard_cuda_malloc_result");
    const Expr code = Variable::make(Int(32), result);
    return LetStmt::make(result,
                         Call::make(Int(32), "halyard_cuda_malloc_together", {user_context, all, int(buffers.size())}, Call::Extern),
                         AssertStmt::make(code == 0, code));
}

class AllocateTogether : public IRMutator {
    using IRMutator::visit;

    std::set<std::string> own;  // buffers of the pipeline's arrays, as those of the caller are none

    Stmt visit(const Allocate *op) override {
        own.insert(op->name + ".buffer");
        return IRMutator::visit(op);
    }

    Stmt visit(const LetStmt *op) override {
        const Expr buffer = allocated_by(op);
        return is_own(buffer) ? allocate({buffer}) : IRMutator::visit(op);
    }

    bool is_own(const Expr &buffer) const {
        const auto *v = buffer.as<Variable>();
        return v && own.count(v->name) > 0;
    }

    Stmt visit(const Block *op) override {
        std::vector<Expr> buffers;
        Stmt rest = op;
        for (const auto *b = op; b; b = rest.as<Block>()) {
            const Expr buffer = allocated_by(b->first);
            const bool next = is_own(buffer) && !tuple_of(buffer).empty() && (buffers.empty() || tuple_of(buffer) == tuple_of(buffers[0]));
            if (!next) {
                break;
            }
            buffers.push_back(buffer);
            rest = b->rest;
        }
        if (buffers.size() < 2) {
            return IRMutator::visit(op);
        }
        return Block::make(allocate(buffers), mutate(rest));
    }
};

}  // namespace

Stmt allocate_together(const Stmt &s) {
    return AllocateTogether().mutate(s);
}

}  // namespace halyard
