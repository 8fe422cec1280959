#include "language/own_schedule.h"

#include "language/lua_text.h"
#include "language/nest.h"
#include "language/schedule_text.h"
#include "language/schedule_words.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

Parameter buffer_of(const PipelineView::Entry &f) {
    return f.parameter.defined() ? f.parameter : f.is_output ? f.function.output_buffers().front() : Parameter();
}

// What a schedule promises of one dimension of an array.
std::string promised(const std::string &dim, const char *word, const Expr &value, const Expr &before) {
    if (!value.defined() || (before.defined() && equal(value, before))) {
        return "";
    }
    return "    " + dim + lua_word(word, {std::to_string(constant_value(value, "what is promised of an array"))}) + "\n";
}

// What it says of the arrays of a call.
std::string promises(const PipelineView &view, const PipelineView &unscheduled) {
    std::string text;
    for (const auto &[name, f] : view.funcs()) {
        const Parameter now = buffer_of(f);
        const auto other = unscheduled.funcs().find(name);
        if (!now.defined() || other == unscheduled.funcs().end()) {
            continue;
        }
        const Parameter was = buffer_of(other->second);
        const std::string self = lua_field_of_k(name);
        for (int d = 0; d < now.dimensions(); d++) {
            const std::string dim = self + ":dim(" + std::to_string(d) + ")";
            text += promised(dim, "set_min", now.min_constraint(d), was.min_constraint(d)) +
                    promised(dim, "set_extent", now.extent_constraint(d), was.extent_constraint(d)) +
                    promised(dim, "set_stride", now.stride_constraint(d), was.stride_constraint(d));
        }
        if (now.host_alignment() != was.host_alignment()) {
            text += "    " + self + lua_word("set_host_alignment", {std::to_string(now.host_alignment())}) + "\n";
        }
    }
    return text;
}

}  // namespace

nlohmann::json own_schedule(const Pipeline &unscheduled, const Target &target, const std::string &generator,
                            const std::map<std::string, std::string> &params) {
    const auto again = GeneratorRegistry::create(generator, GeneratorContext(target));
    for (const auto &p : params) {
        again->set_generatorparam_value(p.first, p.second);
    }
    const Pipeline own = again->build_pipeline();
    const PipelineView before(unscheduled), view(own);
    nlohmann::json result = {{"nest", nlohmann::json::array()}};
    for (const NestLine &l : loop_nest(view, {})) {
        result["nest"].push_back({{"text", l.text}});
    }
    try {
        const std::string arrays = promises(view, before), loops = ScheduleText(view, before).statements();
        result["statements"] = arrays + (arrays.empty() || loops.empty() ? "" : "\n") + loops;
    } catch (const std::runtime_error &e) {
        result["problem"] = e.what();
    }
    return result;
}

}  // namespace halyard
