// halyard-heads reads the heads of scripts for the command, which runs nothing of a script itself.
//
// Standard input is JSON: {"seconds": 5, "wall_seconds": 15, "heads": [{"script", "set", "params", "facts", "lib_dirs", "target"}, ...]}.
// Standard output gets one line of JSON a head, in their order: {"head": {...}} or {"error": {...}}. A script that
// breaks every limit of the sandbox ends the process, and the heads before it are there.

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <iostream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "language/script.h"

namespace halyard {

namespace {

using nlohmann::json;

void limit(__rlimit_resource resource, rlim_t value) {
    rlimit r = {};
    if (getrlimit(resource, &r) == 0) {
        r.rlim_cur = std::min(r.rlim_max, value);
        setrlimit(resource, &r);
    }
}

// The kernel's own limits for one script, some time behind those of the sandbox.
void limit_next(double seconds) {
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    limit(RLIMIT_CPU, rlim_t(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + rlim_t(std::ceil(seconds)) + 2);
    alarm(unsigned(std::ceil(3 * seconds)) + 5);
}

json to_json(const ScriptHeader &h) {
    json params = json::array();
    for (const auto &t : h.params) {
        params.push_back(
            {{"name", t.name}, {"choices", t.choices}, {"value", t.value}, {"generator", t.is_generator_param}, {"searched", t.searched}});
    }
    return {{"op", h.op},
            {"target", h.target},
            {"summary", h.summary},
            {"params", params},
            {"generator", h.generator},
            {"requires", h.requires_features},
            {"files", h.files},
            {"line", h.line}};
}

json to_json(const Diagnostic &d) {
    return {{"file", d.file}, {"line", d.line}, {"word", d.word}, {"message", d.message}, {"hint", d.hint}, {"inside", d.inside}};
}

json head_of(const json &request, double seconds, double wall_seconds) {
    using Assignments = std::map<std::string, std::string>;
    const std::string script = request.at("script");
    ScriptOptions options;
    options.set = request.at("set").get<Assignments>();
    options.params = request.at("params").get<Assignments>();
    options.facts = request.at("facts").get<Assignments>();
    options.lib_dirs = request.at("lib_dirs").get<std::vector<std::string>>();
    options.target = request.at("target");
    options.limits.seconds = seconds;
    options.limits.wall_seconds = std::min(options.limits.wall_seconds, wall_seconds);
    Diagnostic problem;
    problem.file = script;
    try {
        return {{"head", to_json(read_header(script, options))}};
    } catch (const ScriptError &e) {
        problem = e.diagnostic;
    } catch (const std::bad_alloc &) {
        problem.message = "the script needs more memory than there is for its head";
    }
    return {{"error", to_json(problem)}};
}

}  // namespace

}  // namespace halyard

int main() {
    using namespace halyard;
    limit(RLIMIT_FSIZE, 0);
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    const json request = json::parse(text, nullptr, false);
    if (!request.is_object()) {
        std::cerr << "halyard-heads is started by the halyard command\n";
        return 2;
    }
    const double seconds = request.at("seconds"), wall_seconds = request.at("wall_seconds");
    for (const json &head : request.at("heads")) {
        limit_next(seconds);
        std::cout << head_of(head, seconds, wall_seconds).dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
    }
    return 0;
}
