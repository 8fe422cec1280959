#include "kernel/heads.h"

#include <csignal>

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernel/confine.h"
#include "kernel/failure.h"
#include "kernel/json_text.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/text.h"

namespace halyard {

namespace {

using nlohmann::json;

// The sandbox itself needs 64 MiB, and what it hands over about as much.
constexpr int64_t kMemory = int64_t(512) << 20;

json to_json(const HeadRequest &r) {
    return {{"script", r.script},       {"set", r.options.set},           {"params", r.options.params},
            {"facts", r.options.facts}, {"lib_dirs", r.options.lib_dirs}, {"target", r.options.target}};
}

ScriptHeader header_of(const json &j) {
    ScriptHeader h;
    h.op = j.at("op");
    h.target = j.at("target");
    h.summary = j.at("summary");
    for (const auto &p : j.at("params")) {
        h.params.push_back({p.at("name"), p.at("choices"), p.at("value"), p.at("generator"), p.at("searched")});
    }
    h.generator = j.at("generator").get<std::map<std::string, std::string>>();
    h.requires_features = j.at("requires").get<std::vector<std::string>>();
    h.line = j.at("line");
    h.files = j.at("files").get<std::vector<std::string>>();
    return h;
}

Head head_of(const std::string &program, const json &j) {
    Head h;
    h.ok = j.contains("head");
    try {
        if (h.ok) {
            h.header = header_of(j["head"]);
        } else {
            const json &e = j.at("error");
            h.error.file = e.at("file");
            h.error.line = e.at("line");
            h.error.word = e.at("word");
            h.error.message = e.at("message");
            h.error.hint = e.at("hint");
            h.error.inside = e.value("inside", "");
        }
    } catch (const json::exception &e) {
        throw Failure(fmt::format("{}: error: its answer is none that this command knows: {}\n  {}", program, e.what(), how_to_build()));
    }
    return h;
}

// The script at which the process ended.
Head failed_at(const std::string &script, const ProcessResult &r, double timeout) {
    Head h;
    h.error.file = script;
    if (r.timed_out) {
        h.error.message = fmt::format("its head was not read within {:g} s", timeout);
    } else if (r.signal == SIGXCPU || r.signal == SIGALRM) {
        h.error.message = fmt::format("its head took more {} than the {:g} s that a script has",
                                      r.signal == SIGXCPU ? "processor time" : "time", Limits().seconds);
    } else if (r.err.find("bad_alloc") != std::string::npos) {
        h.error.message = fmt::format("its head needs more than {} MiB of memory", kMemory >> 20);
    } else {
        h.error.message = fmt::format("the process that reads its head {}", describe_end(r, timeout));
    }
    h.error.hint = "the head is all of a script but what `apply` and `versions` do: it describes, and computes nothing";
    return h;
}

// It reads scripts, and writes nothing.
Confinement confinement(const std::string &program, const std::vector<HeadRequest> &requests) {
    Confinement c = confinement_of(program, {});
    std::set<std::string> files;
    for (const auto &r : requests) {
        for (const auto &file : files_of_script(r.script, r.options.lib_dirs)) {
            files.insert(file);
        }
    }
    c.reads.insert(c.reads.end(), files.begin(), files.end());
    return c;
}

}  // namespace

std::vector<Head> read_heads(const std::vector<HeadRequest> &requests, double timeout) {
    std::vector<Head> heads;
    const std::string &program = require_piece(paths().heads, "what reads the heads of scripts");
    while (heads.size() < requests.size()) {
        json request = {{"seconds", std::min(Limits().seconds, 0.8 * timeout)}, {"wall_seconds", 0.8 * timeout}, {"heads", json::array()}};
        for (size_t i = heads.size(); i < requests.size(); i++) {
            request["heads"].push_back(to_json(requests[i]));
        }
        ProcessOptions options;
        options.timeout = timeout;
        options.memory_bytes = kMemory;
        options.input = request.dump(-1, ' ', false, json::error_handler_t::replace);
        options.end_group = true;
        const ProcessResult r = run_confined({program}, options, confinement(program, requests));
        fmt::print(stderr, "{}", without_control_characters(r.err));  // what scripts printed
        for (const auto &line : split(r.out, '\n')) {
            const json answer = parse_if_json(line);
            if (answer.is_object() && heads.size() < requests.size()) {
                heads.push_back(head_of(program, answer));
            }
        }
        // Others may be better than the one at which it ended.
        while (heads.size() < requests.size() && (r.timed_out || !r.ok())) {
            heads.push_back(failed_at(requests[heads.size()].script, r, timeout));
            if (!r.timed_out) {
                break;
            }
        }
        if (r.ok() && heads.size() < requests.size()) {
            throw Failure(fmt::format("{}: error: gave no answer\n  {}", program, how_to_build()));
        }
    }
    return heads;
}

std::vector<Head> read_heads(const std::vector<std::string> &scripts) {
    std::vector<HeadRequest> requests;
    for (const auto &s : scripts) {
        requests.push_back({s, {}});
        requests.back().options.lib_dirs = {paths().schedules};
    }
    return read_heads(requests, 20 + Limits().seconds * double(scripts.size()));
}

ScriptHeader read_head(const std::string &script, const ScriptOptions &options, double timeout) {
    const Head h = read_heads({{script, options}}, timeout).front();
    if (!h.ok) {
        throw ScriptError(h.error);
    }
    return h.header;
}

}  // namespace halyard
