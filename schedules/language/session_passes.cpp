// The passes that a session adds behind Halide's lowering: those of words, and the CUDA backend.

#include "language/session.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <sstream>

#include <dlfcn.h>

#include "language/places.h"
#include "lowering/cuda/print/compile.h"
#include "lowering/cuda/simt/barriers.h"
#include "lowering/host/empty_calls.h"
#include "lowering/host/unread_inputs.h"

namespace halyard {

// A pass whose errors are errors of the script, at the line that they are about.
class Session::Attributed : public Halide::Internal::IRMutator {
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

void Session::add_attributed(Halide::Pipeline copy, std::unique_ptr<Halide::Internal::IRMutator> pass) {
    copy.add_custom_lowering_pass(new Attributed(*this, std::move(pass)));
}

bool Session::names_processor(const Halide::Target &target) {
    return target.has_feature(Halide::Target::AVX512_Zen4) || target.has_feature(Halide::Target::AVX512_SapphireRapids);
}

void Session::leave_object_to_finishing(const Halide::Target &target) {
    void *const later = dlsym(RTLD_DEFAULT, "halyard_object_comes_later");
    if (later && !target.has_feature(Halide::Target::CUDA)) {  // which comes without bitcode to finish
        *static_cast<int *>(later) = 1;
    }
}

void Session::leave_host_code_as_it_is() {
    if (void *const quick = dlsym(RTLD_DEFAULT, "halyard_host_code_is_quick")) {
        *static_cast<int *>(quick) = 1;
    }
}

void Session::add_passes(Halide::Pipeline copy, const Halide::Target &target, const TargetFacts &facts) {
    finish_ = will_finish_ && names_processor(target);
    std::vector<Streamed> streamed = binding_->streamed();
    const std::vector<TileProduct> &products = binding_->tile_products();
    const std::vector<SpreadPrefetch> &prefetches = binding_->prefetches();
    const std::vector<AheadPrefetch> &ahead = binding_->prefetches_ahead();
    if ((streamed.empty() && products.empty() && prefetches.empty() && ahead.empty()) || target.arch != Halide::Target::X86 ||
        target.has_feature(Halide::Target::CUDA)) {
        return;
    }
    if (!will_finish_) {
        for (const char *word : {streamed.empty() ? "" : "stream", products.empty() ? "" : "mma", prefetches.empty() ? "" : "prefetch_over",
                                 ahead.empty() ? "" : "prefetch_ahead"}) {
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

void Session::add_cuda_pass(Halide::Pipeline copy, const Halide::Target &target, const PluginSettings &settings) {
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
    o.schedule = cuda_schedule(view_, *binding_);
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
        o.versions.push_back({v.condition, tells ? v.text : "", lowered, cuda_schedule(v.pipeline->view(), *v.pipeline->binding)});
    }
    o.fail = [this](const std::string &func, const std::string &message) { throw Halide::CompileError(func + " " + message); };
    add_attributed(copy, offload_to_cuda(std::move(o)));
}

void Session::add_empty_pass(Halide::Pipeline copy) {
    copy.add_custom_lowering_pass(skip_empty_calls(copy.outputs()).release());
}

void Session::find_constant(const std::vector<std::string> &names) {
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

CudaSchedule Session::cuda_schedule(const PipelineView &view, const Binding &binding) const {
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
    o.before_wait = {binding.prefetched_at_launch(), constant_};
    for (const auto &f : binding.fetched()) {
        o.fetched[f.func.name()] = f.ahead;
    }
    for (const auto &p : binding.tile_products()) {
        o.products.push_back({p.func.name(), p.stage, p.stages, p.raster, p.cluster, p.warps, p.ping_pong, p.fail});
    }
    o.note = [&binding](const std::string &func) { return note(func, binding); };
    return o;
}

std::string Session::note(const std::string &func, const Binding &binding) {
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

}  // namespace halyard
