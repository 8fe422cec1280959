#ifndef HALYARD_LOWERING_CUDA_LOADED_BUFFERS_H
#define HALYARD_LOWERING_CUDA_LOADED_BUFFERS_H

/** \file
 * The buffers that expressions load from.
 */

#include <set>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

inline std::set<std::string> loaded_buffers(const std::vector<Halide::Expr> &all) {
    class Find : public Halide::Internal::IRGraphVisitor {
        using IRGraphVisitor::visit;
        void visit(const Halide::Internal::Load *op) override {
            names.insert(op->name);
            IRGraphVisitor::visit(op);
        }

    public:
        std::set<std::string> names;
    } find;
    for (const auto &e : all) {
        e.accept(&find);
    }
    return find.names;
}

}  // namespace halyard

#endif
