// The Halide autoscheduler plugin "Lua": it schedules any generator by a script.
//
//   my.generator -p libhalyard.so autoscheduler=Lua autoscheduler.script=my.lua ...
//
// Its parameters (all after `autoscheduler.`; plugin_settings.h):
//   request  a JSON file with all of the others by their names, lists and tables as such: how `halyard` says them
//   script   the Lua file                       set      name=value,... for tune{} parameters
//   lib      folders for require, with colons   facts    l2=2M,... about the target
//   report   a JSON file to write: what was applied, the loop nest, or the error
//   steps    true: the report has the loop nest after every word
//   finish   true: whoever started this runs the finishing step where the report asks for it
//   function what callers know the library by, for the messages of its errors; needs Halyard's runtime
//   sizes    extents of every buffer, as x:4096x64,y:4096x64: the report says what moves through the caches; for CUDA
//            there is then no code, and the report alone is what comes of it
//   caches   their bytes, as l1:32768,l2:1048576,l3:33554432
//   lint     sizes as above, or `estimates` for those of the generator: the report has notes on what is slow there; without a
//            report they are printed
//   describe a JSON file to write in place of all that: what there is to schedule at `sizes`, or at what the
//            generator estimates; a script says what of that is fixed, and nothing is applied
//   devices  of CUDA kernels: sm_80,sm_90a and others, with emulator among them for the host to run   cuda   a file for
//            their printed source

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include <dlfcn.h>

#include <Halide.h>
#include <nlohmann/json.hpp>

#include "lowering/host/argument_checks.h"
#include "language/autoschedule.h"
#include "lowering/cuda/simt/barriers.h"
#include "language/binding.h"
#include "language/code_size.h"
#include "lowering/cuda/print/compile.h"
#include "language/describe.h"
#include "language/effects.h"
#include "lowering/guarded_loads.h"
#include "lowering/host/empty_calls.h"
#include "lowering/host/unread_inputs.h"
#include "lowering/host/half_nan.h"
#include "lowering/host/verbose_calls.h"
#include "lowering/host/narrow_masks.h"
#include "lowering/host/single_elements.h"
#include "lowering/host/stack_size.h"
#include "language/fixed_part.h"
#include "language/halide_texts.h"
#include "language/lint_report.h"
#include "language/look.h"
#include "language/lua_text.h"
#include "language/nest.h"
#include "lowering/cuda/offload.h"
#include "language/places.h"
#include "language/plugin_settings.h"
#include "language/script.h"
#include "language/traffic_report.h"
#include "language/unsafe_loops.h"
#include "language/version_choice.h"
#include "language/versions.h"
#include "lowering/host/vector_math.h"

