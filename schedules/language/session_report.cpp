// The report of a session, as JSON: what was applied, the loop nest, or the error.

#include "language/session.h"

#include <fstream>
#include <set>
#include <sstream>

#include "language/lua_text.h"
#include "language/nest.h"

namespace halyard {

using nlohmann::json;

namespace {

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

}  // namespace

void Session::write_report(const Diagnostic *error) {
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

void Session::write(const json &report) const {
    std::ofstream(report_path_) << report.dump(1, ' ', false, json::error_handler_t::replace) << "\n";
}

void Session::add_step(const Touch &t) {
    json nest = json::array();
    try {
        for (const auto &l : loop_nest(view_, {})) {
            nest.push_back(l.text);
        }
    } catch (const Halide::Error &) {
        // In the middle of a script a schedule may be one that Halide cannot show yet.
    }
    steps_.push_back(
        {{"file", t.file}, {"line", t.line}, {"word", t.word}, {"source", script_->host().source_line(t.file, t.line)}, {"nest", nest}});
}

void Session::add_pass(const PassRun &p) {
    json pass = {{"kernel", p.kernel}, {"form", p.form}, {"pass", p.pass}, {"seconds", p.seconds}};
    if (p.pass == after_) {
        std::ostringstream text;
        text << p.after;
        pass["after"] = text.str();
    }
    passes_.push_back(std::move(pass));
}

json Session::large_loops() const {
    constexpr size_t kShown = 3;
    constexpr int64_t kUsual = 64;
    json large = json::array();
    for (const WrittenOut &l : size_.loops) {
        if (l.times > kUsual && large.size() < kShown) {
            large.push_back(
                {{"func", l.func}, {"loop", l.loop}, {"times", l.times}, {"file", l.by.file}, {"line", l.by.line}, {"word", l.by.word}});
        }
    }
    return large;
}

void Session::write_last(const Touch &t) const {
    if (!report_path_.empty()) {
        std::ofstream(report_path_ + ".last") << json{{"file", t.file}, {"line", t.line}, {"word", t.word}, {"func", t.func}}.dump(
            -1, ' ', false, json::error_handler_t::replace);
    }
}

void Session::add_products(json &traffic) const {
    traffic["products"] = json::array();
    for (const auto &p : binding_->tile_products()) {
        traffic["products"].push_back({{"func", view_.name_of(p.func.name())}, {"update", p.stage}});
    }
}

void Session::add_side_by_side(json &traffic) const {
    traffic["side_by_side"] = json::array();
    for (const auto &group : binding_->side_by_side()) {
        traffic["side_by_side"].push_back(group.names);
    }
}

void Session::add_translation(const Translation &t, json &report) const {
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

}  // namespace halyard
