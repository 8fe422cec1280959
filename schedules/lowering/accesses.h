#ifndef HALYARD_LOWERING_ACCESSES_H
#define HALYARD_LOWERING_ACCESSES_H

/** \file
 * The arrays and buffers that a part of the IR loads from and stores to, by name; an array has one name here, whatever the
 * type of the elements that it is accessed as.
 */

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** A second name of a shared array, with elements of another type (lowering/cuda/extract/kernel.h). */
std::string alias_of(const std::string &array, const Halide::Type &type);

/** The array of an alias; of other names, the name. */
std::string array_of(const std::string &name);

struct Accesses {
    std::set<std::string> loaded, stored;

    void add(const Accesses &more) {
        loaded.insert(more.loaded.begin(), more.loaded.end());
        stored.insert(more.stored.begin(), more.stored.end());
    }
};

/** Of a statement or an expression. */
template<class T>
Accesses accesses_of(const T &part) {
    class Find : public Halide::Internal::IRGraphVisitor {
        using IRGraphVisitor::visit;
        void visit(const Halide::Internal::Load *op) override {
            found.loaded.insert(array_of(op->name));
            IRGraphVisitor::visit(op);
        }
        void visit(const Halide::Internal::Store *op) override {
            found.stored.insert(array_of(op->name));
            IRGraphVisitor::visit(op);
        }

    public:
        Accesses found;
    } find;
    part.accept(&find);
    return find.found;
}

inline std::set<std::string> loaded_by(const std::vector<Halide::Expr> &all) {
    Accesses found;
    for (const auto &e : all) {
        found.add(accesses_of(e));
    }
    return found.loaded;
}

/** Whether some name is in both. */
inline bool meet(const std::set<std::string> &a, const std::set<std::string> &b) {
    return std::any_of(a.begin(), a.end(), [&](const std::string &name) { return b.count(name) > 0; });
}

}  // namespace halyard

#endif
