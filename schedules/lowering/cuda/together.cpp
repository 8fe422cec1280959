#include "together.h"

#include <algorithm>
#include <set>
#include <string>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

using Names = std::set<std::string>;

class FindAccesses : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Load *op) override {
        read.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        written.insert(op->name);
        IRVisitor::visit(op);
    }

public:
    Names read, written;
};

bool meet(const Names &a, const Names &b) {
    return std::any_of(a.begin(), a.end(), [&](const std::string &name) { return b.count(name); });
}

class FindKernels : public IRVisitor {
    using IRVisitor::visit;

    void visit(const For *op) override {
        if (op->for_type == ForType::GPUBlock) {
            note(op);
            return;
        }
        const Running before = running;
        inside(op->body);
        running.join(before);
    }

    void visit(const IfThenElse *op) override {
        const Running before = running;
        inside(op->then_case);
        Running after = running;
        running = before;
        if (op->else_case.defined()) {
            inside(op->else_case);
        }
        running.join(after);
    }

    // What stands in a branch or a loop: what comes before it there, or behind it, is not known.
    void inside(const Stmt &s) {
        const For *const before = last;
        const size_t kernels = found.size();
        last = nullptr;
        s.accept(this);
        last = found.size() == kernels ? before : nullptr;
    }

    void visit(const Allocate *op) override {
        allocated.insert(op->name);
        IRVisitor::visit(op);
    }

    void note(const For *kernel) {
        FindAccesses now;
        kernel->accept(&now);
        const bool needs = meet(now.read, running.written) || meet(now.written, running.written) ||
                           meet(now.written, running.read) || meet(now.written, allocated);
        Together &t = found[kernel];
        t.beside_last = last && !needs;
        if (t.beside_last) {
            found[last].starts_next = true;
        } else {
            running = Running();
        }
        running.join({now.read, now.written});
        last = kernel;
    }

    // By kernels that may still run.
    struct Running {
        Names read, written;
        void join(const Running &other) {
            read.insert(other.read.begin(), other.read.end());
            written.insert(other.written.begin(), other.written.end());
        }
    };

    const For *last = nullptr;
    Running running;
    Names allocated;

public:
    std::map<const For *, Together> found;
};

}  // namespace

std::map<const For *, Together> find_together(const Stmt &s) {
    FindKernels find;
    s.accept(&find);
    return find.found;
}

}  // namespace halyard
