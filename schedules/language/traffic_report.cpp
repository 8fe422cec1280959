#include "language/traffic_report.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "language/device_traffic.h"
#include "language/look.h"
#include "language/lowered_tree.h"
#include "language/nest.h"
#include "language/unfused.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;
using nlohmann::json;

namespace {

CacheSizes parse_caches(const std::string &text) {
    CacheSizes c;
    for (const auto &level : parse_sizes(text)) {
        const double bytes = level.second.empty() ? 0 : double(level.second[0]);
        if (level.first == "l1") {
            c.l1 = bytes;
        } else if (level.first == "l2") {
            c.l2 = bytes;
        } else if (level.first == "l3") {
            c.l3 = bytes;
        } else {
            throw std::invalid_argument("there is no cache \"" + level.first + "\"; there are l1, l2 and l3");
        }
    }
    return c;
}

// With the names that a script has for the arrays.
std::vector<std::string> readable(std::vector<std::string> notes, const LoopTree &tree, const PipelineView &view) {
    for (std::string &note : notes) {
        for (const Array &a : tree.arrays) {
            const std::string before = "an index of " + a.name + " ", now = "an index of " + view.name_of(a.name) + " ";
            note = note.compare(0, before.size(), before) == 0 ? now + note.substr(before.size()) : note;
        }
    }
    return notes;
}

json to_json(const Moved &m) {
    return {{"read", m.read}, {"written", m.written}};
}

std::string loop_text(const PipelineView &view, const std::string &halide_loop) {
    // FUNC.sN.VAR: "FUNC.VAR" in plain names.
    const size_t s = halide_loop.find(".s");
    return view.name_of(halide_loop.substr(0, s)) + "." + loop_name(without_halides(halide_loop));
}

json kernels_json(const LoopTree &tree, const PipelineView &view) {
    json kernels = json::array();
    for (const auto &k : kernels_of(tree)) {
        json arrays = json::array(), stages = json::array();
        for (const auto &a : k.arrays) {
            const Array &array = tree.arrays[size_t(a.array)];
            arrays.push_back({{"name", view.name_of(array.name)},
                              {"argument", array.argument},
                              {"bytes", double(array.elements) * array.element_bytes},
                              {"once", to_json(a.once)},
                              {"blocks", to_json(a.blocks)}});
        }
        for (const auto &s : k.stages) {
            stages.push_back({{"stage", s.stage}, {"flops", s.flops}, {"elements", s.elements}, {"operand_bytes", s.operand_bytes}});
        }
        const std::string halide = k.loop.substr(0, k.loop.find(".s"));
        kernels.push_back({{"func", view.name_of(halide)},
                           {"halide", halide},
                           {"times", k.times},
                           {"blocks", k.blocks},
                           {"arrays", arrays},
                           {"stages", stages}});
    }
    return kernels;
}

const Touch *placed_by(const std::vector<Touch> &touches, const std::string &func) {
    for (auto t = touches.rbegin(); t != touches.rend(); ++t) {
        if (t->func == func && t->word.compare(0, 7, "compute") == 0) {
            return &*t;
        }
    }
    return nullptr;
}

}  // namespace

TrafficReport::TrafficReport(const Pipeline &pipeline, const Target &target, const std::string &sizes, const std::string &caches)
    : target_(target), sizes_(parse_sizes(sizes)), caches_(parse_caches(caches)), needed_(pipeline, target, sizes_) {}

void TrafficReport::attach(const Pipeline &pipeline, const PipelineView &view, const std::vector<Touch> &touches,
                           std::function<void(json)> done) {
    const auto report = [=, &view, &touches](const Stmt &lowered) {
        const LoopTree tree = loop_tree(lowered, sizes_, vector_bytes(target_), vector_registers(target_));
        const Traffic t = traffic(tree, caches_);
        json stages = json::array(), loops = json::array(), arrays = json::array(), inlined = json::array();
        std::set<std::string> computed;
        for (const auto &s : t.stages) {
            computed.insert(s.name.func);
        }
        const auto recomputed = needed_.recomputed(t);
        for (size_t i = 0; i < t.stages.size(); i++) {
            const StageTraffic &s = t.stages[i];
            const std::string func = view.name_of(s.name.func);
            json around = json::array();
            for (const auto &l : s.around) {
                if (l[0] != '.') {  // the threads of a block are no Func's
                    around.push_back(loop_text(view, l));
                }
            }
            json j = {{"func", func},
                      {"update", s.name.update},
                      {"around", around},
                      {"flops", s.work.flops},
                      {"scalar_flops", s.work.scalar_flops},
                      {"instructions", s.work.instructions},
                      {"calls", s.work.calls},
                      {"elements", s.elements},
                      {"masked", s.masked},
                      {"footprint", s.footprint},
                      {"streamed", s.streamed},
                      {"allocated", s.allocated},
                      {"registers", to_json(s.registers)},
                      {"l1", to_json(s.l1)},
                      {"cold", {{"l2", to_json(s.l2)}, {"l3", to_json(s.l3)}, {"memory", to_json(s.memory)}}},
                      {"warm", {{"l2", to_json(s.l2_warm)}, {"l3", to_json(s.l3_warm)}, {"memory", to_json(s.memory_warm)}}}};
            int operand_bytes = 0;  // the widest element that it loads of other arrays
            for (const auto &loaded : t.loaded) {
                const Array &a = tree.arrays[size_t(loaded.first.second)];
                if (loaded.first.first == int(i) && a.name != s.name.func) {
                    operand_bytes = std::max(operand_bytes, a.element_bytes);
                }
            }
            j["operand_bytes"] = operand_bytes;
            if (recomputed.count(s.name.func)) {
                j["recomputed"] = recomputed.at(s.name.func);
            }
            if (const Touch *touch = placed_by(touches, func)) {
                j["file"] = touch->file;
                j["line"] = touch->line;
            }
            stages.push_back(std::move(j));
        }
        for (const auto &l : t.loops) {
            loops.push_back({{"halide", l.name},
                             {"occurrence", l.occurrence},
                             {"name", loop_text(view, l.name)},
                             {"stage", l.stage},
                             {"entries", l.entries},
                             {"iterations", l.iterations},
                             {"parallel", l.parallel},
                             {"innermost", l.innermost},
                             {"footprint", l.footprint}});
        }
        for (size_t i = 0; i < tree.arrays.size(); i++) {
            const Array &a = tree.arrays[i];
            arrays.push_back({{"name", view.name_of(a.name)},
                              {"bytes", double(a.elements) * a.element_bytes},
                              {"argument", a.argument},
                              {"registers", a.in_registers},
                              {"touched", t.touched[i]}});
        }
        for (const auto &[func, times] : recomputed) {
            const auto entry = view.funcs().find(view.name_of(func));
            if (!computed.count(func) && (entry == view.funcs().end() || !entry->second.parameter.defined())) {
                inlined.push_back({{"func", view.name_of(func)}, {"recomputed", times}, {"instructions", needed_.instructions(func)}});
            }
        }
        done({{"stages", stages},
              {"loops", loops},
              {"arrays", arrays},
              {"inlined", inlined},
              {"kernels", kernels_json(tree, view)},
              {"footprint", t.footprint},
              {"notes", readable(tree.notes, tree, view)}});
    };
    Pipeline copy(pipeline);  // shares its contents
    copy.add_custom_lowering_pass(new Look(report, !target_.has_feature(Target::CUDA)));
}

}  // namespace halyard
