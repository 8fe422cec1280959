#include "models/reader.h"

#include <cstdlib>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "kernel/confine.h"
#include "kernel/failure.h"
#include "kernel/heads.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/process_limits.h"
#include "kernel/schedules.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard {

namespace {

namespace fs = std::filesystem;

// A Python that has the onnx package: the one that is named, the one that scripts/setup made, or the first of PATH.
std::string python() {
    if (const char *given = std::getenv("HALYARD_PYTHON"); given && *given) {
        return given;
    }
    const fs::path own = fs::path(paths().models) / "../../.halyard/models/bin/python";
    std::error_code ignored;
    return paths().build_tree && fs::exists(own, ignored) ? own.lexically_normal().string() : "python3";
}

std::string in_path(const std::string &program) {
    const char *list = std::getenv("PATH");
    for (const auto &folder : split(program.find('/') == std::string::npos && list ? list : "", ':')) {
        std::error_code ignored;
        if (fs::is_regular_file(fs::path(folder) / program, ignored)) {
            return (fs::path(folder) / program).string();
        }
    }
    return program;
}

// What a Python environment consists of: its folder and those of the Pythons that it leads to.
std::set<std::string> folders_of(const std::string &program) {
    std::set<std::string> folders;
    std::error_code error;
    for (fs::path p = fs::absolute(program); !error;) {
        folders.insert(p.parent_path().parent_path().string());
        const fs::path real = fs::canonical(p.parent_path().parent_path(), error);
        folders.insert(real.string());
        if (!fs::is_symlink(fs::symlink_status(p, error))) {
            break;
        }
        const fs::path next = fs::read_symlink(p, error);
        p = next.is_absolute() ? next : p.parent_path() / next;
    }
    folders.erase("");
    folders.erase("/");
    return folders;
}

// What schedules of the ops that models call leave open: {op: {variant: {parameter: [default, values...]}}}.
nlohmann::json opened() {
    nlohmann::json all = nlohmann::json::object();
    for (const char *op : {"gemm", "gemm_int8", "attention"}) {
        std::vector<std::string> scripts, variants;
        for (const auto &s : schedules_of(op)) {
            const std::string variant = s.name == op ? "" : s.name.substr(std::string(op).size() + 1);
            if (s.place == "cpu" && variant != "unfused") {
                scripts.push_back(s.path);
                variants.push_back(variant);
            }
        }
        const auto heads = read_heads(scripts);
        for (size_t i = 0; i < heads.size(); i++) {
            nlohmann::json open = nlohmann::json::object();
            for (const auto &t : heads[i].header.params) {
                if (t.searched && !t.choices.empty()) {
                    nlohmann::json values = nlohmann::json::array({t.value});
                    for (const auto &c : t.choices) {
                        values.push_back(c);
                    }
                    open[t.name] = values;
                }
            }
            // Weights lie as the shipped one, which is the first, wants them.
            const auto weights = [](const Head &h) {
                const auto found = h.header.generator.find("weights");
                return found == h.header.generator.end() ? "" : found->second;
            };
            if (heads[i].ok && weights(heads[i]) == weights(heads[0])) {
                all[op][variants[i]] = open;
            }
        }
    }
    return all;
}

}  // namespace

nlohmann::json read_model(const ModelRequest &request, const std::string &work) {
    std::error_code error;
    if (!fs::is_regular_file(request.model, error)) {
        throw Failure(fmt::format("{}: error: there is no such file", request.model));
    }
    if (!request.schedule.empty() && !fs::is_regular_file(request.schedule, error)) {
        throw Failure(fmt::format("{}: error: there is no such file", request.schedule));
    }
    nlohmann::json dims = nlohmann::json::object();
    for (const auto &[name, range] : request.dims) {
        dims[name] = {range.first, range.second};
    }
    const nlohmann::json question = {{"model", fs::absolute(request.model).string()},
                                     {"name", request.name},
                                     {"dims", dims},
                                     {"schedule", request.schedule.empty() ? "" : fs::absolute(request.schedule).string()},
                                     {"targets", resolve_targets(request.target)},
                                     {"type", request.type},
                                     {"edits", request.edits},
                                     {"open", request.wants_moves ? opened() : nlohmann::json(nullptr)},
                                     {"folder", request.folder},
                                     {"out", fs::absolute(work).string()}};
    const std::string program = in_path(python());
    Confinement c = confinement_of(program, {});
    const auto folders = folders_of(program);
    c.reads.insert(c.reads.end(), folders.begin(), folders.end());
    c.reads.push_back(require_piece(paths().models, "the program that reads models"));
    c.reads.push_back(fs::absolute(request.model).parent_path().string());  // its weights may lie beside it
    // The file itself may lie elsewhere, as in folders of links that downloads make.
    c.reads.push_back(fs::canonical(request.model, error).string());
    if (!request.schedule.empty()) {
        c.reads.push_back(fs::absolute(request.schedule).parent_path().string());
        c.reads.push_back(fs::canonical(request.schedule, error).string());
    }
    if (!request.folder.empty()) {
        c.reads.push_back(request.folder);
    }
    c.writes = {fs::absolute(work).string()};
    ProcessOptions options = compiler_options(request.timeout);
    options.input = question.dump();
    options.environment = {"PYTHONDONTWRITEBYTECODE=1", "OPENBLAS_NUM_THREADS=1", "PYTHONNOUSERSITE=1", "PYTHONWARNINGS=ignore"};
    const ProcessResult result = run_confined({program, paths().models}, options, c);
    if (!result.ok()) {
        const std::string said = trim(result.err);
        if (result.exit_code == 1 && !said.empty() && said.find("Traceback") == std::string::npos) {
            throw Failure(starts_with(said, "error: ") ? said.substr(7) : said);
        }
        throw Failure(fmt::format("{}: error: what reads models {}\n{}", request.model, describe_end(result, request.timeout), said));
    }
    return nlohmann::json::parse(read_file((fs::path(work) / "plan.json").string()));
}

}  // namespace halyard