namespace halyard {

namespace {

using nlohmann::json;

json to_json(const std::vector<NestLine> &nest, const LuaHost &host) {
    json lines = json::array();
    for (const auto &l : nest) {
        json j = {{"text", l.text}};
        if (l.line > 0) {
            j["file"] = l.file;
            j["line"] = l.line;
            j["source"] = host.source_line(l.file, l.line);
        }
        lines.push_back(std::move(j));
    }
    return lines;
}

json to_json(const Diagnostic &d) {
    return {{"file", d.file}, {"line", d.line},     {"word", d.word},  {"message", d.message},
            {"hint", d.hint}, {"inside", d.inside}, {"text", d.text()}};
}

ScriptOptions script_options(const PluginSettings &settings, const Halide::Target &target) {
    ScriptOptions options;
    options.set = settings.set;
    options.facts = settings.facts;
    options.lib_dirs = settings.lib;
    options.target = target.to_string();
    return options;
}

// What the generator and the schedule fix of each array: its type, and extents and strides that are numbers.
json arguments_json(const PipelineView &view, const std::set<std::string> &constant) {
    json arguments = json::object();
    const auto add = [&](const std::string &name, const Halide::Parameter &p, bool is_output) {
        std::ostringstream type;
        type << p.type();
        json extents = json::array(), strides = json::array();
        for (int d = 0; d < p.dimensions(); d++) {
            const auto number = [](const Halide::Expr &e) { return Halide::Internal::as_const_int(e); };
            const auto extent = number(p.extent_constraint(d)), stride = number(p.stride_constraint(d));
            extents.push_back(extent ? json(*extent) : json());
            strides.push_back(stride ? json(*stride) : json());
        }
        arguments[name] = {{"type", type.str()},
                           {"extents", extents},
                           {"strides", strides},
                           {"output", is_output},
                           {"constant", constant.count(p.name()) > 0}};
    };
    for (const auto &[name, f] : view.funcs()) {
        if (f.parameter.defined()) {
            add(name, f.parameter, false);
        } else if (f.is_output) {
            add(name, f.function.output_buffers().front(), true);
        }
    }
    return arguments;
}

// What there is to schedule, and what of it a script fixes. An error of the script stands in the file too.
void write_description(const PluginSettings &settings, const Halide::Pipeline &pipeline, const Halide::Target &target) {
    PipelineView view(pipeline);
    const BufferSizes sizes = settings.sizes.empty() ? estimated_sizes(view) : parse_sizes(settings.sizes);
    const std::string &script = settings.script;
    json j;
    try {
        if (!script.empty()) {
            set_numbers_of_script(pipeline, view, script, script_options(settings, target), sizes);
            view = PipelineView(pipeline);
        }
        j = describe(pipeline, view, target, sizes);
        if (!script.empty()) {
            j["script"] = describe_script(view, target, script, script_options(settings, target), sizes);
        }
    } catch (const ScriptError &e) {
        j = {{"error", e.what()}};
    } catch (const std::invalid_argument &e) {
        j = {{"error", e.what()}};
    }
    std::ofstream(settings.describe) << j.dump(-1, ' ', false, json::error_handler_t::replace);
}

// One run of a script over one pipeline. It outlives the autoscheduler call, since Halide may
// still find an error in the schedule when it lowers the pipeline.
class Session {
public:
    Session(const Halide::Pipeline &pipeline, const Halide::Target &target, const PluginSettings &settings)
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
                Halide::Pipeline(pipeline).add_custom_lowering_pass(new Attributed(*this, bound_stack()));
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
            Halide::Pipeline(pipeline).add_custom_lowering_pass(check_arguments(settings.function, indices).release());
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

