#ifndef HALYARD_DEPENDS_ON_DATA_H
#define HALYARD_DEPENDS_ON_DATA_H

/** \file
 * Whether an index can be computed ahead of the loads before it.
 */

#include <Halide.h>

namespace halyard {

/** Whether the expression loads something. */
inline bool depends_on_data(const Halide::Expr &e) {
    class Loads : public Halide::Internal::IRGraphVisitor {
        using IRGraphVisitor::visit;
        void visit(const Halide::Internal::Load *) override {
            found = true;
        }

    public:
        bool found = false;
    } loads;
    e.accept(&loads);
    return loads.found;
}

}  // namespace halyard

#endif
