#include "language/plugin_settings.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "language/diagnostics.h"
#include "language/script.h"

namespace halyard {

namespace {

using nlohmann::json;

const char *const kRequest = "request";

std::vector<std::string> split(const std::string &text, char separator) {
    std::vector<std::string> items;
    std::istringstream in(text);
    for (std::string item; std::getline(in, item, separator);) {
        items.push_back(item);
    }
    return items;
}

// A setting as a word of a command line says it, and as a file does.
struct Setting {
    std::function<void(PluginSettings &, const std::string &)> from_word;
    std::function<void(PluginSettings &, const json &)> from_file;
};

Setting text(std::string PluginSettings::*field) {
    return {[field](PluginSettings &s, const std::string &v) { s.*field = v; },
            [field](PluginSettings &s, const json &v) { s.*field = v.get<std::string>(); }};
}

Setting flag(bool PluginSettings::*field) {
    return {[field](PluginSettings &s, const std::string &v) { s.*field = v == "true"; },
            [field](PluginSettings &s, const json &v) { s.*field = v.get<bool>(); }};
}

Setting assignments(std::map<std::string, std::string> PluginSettings::*field) {
    return {[field](PluginSettings &s, const std::string &v) { s.*field = parse_assignments(v); },
            [field](PluginSettings &s, const json &v) { s.*field = v.get<std::map<std::string, std::string>>(); }};
}

Setting names(std::vector<std::string> PluginSettings::*field, char between) {
    return {[field, between](PluginSettings &s, const std::string &v) { s.*field = split(v, between); },
            [field](PluginSettings &s, const json &v) { s.*field = v.get<std::vector<std::string>>(); }};
}

const std::map<std::string, Setting> &settings() {
    static const std::map<std::string, Setting> all = {
        {"after", text(&PluginSettings::after)},     {"apart", flag(&PluginSettings::apart)},
        {"caches", text(&PluginSettings::caches)},   {"constant", names(&PluginSettings::constant, ',')},
        {"cuda", text(&PluginSettings::cuda)},       {"describe", text(&PluginSettings::describe)},
        {"devices", text(&PluginSettings::devices)}, {"facts", assignments(&PluginSettings::facts)},
        {"finish", flag(&PluginSettings::finish)},   {"function", text(&PluginSettings::function)},
        {"own", text(&PluginSettings::own)},         {"params", assignments(&PluginSettings::params)},
        {"lib", names(&PluginSettings::lib, ':')},   {"lint", text(&PluginSettings::lint)},
        {"passes", flag(&PluginSettings::passes)},   {"report", text(&PluginSettings::report)},
        {"script", text(&PluginSettings::script)},   {"set", assignments(&PluginSettings::set)},
        {"sizes", text(&PluginSettings::sizes)},     {"steps", flag(&PluginSettings::steps)},
    };
    return all;
}

const Setting &find_setting(const std::string &name) {
    const auto found = settings().find(name);
    if (found != settings().end()) {
        return found->second;
    }
    std::vector<std::string> names = {kRequest};
    for (const auto &s : settings()) {
        names.push_back(s.first);
    }
    std::sort(names.begin(), names.end());
    const std::string hint = did_you_mean(name, names);
    throw std::invalid_argument("there is no parameter autoscheduler." + name + "; there are " + quoted_list(names) +
                                (hint.empty() ? "" : "; " + hint));
}

PluginSettings read_request(const std::string &file) {
    std::ifstream in(file, std::ios::binary);
    const json request = json::parse(in, nullptr, false);
    if (!in || !request.is_object()) {
        throw std::invalid_argument("autoscheduler.request: " + file + " is no file with a JSON object");
    }
    PluginSettings result;
    for (const auto &item : request.items()) {
        try {
            find_setting(item.key()).from_file(result, item.value());
        } catch (const json::exception &) {
            throw std::invalid_argument("autoscheduler.request: \"" + item.key() + "\" is not of its type");
        }
    }
    return result;
}

}  // namespace

PluginSettings plugin_settings(const std::map<std::string, std::string> &words) {
    const auto request = words.find(kRequest);
    if (request != words.end()) {
        if (words.size() > 1) {
            throw std::invalid_argument("autoscheduler.request has all settings in it, so no other stands beside it");
        }
        return read_request(request->second);
    }
    PluginSettings result;
    for (const auto &w : words) {
        find_setting(w.first).from_word(result, w.second);
    }
    return result;
}

}  // namespace halyard