    /** Halide's message on this pipeline, with the script line that it is about. */
    Diagnostic attribute(const std::string &message) {
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

    bool applied() const {
        return applied_;
    }

private:
    // What most schedules lack of which Halide says nothing that helps.
    static std::string say_where_computed(const PipelineView &view) {
        std::vector<std::string> missing;
        for (const auto &[name, f] : view.funcs()) {
            if (!f.is_output && !f.parameter.defined() && !f.function.can_be_inlined() && is_unplaced(f.function)) {
                missing.push_back("k." + name);
            }
        }
        return missing.empty() ? ""
                               : "say where the reductions are computed, by compute_root() or compute_at(...): " + quoted_list(missing);
    }

    void add_step(const Touch &t) {
        json nest = json::array();
        try {
            for (const auto &l : loop_nest(view_, {})) {
                nest.push_back(l.text);
            }
        } catch (const Halide::Error &) {
            // In the middle of a script a schedule may be one that Halide cannot show yet.
        }
        steps_.push_back({{"file", t.file},
                          {"line", t.line},
                          {"word", t.word},
                          {"source", script_->host().source_line(t.file, t.line)},
                          {"nest", nest}});
    }

    // Halide compiles for a Zen what a level asks for that Intel's processors have too (finish_ir.cpp).
    static bool is_for_zen(const Halide::Target &target) {
        return target.has_feature(Halide::Target::AVX512_Zen4) && !target.has_feature(Halide::Target::AVX512_SapphireRapids);
    }

    // Halide converts by integer arithmetic what the target has an instruction for.
    bool converts_to_bf16(const Halide::Target &target) const {
        if (!target.has_feature(Halide::Target::AVX512_SapphireRapids)) {
            return false;
        }
        for (const auto &f : view_.funcs()) {
            for (const auto &type : f.second.function.output_types()) {
                if (type.is_bfloat() && !f.second.parameter.defined()) {
                    return true;
                }
            }
        }
        return false;
    }

    // Halide is told to make machine code of what it lowers next, but it is the finishing step's that counts (late_objects.c).
    static void leave_object_to_finishing(const Halide::Target &target) {
        void *const later = dlsym(RTLD_DEFAULT, "halyard_object_comes_later");
        if (later && !target.has_feature(Halide::Target::CUDA)) {  // which comes without bitcode to finish
            *static_cast<int *>(later) = 1;
        }
    }

    // What starts emulated kernels gets no passes of LLVM (quick_host_code.c).
    static void leave_host_code_as_it_is() {
        if (void *const quick = dlsym(RTLD_DEFAULT, "halyard_host_code_is_quick")) {
            *static_cast<int *>(quick) = 1;
        }
    }

    // The copy shares its contents with the pipeline that Halide is about to lower.
    void add_passes(Halide::Pipeline copy, const Halide::Target &target, const TargetFacts &facts) {
        finish_ = will_finish_ && (is_for_zen(target) || converts_to_bf16(target));
        std::vector<Streamed> streamed = binding_->streamed();
        const std::vector<TileProduct> &products = binding_->tile_products();
        const std::vector<SpreadPrefetch> &prefetches = binding_->prefetches();
        const std::vector<AheadPrefetch> &ahead = binding_->prefetches_ahead();
        if ((streamed.empty() && products.empty() && prefetches.empty() && ahead.empty()) || target.arch != Halide::Target::X86 ||
            target.has_feature(Halide::Target::CUDA)) {
            return;
        }
        if (!will_finish_) {
            for (const char *word : {streamed.empty() ? "" : "stream", products.empty() ? "" : "mma",
                                     prefetches.empty() ? "" : "prefetch_over", ahead.empty() ? "" : "prefetch_ahead"}) {
                if (*word) {
                    std::cerr << "note: " << script_path_ << ": the word " << word << " has no effect without `halyard build`\n";
                }
            }
            return;
        }
        if (!products.empty()) {
            std::map<std::string, int> outputs;
            for (const Halide::Func &f : copy.outputs()) {
                outputs[f.name()] = f.dimensions();
            }
            copy.add_custom_lowering_pass(multiply_in_tiles(products, outputs, facts.l2 / 2).release());
            finish_ = true;
        }
        if (!streamed.empty()) {
            for (auto &s : streamed) {
                s.above = s.above < 0 ? facts.l3 / 2 : s.above;
            }
            copy.add_custom_lowering_pass(mark_streamed_stores(std::move(streamed)).release());
            finish_ = true;
        }
        if (!prefetches.empty()) {
            copy.add_custom_lowering_pass(spread_prefetches(prefetches).release());
            finish_ = true;
        }
        if (!ahead.empty()) {
            copy.add_custom_lowering_pass(prefetch_ahead(ahead).release());
            finish_ = true;
        }
    }

    std::unique_ptr<Binding> new_binding(PipelineView &view, const Halide::Target &target) {
        auto binding = std::make_unique<Binding>(script_->host(), view);
        binding->target = target;
        binding->before_word = [this](const Touch &t) { write_last(t); };
        binding->on_late_error = [this](const Diagnostic &d) { write_report(&d); };
        return binding;
    }

    // Of the first of several targets, and of the version that a call of the sizes takes.
    void prepare_notes(const PluginSettings &settings, const Halide::Target &target, const ScriptOptions &options,
                       const std::vector<ScheduleVersion> &versions) {
        static std::set<std::string> noted;
        if (settings.lint.empty() || (!settings.report.empty() && !noted.insert(settings.report).second)) {
            return;
        }
        notes_ = std::make_unique<LintReport>(view_, target, target_facts(options.target, options.facts), settings.lint);
        noted_version_ = size_t(&version_at(versions, notes_->sizes()) - versions.data());
    }

    static void add_look(Halide::Pipeline copy, std::function<void(const Halide::Internal::Stmt &)> look) {
        copy.add_custom_lowering_pass(new Look(std::move(look), true));
    }

    void look_at(const Halide::Internal::Stmt &lowered, const Binding &binding) {
        notes_->look(lowered, binding, script_->header());
        if (binding.target.has_feature(Halide::Target::CUDA)) {
            end_notes();
        }
    }

    void end_notes() {
        if (!report_path_.empty()) {
            write_report(nullptr);
            return;
        }
        for (const auto &line : notes_->lines()) {
            std::cerr << line << "\n";
        }
    }

    // Before the schedule is applied to the pipeline itself.
    void add_version(const Halide::Pipeline &pipeline, const Halide::Target &target, const ScheduleVersion &version) {
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

    // Before Halide lowers it. Throws ScriptError.
    CodeSize checked_size(const PipelineView &view, const Binding &binding, const Halide::Target &target) const {
        Replaced replaced;
        for (const auto &p : binding.tile_products()) {
            replaced.insert({p.func.name(), p.stage});
        }
        CodeSize size = code_size(view, target, binding.touches(), replaced);
        check_code_size(size, script_path_);
        return size;
    }

    // Should the compiler die of a directive or later, this is what whoever started this finds.
    void write_last(const Touch &t) const {
        if (!report_path_.empty()) {
            std::ofstream(report_path_ + ".last") << json{{"file", t.file}, {"line", t.line}, {"word", t.word}, {"func", t.func}}.dump(
                -1, ' ', false, json::error_handler_t::replace);
        }
    }

    json large_loops() const {
        constexpr size_t kShown = 3;
        constexpr int64_t kUsual = 64;
        json large = json::array();
        for (const WrittenOut &l : size_.loops) {
            if (l.times > kUsual && large.size() < kShown) {
                large.push_back({{"func", l.func},
                                 {"loop", l.loop},
                                 {"times", l.times},
                                 {"file", l.by.file},
                                 {"line", l.by.line},
                                 {"word", l.by.word}});
            }
        }
        return large;
    }

    // What can be told of a schedule only when all of it was said.
    static void finish_script(const Halide::Pipeline &pipeline, const Binding &binding) {
        check_placed(binding, binding.view());
        check_buffers_in_turn(binding, binding.view());
        check_fused_async(binding, binding.view());
        check_places(binding, binding.view());
        check_unsafe_loops(binding, binding.view());
        store_in_registers(binding.view());
        binding.add_requirements(pipeline);
    }

    void add_cuda_pass(Halide::Pipeline copy, const Halide::Target &target, const PluginSettings &settings) {
        if (!target.has_feature(Halide::Target::CUDA)) {
            return;
        }
        CudaOptions o;
        o.name = script_->header().op;
        o.outputs = names_of_outputs(copy.outputs());
        o.wide_indices = target.has_feature(Halide::Target::LargeBuffers);
        std::istringstream devices(settings.devices);
        for (std::string d; std::getline(devices, d, ',');) {
            if (d == "emulator") {
                o.emulated = true;
                leave_host_code_as_it_is();
            } else {
                o.architectures.push_back(d);
            }
        }
        if (o.architectures.empty()) {
            o.architectures = default_architectures();
        }
        o.source_file = settings.cuda;
        if (want_passes_) {
            o.observe = [this](const PassRun &p) { add_pass(p); };
        }
        find_constant(settings.constant);
        o.schedule = cuda_schedule(view_, *binding_, constant_);
        const bool tells = !settings.function.empty();
        o.text = tells ? rest_ : "";
        for (auto &v : versions_) {
            const bool noted = notes_ && noted_version_ == o.versions.size();
            const auto lowered = [this, &v, target, noted] {
                at_work_ = &v;  // until its kernels are printed, which is next
                const Halide::Internal::Stmt s = v.pipeline->lowered(script_->header().op, target);
                if (noted) {
                    look_at(s, *v.pipeline->binding);
                }
                return s;
            };
            o.versions.push_back(
                {v.condition, tells ? v.text : "", lowered, cuda_schedule(v.pipeline->view(), *v.pipeline->binding, constant_)});
        }
        o.fail = [this](const std::string &func, const std::string &message) { throw Halide::CompileError(func + " " + message); };
        copy.add_custom_lowering_pass(new Attributed(*this, offload_to_cuda(std::move(o))));
    }

    // Inputs by the names that the pipeline has for them.
    void find_constant(const std::vector<std::string> &names) {
        std::vector<std::string> inputs;
        for (const auto &[name, f] : view_.funcs()) {
            if (f.parameter.defined()) {
                inputs.push_back(name);
                if (std::find(names.begin(), names.end(), name) != names.end()) {
                    constant_.insert(f.parameter.name());
                }
            }
        }
        for (const auto &name : names) {
            if (std::find(inputs.begin(), inputs.end(), name) == inputs.end()) {
                throw Halide::CompileError("--constant: there is no input \"" + name + "\"; there are " + quoted_list(inputs));
            }
        }
    }

    void add_pass(const PassRun &p) {
        json pass = {{"kernel", p.kernel}, {"form", p.form}, {"pass", p.pass}, {"seconds", p.seconds}};
        if (p.pass == after_) {
            std::ostringstream text;
            text << p.after;
            pass["after"] = text.str();
        }
        passes_.push_back(std::move(pass));
    }

    // A pass whose errors are errors of the script, at the line that they are about.
    class Attributed : public Halide::Internal::IRMutator {
    public:
        Attributed(Session &session, std::unique_ptr<Halide::Internal::IRMutator> pass) : session_(session), pass_(std::move(pass)) {}

        using IRMutator::mutate;
        Halide::Internal::Stmt mutate(const Halide::Internal::Stmt &s) override {
            std::string problem;
            try {
                Halide::Internal::Stmt result = pass_->mutate(s);
                session_.at_work_ = nullptr;
                if (session_.want_passes_) {
                    session_.write_report(nullptr);
                }
                return result;
            } catch (const Halide::Error &e) {
                problem = e.what();
            }
            // Those that have a line already begin with a new one.
            throw Halide::CompileError(problem.rfind('\n', 0) == 0 ? problem : "\n" + session_.attribute(problem).text());
        }

    private:
        Session &session_;
        std::unique_ptr<Halide::Internal::IRMutator> pass_;
    };

    static void add_empty_pass(Halide::Pipeline copy) {
        copy.add_custom_lowering_pass(skip_empty_calls(copy.outputs()).release());
    }

    // What a script says of kernels.
    static CudaSchedule cuda_schedule(const PipelineView &view, const Binding &binding, const std::set<std::string> &constant) {
        std::vector<Halide::Internal::Function> funcs;
        for (const auto &f : view.funcs()) {
            funcs.push_back(f.second.function);
        }
        keep_waiting_loops_whole(funcs);
        CudaSchedule o;
        for (const auto &s : binding.streamed()) {
            for (size_t i = 0; i < s.func.output_types().size(); i++) {
                o.streamed.insert(s.func.name() + (s.func.outputs() > 1 ? "." + std::to_string(i) : ""));
            }
        }
        for (const auto &[name, place] : thread_places(view)) {
            o.places[name] = place.around > 0 ? std::max(place.nest - place.around, 0) : 3;
        }
        o.resident = binding.resident();
        o.before_wait = {binding.prefetched_at_launch(), constant};
        for (const auto &f : binding.fetched()) {
            o.fetched[f.func.name()] = f.ahead;
        }
        for (const auto &p : binding.tile_products()) {
            o.products.push_back({p.func.name(), p.stage, p.stages, p.raster, p.cluster, p.warps, p.ping_pong, p.fail});
        }
        o.note = [&binding](const std::string &func) { return note(func, binding); };
        return o;
    }

    // Which stages are products on matrix units.
    void add_products(json &traffic) const {
        traffic["products"] = json::array();
        for (const auto &p : binding_->tile_products()) {
            traffic["products"].push_back({{"func", view_.name_of(p.func.name())}, {"update", p.stage}});
        }
    }

    // Funcs whose parallel loops will be one: counted one after the other, which for a thread they are.
    void add_side_by_side(json &traffic) const {
        traffic["side_by_side"] = json::array();
        for (const auto &group : binding_->side_by_side()) {
            traffic["side_by_side"].push_back(group.names);
        }
    }

    // The line of the script that last said where a Func is computed.
    static std::string note(const std::string &func, const Binding &binding) {
        std::string text;
        for (const auto &t : binding.touches()) {
            if (t.func == func && !t.file.empty()) {
                text = func + ": " + t.file.substr(t.file.rfind('/') + 1) + ":" + std::to_string(t.line);
            }
        }
        // It is a comment of one line in what is compiled.
        std::replace_if(
            text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == '\\'; }, '?');
        return text;
    }

    // The same schedule as a script that calls no autoscheduler.
    void add_translation(const Translation &t, json &report) const {
        if (!t.problem.empty()) {
            report["lua_problem"] = t.problem;
            return;
        }
        const ScriptHeader &h = script_->header();
        std::vector<std::string> comment = {h.op + " as Halide's " + t.scheduler + " schedules it, for " + std::to_string(t.threads) +
                                            (h.target == "cuda" ? " multiprocessors, at" : " threads, at")};
        std::istringstream sizes(t.sizes);
        for (std::string s; std::getline(sizes, s, ',');) {
            if (comment.back().size() + s.size() > 105) {
                comment.emplace_back();
            }
            comment.back() += (comment.back().empty() ? "" : " ") + s;
        }
        report["lua"] = lua_head(h.op, h.target.empty() ? "cpu" : h.target, comment, h.generator, "k") + t.statements + lua_tail();
    }

    void write_report(const Diagnostic *error) {
        if (report_path_.empty()) {
            return;
        }
        // A build for several targets runs this once each; the report is that of the first one, or
        // of the first that failed. The finishing step is for all if one needs it.
        static std::set<std::string> written;
        if (!error && !written.insert(report_path_).second && !written_here_) {
            if (finish_) {
                json first = json::parse(std::ifstream(report_path_), nullptr, false);
                first["finish"] = true;
                write(first);
            }
            return;
        }
        written_here_ = true;
        json r = {{"ok", error == nullptr}, {"script", script_path_}, {"target", target_}, {"finish", finish_}};
        if (script_) {
            const ScriptHeader &h = script_->header();
            r["op"] = h.op;
            r["files"] = h.files;
            r["generator"] = h.generator;
            r["params"] = json::object();
            for (const auto &p : h.params) {
                r["params"][p.name] = p.value;
            }
        }
        if (error) {
            r["error"] = to_json(*error);
        } else {
            try {
                r["nest"] = to_json(loop_nest(view_, binding_->touches()), script_->host());
            } catch (const Halide::Error &) {
                // Lowering will say what is wrong.
            }
        }
        r["arguments"] = arguments_json(view_, constant_);
        r["large"] = large_loops();
        r["code"] = {{"copies", size_.copies}, {"operations", size_.nodes}};
        if (want_steps_) {
            r["steps"] = steps_;
        }
        if (want_passes_) {
            r["passes"] = passes_;
        }
        if (binding_ && binding_->translation) {
            add_translation(*binding_->translation, r);
        }
        if (notes_) {
            r["notes"] = notes_->lines();
        }
        if (!traffic_.is_null()) {
            r["traffic"] = traffic_;
        }
        if (!version_choice_.is_null()) {
            r["version"] = version_choice_;
        }
        write(r);
    }

    void write(const json &report) const {
        std::ofstream(report_path_) << report.dump(1, ' ', false, json::error_handler_t::replace) << "\n";
    }

    PipelineView view_;
    std::string report_path_, script_path_, target_;
    bool written_here_ = false;
    bool will_finish_;
    bool finish_ = false;  // the library needs the finishing step
    bool want_steps_, want_passes_;
    std::set<std::string> constant_;  // inputs that no other kernel writes meanwhile, as Halide calls them
    std::string after_;               // the pass of which the report has what it left
    bool applied_ = false;
    CodeSize size_;  // that the schedule asks for
    std::unique_ptr<Script> script_;
    std::unique_ptr<Binding> binding_;
    struct Version {
        Halide::Expr condition;
        std::string text;
        std::unique_ptr<VersionedPipeline> pipeline;
    };
    std::vector<Version> versions_;     // but the last, which is the pipeline itself
    const Version *at_work_ = nullptr;  // of these; null where it is the last
    std::string rest_;                  // the text of that
    json version_choice_;               // for the sizes of the report, where there are several
    json steps_ = json::array(), passes_ = json::array();
    std::unique_ptr<TrafficReport> traffic_report_;
    std::unique_ptr<LintReport> notes_;
    size_t noted_version_ = 0;  // among the versions
    json traffic_;
};

// `halide_error_explicit_bounds_too_small("row", "f", 2, 5)` as "explicit bounds too small (...)".
std::string check_name(std::string call) {
    const std::string prefix = "halide_error_";
    const size_t begin = call.find(prefix), end = call.find('(');
    if (begin == std::string::npos || end == std::string::npos || end < begin) {
        return call;
    }
    std::replace(call.begin() + long(begin), call.begin() + long(end), '_', ' ');
    return call.substr(begin + prefix.size(), end - begin - prefix.size()) + " " + call.substr(end);
}

// Errors that Halide raises after the script has ended become messages about the script.
class AttributeErrors : public Halide::CompileTimeErrorReporter {
public:
    std::unique_ptr<Session> session;

