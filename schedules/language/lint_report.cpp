#include "language/lint_report.h"

#include <algorithm>

#include "language/autoschedule.h"
#include "language/libm_calls.h"
#include "language/lowered_tree.h"
#include "language/unfused.h"

namespace halyard {

using namespace Halide;

namespace {

// Of a buffer that nothing is known of: elements enough that what is slow in a loop over them is worth a line.
int64_t usual_extent(size_t dimensions) {
    return dimensions <= 1 ? 1 << 20 : dimensions == 2 ? 1 << 10 : 1 << 6;
}

// Tensor cores of sm_80 and sm_90, beside additions of f32; tiles of AMX (16 x 16 x 32 in 16 cycles), beside two vectors a cycle; else
// loops of vectors.
double multiply_adds(const Target &target) {
    return target.has_feature(Target::CUDA) ? 16 : target.has_feature(Target::AVX512_SapphireRapids) ? 256 : vector_bytes(target) / 4;
}

BufferSizes completed(BufferSizes sizes, const PipelineView &view) {
    for (auto &[name, extents] : estimated_sizes(view)) {
        sizes.emplace(name, extents);
    }
    for (const auto &[name, entry] : view.funcs()) {
        if (!entry.parameter.defined() && !entry.is_output) {
            continue;
        }
        const size_t dimensions = entry.parameter.defined() ? size_t(entry.parameter.dimensions()) : entry.function.args().size();
        std::vector<int64_t> extents;
        for (size_t d = 0; d < dimensions; d++) {
            const Parameter p = entry.parameter.defined() ? entry.parameter : entry.function.output_buffers().front();
            const Expr extent = p.extent_constraint(int(d));
            const auto known = extent.defined() ? Internal::as_const_int(extent) : std::nullopt;
            extents.push_back(known ? *known : usual_extent(dimensions));
        }
        sizes.emplace(name, extents);
        // In the lowered program they have the names that keep several of one process apart.
        const std::vector<int64_t> known = sizes.at(name);
        if (entry.parameter.defined()) {
            sizes.emplace(entry.parameter.name(), known);
        }
        for (const Parameter &p : entry.is_output ? entry.function.output_buffers() : std::vector<Parameter>()) {
            sizes.emplace(p.name(), known);
        }
    }
    return sizes;
}

}  // namespace

LintReport::LintReport(const PipelineView &view, const Target &target, const TargetFacts &facts, const std::string &sizes)
    : target_(target), facts_(facts), sizes_(completed(sizes == "estimates" ? BufferSizes() : parse_sizes(sizes), view)) {}

void LintReport::before_schedule(const Pipeline &pipeline) {
    needed_.emplace(pipeline, target_, sizes_);
}

void LintReport::look(const Internal::Stmt &lowered, const Binding &binding, const ScriptHeader &header) {
    try {
        const bool device = target_.has_feature(Target::CUDA);
        const LoopTree tree = loop_tree(lowered, sizes_, vector_bytes(target_), vector_registers(target_));
        std::set<std::string> products;
        for (const auto &p : binding.tile_products()) {
            products.insert(p.func.name());
        }
        const LintView view{tree,
                            *needed_,
                            binding.view(),
                            binding.touches(),
                            products,
                            header.files.at(0),
                            header.line,
                            vector_bytes(target_),
                            vector_registers(target_),
                            double(facts_.l1),
                            multiply_adds(target_)};
        for (const LintNote &n : device ? lint_device(view) : lint_host(view)) {
            add(n);
        }
    } catch (const Halide::Error &) {
        // What cannot be told is no reason to build nothing.
    }
}

void LintReport::look_for_calls(const Internal::Stmt &lowered, const Binding &binding, const ScriptHeader &header) {
    for (const auto &[array, functions] : libm_calls(lowered)) {
        const std::string func = binding.view().name_of(array);
        std::string names;
        for (const auto &f : functions) {
            names += (names.empty() ? "" : ", ") + f;
        }
        LintNote note{header.files.at(0), header.line, ""};
        for (const Touch &t : binding.touches()) {
            if (t.func == func && t.place.line > 0) {
                note.file = t.place.file;
                note.line = t.place.line;
            }
        }
        note.message = "k." + func + " calls " + names +
                       " of the C library for each element, and no vector of it: in the generator, take a function of "
                       "generators/math, or compute it in float32";
        add(note);
    }
}

void LintReport::add(const LintNote &note) {
    const std::string text = note.text();
    if (std::find(lines_.begin(), lines_.end(), text) == lines_.end()) {
        lines_.push_back(text);
    }
}

std::vector<std::string> LintReport::lines() const {
    return lines_;
}

}  // namespace halyard
