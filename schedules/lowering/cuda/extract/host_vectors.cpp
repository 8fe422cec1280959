#include "lowering/cuda/extract/host_vectors.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class InlineHostVectors : public IRMutator {
public:
    InlineHostVectors(const Scope<Expr> &vectors, bool &reads) : vectors_(vectors), reads_(reads) {}

private:
    using IRMutator::visit;
    Expr visit(const Variable *op) override {
        if (op->type.lanes() == 1 || !vectors_.contains(op->name)) {
            return op;
        }
        within_++;
        const Expr value = mutate(vectors_.get(op->name));
        within_--;
        return value;
    }
    Expr visit(const Load *op) override {
        reads_ = reads_ || within_ > 0;
        return IRMutator::visit(op);
    }

    const Scope<Expr> &vectors_;
    bool &reads_;
    int within_ = 0;
};

}  // namespace

Stmt with_host_vectors(const Stmt &kernel, const std::function<void(const std::string &)> &fail, const Scope<Expr> &vectors) {
    bool reads = false;
    const Stmt inlined = InlineHostVectors(vectors, reads).mutate(kernel);
    if (reads) {
        fail("is computed from a vector that the host reads from memory; do not vectorize a loop around its blocks");
    }
    return inlined;
}

}  // namespace halyard