    void begin() {
        reported_ = false;
    }

    void warning(const char *msg) override {
        // What follows such an assertion is dropped, and with it, at times, the assertion: the library would return
        // success and write nothing.
        const std::string never = "This pipeline is guaranteed to fail an assertion at runtime:", text = halide_message(msg);
        const size_t at = text.find(never);
        if (at != std::string::npos && session && session->applied() && !reported_) {
            reported_ = true;
            throw Halide::CompileError(
                "\n" + session->attribute("promises what no call can keep: " + check_name(text.substr(at + never.size()))).text());
        }
        std::cerr << "warning: " << halide_message(msg) << "\n";
    }

    [[noreturn]] void error(const char *msg) override {
        // Halide reports an exception that is in flight once more on its way out.
        if (session && session->applied() && !reported_) {
            reported_ = true;
            throw Halide::CompileError("\n" + session->attribute(msg).text());
        }
        throw Halide::CompileError(msg);
    }

private:
    bool reported_ = false;
};

AttributeErrors &reporter() {
    static auto *r = new AttributeErrors;  // used until the process ends
    return *r;
}

PluginSettings settings_of(const std::map<std::string, std::string> &words) {
    try {
        return plugin_settings(words);
    } catch (const std::invalid_argument &e) {
        Diagnostic d;
        d.file = words.count("script") ? words.at("script") : "";
        d.message = e.what();
        throw ScriptError(d);
    }
}

void schedule_by_lua(const Halide::Pipeline &pipeline, const Halide::Target &target, const Halide::AutoschedulerParams &params,
                     Halide::AutoSchedulerResults *results) {
    reporter().session.reset();
    try {
        const PluginSettings settings = settings_of(params.extra);
        if (!settings.describe.empty()) {
            write_description(settings, pipeline, target);
            // Nobody wants the rest. Without a schedule Halide would inline all there is, of which a chain of windows is without end.
            std::_Exit(0);
        }
        reporter().session = std::make_unique<Session>(pipeline, target, settings);
    } catch (const ScriptError &e) {
        // The stock generator main prints "Unhandled exception: " first: put the message on a line of its own.
        throw Halide::CompileError(std::string("\n") + e.what());
    }
    reporter().begin();
    Halide::set_custom_compile_time_error_reporter(&reporter());
    results->target = target;
    results->autoscheduler_params = params;
}

struct Register {
    Register() {
        Halide::Pipeline::add_autoscheduler("Lua", schedule_by_lua);
    }
} register_plugin;

}  // namespace

}  // namespace halyard
