// The script of a session: read, applied to the pipeline and each of its versions, and checked.

#include "language/session.h"

#include <iostream>
#include <set>

#include "language/autoschedule.h"
#include "language/effects.h"
#include "language/halide_texts.h"
#include "language/look.h"
#include "language/nest.h"
#include "language/places.h"
#include "language/unsafe_loops.h"
#include "lowering/guarded_loads.h"
#include "lowering/host/argument_checks.h"
#include "lowering/host/half_nan.h"
#include "lowering/host/narrow_masks.h"
#include "lowering/host/single_elements.h"
#include "lowering/host/stack_size.h"
#include "lowering/host/vector_math.h"
#include "lowering/host/verbose_calls.h"

namespace halyard {

using nlohmann::json;

ScriptOptions script_options(const PluginSettings &settings, const Halide::Target &target) {
    ScriptOptions options;
    options.set = settings.set;
    options.facts = settings.facts;
    options.lib_dirs = settings.lib;
    options.target = target.to_string();
    return options;
}

Session::Session(const Halide::Pipeline &pipeline, const Halide::Target &target, const PluginSettings &settings)
    : view_(pipeline), report_path_(settings.report), script_path_(settings.script), target_(target.to_string()),
      will_finish_(settings.finish), want_steps_(settings.steps), want_passes_(settings.passes), after_(settings.after) {
    try {
        if (settings.script.empty()) {
            throw std::invalid_argument("autoscheduler.script=FILE.lua is missing");
        }
        const ScriptOptions options = script_options(settings, target);
        script_ = std::make_unique<Script>(settings.script, options);
        std::vector<ScheduleVersion> versions = read_versions(*script_, view_);
        if (!settings.sizes.empty()) {
            const BufferSizes sizes = parse_sizes(settings.sizes);
            version_choice_ = versions.size() > 1 ? version_choice(versions, sizes) : json();
            versions = {version_at(versions, sizes)};
        }
        rest_ = text_of(versions.back().set);
        prepare_notes(settings, target, options, versions);
        for (size_t i = 0; i + 1 < versions.size(); i++) {
            add_version(pipeline, target, versions[i]);
        }
        const OpenNumbers numbers = open_numbers(*script_, versions.back().set);
        set_open_numbers(pipeline, numbers);
        Halide::Pipeline(pipeline).add_custom_lowering_pass(set_open_numbers_required(numbers).release());
        view_ = PipelineView(pipeline);
        binding_ = new_binding(view_, target);
        if (want_steps_) {
            binding_->on_word = [this](const Touch &t) { add_step(t); };
        }
        if (!settings.sizes.empty()) {
            traffic_report_ = std::make_unique<TrafficReport>(pipeline, target, settings.sizes, settings.caches);
        }
        if (notes_ && noted_version_ == versions_.size()) {
            notes_->before_schedule(pipeline);
        }
        script_->apply([this](lua_State *L) { binding_->push_funcs(L); }, versions.back().set);
        finish_script(pipeline, *binding_);
        applied_ = true;
        size_ = checked_size(view_, *binding_, target);
        // Before products are calls.
        if (notes_ && noted_version_ == versions_.size()) {
            add_look(pipeline, [this](const Halide::Internal::Stmt &s) { look_at(s, *binding_); });
        }
        if (traffic_report_) {
            traffic_report_->attach(pipeline, view_, binding_->touches(), [this](json t) {
                traffic_ = std::move(t);
                add_products(traffic_);
                add_side_by_side(traffic_);
                write_report(nullptr);
            });
        }
        if (!binding_->libm && !target.has_feature(Halide::Target::CUDA)) {
            Halide::Pipeline(pipeline).add_custom_lowering_pass(compute_math_in_vectors(target).release());
        }
        add_passes(pipeline, target, target_facts(options.target, options.facts));
        Halide::Pipeline(pipeline).add_custom_lowering_pass(guard_loads_of_conditions().release());
        // Last, as it gives loops another name.
        for (const auto &group : binding_->side_by_side()) {
            Halide::Pipeline(pipeline).add_custom_lowering_pass(put_side_by_side(group).release());
        }
        if (!traffic_report_ || !target.has_feature(Halide::Target::CUDA)) {
            add_cuda_pass(pipeline, target, settings);
        }
        if (!binding_->libm && target.has_feature(Halide::Target::CUDA)) {  // of what is left on the host
            Halide::Pipeline(pipeline).add_custom_lowering_pass(compute_math_in_vectors(target).release());
        }
        if (notes_ && !target.has_feature(Halide::Target::CUDA)) {
            add_look(pipeline, [this](const Halide::Internal::Stmt &s) {
                notes_->look_for_calls(s, *binding_, script_->header());
                end_notes();
            });
        }
        if (!target.has_feature(Halide::Target::CUDA) || !traffic_report_) {
            add_attributed(pipeline, bound_stack());
        }
        Halide::Pipeline(pipeline).add_custom_lowering_pass(forget_alignment_of_single_elements().release());
        if (target.arch == Halide::Target::X86 && target.has_feature(Halide::Target::AVX512)) {
            Halide::Pipeline(pipeline).add_custom_lowering_pass(hide_masks_of_narrow_stores().release());
        }
        if (target.arch == Halide::Target::X86 && !target.has_feature(Halide::Target::F16C)) {
            Halide::Pipeline(pipeline).add_custom_lowering_pass(keep_nan_of_half().release());
        }
        add_empty_pass(pipeline);
        const WidthOfIndices indices = target.has_feature(Halide::Target::LargeBuffers) ? WidthOfIndices::k64
                                       : target.has_feature(Halide::Target::CUDA)       ? WidthOfIndices::kOnly32
                                                                                        : WidthOfIndices::k32;
        if (!settings.function.empty()) {
            Halide::Pipeline(pipeline).add_custom_lowering_pass(tell_of_calls(settings.function, target).release());
        }
        Halide::Pipeline(pipeline).add_custom_lowering_pass(check_arguments(settings.function, indices, settings.apart).release());
        if (finish_) {
            leave_object_to_finishing(target);
        }
        write_report(nullptr);
    } catch (const ScriptError &e) {
        write_report(&e.diagnostic);
        throw;
    } catch (const std::invalid_argument &e) {
        Diagnostic d;
        d.file = settings.script;
        d.message = e.what();
        write_report(&d);
        throw ScriptError(d);
    }
}

Diagnostic Session::attribute(const std::string &message) {
    const PipelineView &view = at_work_ ? at_work_->pipeline->view() : view_;
    const Binding &binding = at_work_ ? *at_work_->pipeline->binding : *binding_;
    const std::string named = plain_message(view, halide_message(message));
    const PlainText text = plain_text(view, message);
    const std::string &plain = text.message;
    const Touch t = blame(named, text.word, view, binding.touches());
    Diagnostic d = diagnostic_at(t);
    d.file = d.line == 0 ? script_->header().files.at(0) : d.file;
    const bool says_why = plain.find_first_not_of(" \n") != std::string::npos && plain.rfind("Symbol not found", 0) != 0;
    d.message = says_why ? with_loop(plain, t.loops) : "Halide cannot compile this schedule, and does not say why";
    d.hint = d.line == 0 || !says_why ? say_where_computed(view) : text.hint;
    if (d.line == 0 && d.hint.empty()) {
        d.hint = "what each word did: halyard show " + script_->header().op + " --schedule " + d.file + " --step";
    }
    write_report(&d);
    return d;
}

bool Session::applied() const {
    return applied_;
}

std::string Session::say_where_computed(const PipelineView &view) {
    std::vector<std::string> missing;
    for (const auto &[name, f] : view.funcs()) {
        if (!f.is_output && !f.parameter.defined() && !f.function.can_be_inlined() && is_unplaced(f.function)) {
            missing.push_back("k." + name);
        }
    }
    return missing.empty() ? "" : "say where the reductions are computed, by compute_root() or compute_at(...): " + quoted_list(missing);
}

std::unique_ptr<Binding> Session::new_binding(PipelineView &view, const Halide::Target &target) {
    auto binding = std::make_unique<Binding>(script_->host(), view);
    binding->target = target;
    binding->before_word = [this](const Touch &t) { write_last(t); };
    binding->on_late_error = [this](const Diagnostic &d) { write_report(&d); };
    return binding;
}

void Session::prepare_notes(const PluginSettings &settings, const Halide::Target &target, const ScriptOptions &options,
                            const std::vector<ScheduleVersion> &versions) {
    static std::set<std::string> noted;
    if (settings.lint.empty() || (!settings.report.empty() && !noted.insert(settings.report).second)) {
        return;
    }
    notes_ = std::make_unique<LintReport>(view_, target, target_facts(options.target, options.facts), settings.lint);
    noted_version_ = size_t(&version_at(versions, notes_->sizes()) - versions.data());
}

void Session::add_look(Halide::Pipeline copy, std::function<void(const Halide::Internal::Stmt &)> look) {
    copy.add_custom_lowering_pass(new Look(std::move(look), true));
}

void Session::look_at(const Halide::Internal::Stmt &lowered, const Binding &binding) {
    notes_->look(lowered, binding, script_->header());
    if (binding.target.has_feature(Halide::Target::CUDA)) {
        end_notes();
    }
}

void Session::end_notes() {
    if (!report_path_.empty()) {
        write_report(nullptr);
        return;
    }
    for (const auto &line : notes_->lines()) {
        std::cerr << line << "\n";
    }
}

void Session::add_version(const Halide::Pipeline &pipeline, const Halide::Target &target, const ScheduleVersion &version) {
    Version &v = versions_.emplace_back();
    v.condition = version.condition;
    v.text = text_of(version.set);
    v.pipeline = std::make_unique<VersionedPipeline>(pipeline, *script_, version.set);
    v.pipeline->binding = new_binding(v.pipeline->view(), target);
    if (notes_ && noted_version_ + 1 == versions_.size()) {
        notes_->before_schedule(v.pipeline->pipeline());
    }
    script_->apply([&](lua_State *L) { v.pipeline->binding->push_funcs(L); }, version.set);
    const Halide::Internal::ScopedValue<const Version *> at_work(at_work_, &v);
    finish_script(v.pipeline->pipeline(), *v.pipeline->binding);
    checked_size(v.pipeline->view(), *v.pipeline->binding, target);
}

CodeSize Session::checked_size(const PipelineView &view, const Binding &binding, const Halide::Target &target) const {
    Replaced replaced;
    for (const auto &p : binding.tile_products()) {
        replaced.insert({p.func.name(), p.stage});
    }
    CodeSize size = code_size(view, target, binding.touches(), replaced);
    check_code_size(size, script_path_);
    return size;
}

void Session::finish_script(const Halide::Pipeline &pipeline, const Binding &binding) {
    check_placed(binding, binding.view());
    check_buffers_in_turn(binding, binding.view());
    check_fused_async(binding, binding.view());
    check_places(binding, binding.view());
    check_unsafe_loops(binding, binding.view());
    store_in_registers(binding.view());
    binding.add_requirements(pipeline);
}

}  // namespace halyard
