#ifndef HALYARD_SESSION_H
#define HALYARD_SESSION_H

/** \file
 * One run of a script over one pipeline: the schedule, the passes that follow Halide's lowering, and the report.
 * session.cpp applies the script, session_passes.cpp adds the passes, session_report.cpp writes what came of it.
 */

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <Halide.h>
#include <nlohmann/json.hpp>

#include "language/binding.h"
#include "language/code_size.h"
#include "language/lint_report.h"
#include "language/plugin_settings.h"
#include "language/script.h"
#include "language/traffic_report.h"
#include "language/version_choice.h"
#include "language/versions.h"
#include "lowering/cuda/offload.h"

namespace halyard {

/** What a script is run with, for a target of Halide's. */
ScriptOptions script_options(const PluginSettings &settings, const Halide::Target &target);

/** It outlives the autoscheduler call, since Halide may still find an error in the schedule when it lowers the pipeline. */
class Session {
public:
    Session(const Halide::Pipeline &pipeline, const Halide::Target &target, const PluginSettings &settings);

    /** Halide's message on this pipeline, with the script line that it is about. */
    Diagnostic attribute(const std::string &message);

    bool applied() const;

private:
    // session.cpp

    // What most schedules lack of which Halide says nothing that helps.
    static std::string say_where_computed(const PipelineView &view);
    std::unique_ptr<Binding> new_binding(PipelineView &view, const Halide::Target &target);
    // Of the first of several targets, and of the version that a call of the sizes takes.
    void prepare_notes(const PluginSettings &settings, const Halide::Target &target, const ScriptOptions &options,
                       const std::vector<ScheduleVersion> &versions);
    static void add_look(Halide::Pipeline copy, std::function<void(const Halide::Internal::Stmt &)> look);
    void look_at(const Halide::Internal::Stmt &lowered, const Binding &binding);
    void end_notes();
    // Before the schedule is applied to the pipeline itself.
    void add_version(const Halide::Pipeline &pipeline, const Halide::Target &target, const ScheduleVersion &version);
    // Before Halide lowers it. Throws ScriptError.
    CodeSize checked_size(const PipelineView &view, const Binding &binding, const Halide::Target &target) const;
    // What can be told of a schedule only when all of it was said.
    static void finish_script(const Halide::Pipeline &pipeline, const Binding &binding);

    // session_passes.cpp

    // LLVM compiles for a processor by its name, with features that no target speaks of; and where there is AMX Halide converts to bf16
    // by integer arithmetic what the target has an instruction for (finish_ir.cpp).
    static bool names_processor(const Halide::Target &target);
    // Halide is told to make machine code of what it lowers next, but it is the finishing step's that counts (late_objects.c).
    static void leave_object_to_finishing(const Halide::Target &target);
    // What starts emulated kernels gets no passes of LLVM (quick_host_code.c).
    static void leave_host_code_as_it_is();
    // The copy shares its contents with the pipeline that Halide is about to lower.
    void add_passes(Halide::Pipeline copy, const Halide::Target &target, const TargetFacts &facts);
    void add_cuda_pass(Halide::Pipeline copy, const Halide::Target &target, const PluginSettings &settings);
    static void add_empty_pass(Halide::Pipeline copy);
    // Inputs that no other kernel writes, of these names.
    void find_constant(const std::vector<std::string> &names);
    // What a script says of kernels.
    CudaSchedule cuda_schedule(const PipelineView &view, const Binding &binding) const;
    // The line of the script that last said where a Func is computed.
    static std::string note(const std::string &func, const Binding &binding);
    // A pass whose errors are errors of the script, at the line that they are about.
    class Attributed;
    void add_attributed(Halide::Pipeline copy, std::unique_ptr<Halide::Internal::IRMutator> pass);

    // session_report.cpp

    void write_report(const Diagnostic *error);
    void write(const nlohmann::json &report) const;
    void add_step(const Touch &t);
    void add_pass(const PassRun &p);
    nlohmann::json large_loops() const;
    // Should the compiler die of a directive or later, this is what whoever started this finds.
    void write_last(const Touch &t) const;
    // Which stages are products on matrix units.
    void add_products(nlohmann::json &traffic) const;
    // Funcs whose parallel loops will be one: counted one after the other, which for a thread they are.
    void add_side_by_side(nlohmann::json &traffic) const;
    // The same schedule as a script that calls no autoscheduler.
    void add_translation(const Translation &t, nlohmann::json &report) const;

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
    nlohmann::json version_choice_;     // for the sizes of the report, where there are several
    nlohmann::json steps_ = nlohmann::json::array(), passes_ = nlohmann::json::array();
    std::unique_ptr<TrafficReport> traffic_report_;
    std::unique_ptr<LintReport> notes_;
    size_t noted_version_ = 0;  // among the versions
    nlohmann::json traffic_;
};

}  // namespace halyard

#endif
