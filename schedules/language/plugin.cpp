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
//   own      the name of the generator: the report has the schedule that it has itself, with `params`, and nothing is applied
//   params   name=value,... for it
//   devices  of CUDA kernels: sm_80,sm_90a and others, with emulator among them for the host to run   cuda   a file for
//            their printed source

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

#include <Halide.h>
#include <nlohmann/json.hpp>

#include "language/describe.h"
#include "language/fixed_part.h"
#include "language/halide_texts.h"
#include "language/own_schedule.h"
#include "language/plugin_settings.h"
#include "language/session.h"

namespace halyard {

namespace {

using nlohmann::json;

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
        if (!settings.own.empty()) {
            std::ofstream(settings.report) << own_schedule(pipeline, target, settings.own, settings.params).dump();
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
