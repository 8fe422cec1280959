#include "language/definitions.h"

namespace halyard {

using namespace Halide;

void for_each_definition(const Internal::Function &f, const std::function<void(const Internal::Definition &, int stage)> &visit) {
    const std::function<void(const Internal::Definition &, int)> walk = [&](const Internal::Definition &d, int stage) {
        visit(d, stage);
        for (const auto &s : d.specializations()) {
            walk(s.definition, stage);
        }
    };
    if (f.has_pure_definition()) {
        walk(f.definition(), 0);
    }
    for (size_t i = 0; i < f.updates().size(); i++) {
        walk(f.updates()[i], int(i) + 1);
    }
}

}  // namespace halyard
