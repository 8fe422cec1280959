#include "language/unfused.h"

#include <algorithm>

#include "language/lowered_tree.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

void keep_loops_whole(Function &f) {
    const auto keep = [](Definition &d) {
        for (Dim &dim : d.schedule().dims()) {
            dim.partition_policy = Partition::Never;
        }
    };
    if (f.has_pure_definition()) {
        keep(f.definition());
    }
    for (int i = 0; i < int(f.updates().size()); i++) {
        keep(f.update(i));
    }
}

}  // namespace

int vector_bytes(const Target &target) {
    return target.natural_vector_size<uint8_t>();
}

int vector_registers(const Target &target) {
    return target.has_feature(Target::AVX512) || target.arch == Target::ARM ? 32 : 16;
}

LoopTree unfused_tree(const Pipeline &pipeline, const Target &target, const BufferSizes &sizes) {
    std::vector<Function> outputs;
    for (const Func &f : Pipeline(pipeline).outputs()) {
        outputs.push_back(f.function());
    }
    auto copies = deep_copy(outputs, build_environment(outputs));
    for (auto &f : copies.second) {
        const bool output = std::any_of(copies.first.begin(), copies.first.end(), [&](const Function &o) { return o.same_as(f.second); });
        if (!output) {
            f.second.schedule().compute_level() = LoopLevel::root();
            f.second.schedule().store_level() = LoopLevel::root();
        }
    }
    // What takes time to make and counts for nothing: checks, and loops taken apart at their ends.
    const Target plain = target.without_feature(Target::CUDA).with_feature(Target::NoAsserts).with_feature(Target::NoBoundsQuery);
    for (auto &f : copies.second) {
        keep_loops_whole(f.second);
        f.second.lock_loop_levels();
    }
    const Stmt lowered = lower_main_stmt(copies.first, "unfused", plain);
    return loop_tree(lowered, sizes, vector_bytes(target), vector_registers(target));
}

}  // namespace halyard
