#include "language/script.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "language/script_words.h"

namespace halyard {

namespace {

const std::vector<std::string> kFields = {"apply", "generator", "params", "requires", "target", "versions", "where"};

void push_value(lua_State *L, const std::string &text) {
    if (text == "true" || text == "false") {
        lua_pushboolean(L, text == "true");
    } else if (lua_stringtonumber(L, text.c_str()) != text.size() + 1) {
        lua_pushstring(L, text.c_str());
    }
}

int unknown_param(lua_State *L) {
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    std::vector<std::string> names;
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING) {
            names.emplace_back(lua_tostring(L, -2));
        }
    }
    std::sort(names.begin(), names.end());
    Diagnostic d;
    d.message = "there is no parameter \"" + name + "\"; params has " + quoted_list(names);
    d.hint = did_you_mean(name, names);
    LuaHost::of(L).raise(std::move(d));
}

int new_param(lua_State *L) {
    Diagnostic d;
    d.message = "a schedule cannot add parameters here";
    d.hint = "declare them under `params`";
    LuaHost::of(L).raise(std::move(d));
}

// As generators declare them: never a setting of Halide or of ours, which have dots.
bool is_name(const std::string &text) {
    return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == std::string::npos;
}

// The comment lines that open the file: what the plan is, in prose.
std::string opening_comment(const std::string &path) {
    std::ifstream in(path);
    std::string summary;
    for (std::string line; std::getline(in, line) && line.rfind("--", 0) == 0;) {
        const size_t text = line.find_first_not_of("- ");
        if (text != std::string::npos) {
            summary += (summary.empty() ? "" : " ") + line.substr(text);
        }
    }
    return summary;
}

}  // namespace

std::map<std::string, std::string> parse_assignments(const std::string &text) {
    std::map<std::string, std::string> result;
    std::istringstream in(text);
    for (std::string item; std::getline(in, item, ',');) {
        const size_t eq = item.find_first_of("=:");
        if (eq == std::string::npos || eq == 0) {
            throw std::invalid_argument("\"" + item + "\" is not of the form name=value");
        }
        result[item.substr(0, eq)] = item.substr(eq + 1);
    }
    return result;
}

Script::Script(const std::string &path, const ScriptOptions &options)
    : path_(path), options_(options), host_(options.lib_dirs, options.limits) {
    try {
        facts_ = target_facts(options.target, options.facts);
    } catch (const std::invalid_argument &e) {
        fail(e.what());
    }
    add_script_words(host_);
    host_.run_file(path, 1);
    lua_setfield(host_.state(), LUA_REGISTRYINDEX, "halyard.schedule");
    header_.summary = printable(opening_comment(path));
    host_.protect([this](lua_State *L) {
        read_fields(L);
        check_set_names();
        check_requirements();
        check_where(L, {});
    });
    header_.files = host_.files();
}

void Script::fail(const std::string &message, const std::string &hint) {
    Diagnostic d;
    d.file = path_;
    d.line = definition_line_;
    d.message = message;
    d.hint = hint;
    throw ScriptError(std::move(d));
}

// Errors of the fields are raised, not thrown: an exception of ours must not cross Lua.
void Script::raise_at_definition(const std::string &message, const std::string &hint) {
    Diagnostic d;
    d.file = path_;
    d.line = definition_line_;
    d.message = message;
    d.hint = hint;
    host_.raise(std::move(d));
}

void Script::check_entries(const std::string &name, size_t entries) {
    if (entries > kMostEntries) {
        raise_at_definition(name + " has more than " + std::to_string(kMostEntries) + " entries", "");
    }
}

void Script::read_fields(lua_State *L) {
    lua_getfield(L, LUA_REGISTRYINDEX, "halyard.schedule");
    if (!luaL_testudata(L, -1, kScheduleType)) {
        raise_at_definition("the script does not return a schedule",
                            "end it with `return schedule \"op\" { apply = function(k, p, target) ... end }`");
    }
    lua_getiuservalue(L, -1, kScheduleOp);
    header_.op = lua_tostring(L, -1);
    lua_getiuservalue(L, -2, kScheduleLine);
    definition_line_ = int(lua_tointeger(L, -1));
    header_.line = definition_line_;
    // It becomes part of names and comments of generated code.
    if (!is_name(header_.op)) {
        raise_at_definition("schedule: \"" + header_.op + "\" is not the name of an op", "use letters, digits and _");
    }
    lua_getiuservalue(L, -3, kScheduleFields);
    const int fields = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, fields); lua_pop(L, 1)) {
        const std::string key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        if (std::find(kFields.begin(), kFields.end(), key) == kFields.end()) {
            raise_at_definition("a schedule has no field \"" + key + "\"; its fields are " + quoted_list(kFields),
                                did_you_mean(key, kFields));
        }
    }
    if (lua_getfield(L, fields, "target") != LUA_TNIL) {
        header_.target = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "?";
        if (header_.target != "cpu" && header_.target != "cuda") {
            raise_at_definition("target is \"cpu\" or \"cuda\", not \"" + header_.target + "\"", "");
        }
    }
    if (lua_getfield(L, fields, "apply") != LUA_TFUNCTION) {
        raise_at_definition("apply is missing", "add `apply = function(k, p, target) ... end`");
    }
    if (lua_getfield(L, fields, "where") != LUA_TNIL && !lua_isfunction(L, -1)) {
        raise_at_definition("where is a function of the parameters: `where = function(p, target) return ... end`", "");
    }
    if (lua_getfield(L, fields, "versions") != LUA_TNIL && !lua_isfunction(L, -1)) {
        raise_at_definition(
            "versions is a function: `versions = function(k, p, target) return {{ when = ..., rows = 4 }, { rows = 8 }} end`", "");
    }
    if (lua_getfield(L, fields, "requires") != LUA_TNIL) {
        if (!lua_istable(L, -1)) {
            raise_at_definition("requires is a list of target features, as in { \"avx2\", \"fma\" }", "");
        }
        check_entries("requires", lua_rawlen(L, -1));
        for (lua_Integer i = 1; i <= lua_Integer(lua_rawlen(L, -1)); i++) {
            lua_rawgeti(L, -1, i);
            if (lua_type(L, -1) != LUA_TSTRING) {
                raise_at_definition("requires is a list of target features, as in { \"avx2\", \"fma\" }", "");
            }
            header_.requires_features.emplace_back(lua_tostring(L, -1));
            lua_pop(L, 1);
        }
    }
    lua_pushvalue(L, fields);
    read_params(L, "params", false);
    read_params(L, "generator", true);
}

void Script::read_params(lua_State *L, const char *field, bool for_generator) {
    if (lua_getfield(L, -1, field) == LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    if (!lua_istable(L, -1)) {
        raise_at_definition(std::string(field) + " is a table of names and values", "");
    }
    std::vector<Tunable> found;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        Tunable t;
        if (lua_type(L, -2) != LUA_TSTRING) {
            raise_at_definition(std::string(field) + " needs names, as in `rows = tune { 1, 4 }`", "");
        }
        size_t length = 0;
        const char *name = lua_tolstring(L, -2, &length);
        t.name = std::string(name, length);
        t.is_generator_param = for_generator;
        if (!is_name(t.name)) {  // reports have it, and command lines
            std::replace(t.name.begin(), t.name.end(), '\n', ' ');
            raise_at_definition(std::string(field) + ": \"" + printable(t.name) + "\" is not the name of a parameter" +
                                    (for_generator ? " of a generator" : ""),
                                for_generator ? "take one that the generator declares, as `halyard list OP` shows them"
                                              : "write it in letters, digits and underlines");
        }
        if (lua_istable(L, -1)) {
            if (lua_getfield(L, -1, "is_tune") == LUA_TNIL) {
                raise_at_definition(t.name + " is a plain table; write `tune { ... }`", "");
            }
            lua_pop(L, 1);
            check_entries(t.name, lua_rawlen(L, -1));
            for (lua_Integer i = 1; i <= lua_Integer(lua_rawlen(L, -1)); i++) {
                lua_rawgeti(L, -1, i);
                t.choices.push_back(value_text(L, -1));
                lua_pop(L, 1);
            }
            lua_getfield(L, -1, "default");
            t.value = value_text(L, -1);
            lua_pop(L, 1);
            t.searched = lua_getfield(L, -1, "search") == LUA_TNIL || lua_toboolean(L, -1);
            lua_pop(L, 1);
            if (std::find(t.choices.begin(), t.choices.end(), t.value) == t.choices.end()) {
                raise_at_definition("the default of " + t.name + " is not among its choices", "");
            }
        } else {
            t.value = value_text(L, -1);
            if (t.value.empty()) {
                raise_at_definition(t.name + " is not a number, string, boolean or tune { ... }", "");
            }
        }
        found.push_back(std::move(t));
        check_entries(field, found.size());
    }
    lua_pop(L, 1);
    std::sort(found.begin(), found.end(), [](const Tunable &a, const Tunable &b) { return a.name < b.name; });
    for (auto &t : found) {
        settle(std::move(t));
    }
}

void Script::settle(Tunable t) {
    for (const auto &other : header_.params) {
        if (other.name == t.name) {
            raise_at_definition("\"" + t.name + "\" stands under params and under generator", "");
        }
    }
    const auto set = options_.set.find(t.name);
    if (set != options_.set.end()) {
        if (t.choices.empty()) {
            raise_at_definition("--set " + t.name + ": its value is fixed in the script",
                                "write `" + t.name + " = tune { " + t.value + ", " + set->second + " }`");
        }
        if (std::find(t.choices.begin(), t.choices.end(), set->second) == t.choices.end()) {
            raise_at_definition("--set " + t.name + "=" + set->second + " is not among its choices " + quoted_list(t.choices), "");
        }
        t.value = set->second;
    }
    const auto given = options_.params.find(t.name);
    if (t.is_generator_param && !t.choices.empty() && set == options_.set.end() && given != options_.params.end()) {
        if (std::find(t.choices.begin(), t.choices.end(), given->second) == t.choices.end()) {
            raise_at_definition("--param " + t.name + "=" + given->second + ": the schedule takes " + quoted_list(t.choices),
                                "take another schedule, or another value");
        }
        t.value = given->second;
    }
    if (t.is_generator_param) {
        header_.generator[t.name] = t.value;
    }
    header_.params.push_back(std::move(t));
}

void Script::check_set_names() {
    std::vector<std::string> names;
    for (const auto &t : header_.params) {
        names.push_back(t.name);
    }
    for (const auto &s : options_.set) {
        if (std::find(names.begin(), names.end(), s.first) == names.end()) {
            raise_at_definition("--set " + s.first + ": the schedule has no such parameter; it has " + quoted_list(names),
                                did_you_mean(s.first, names));
        }
    }
}

void Script::check_requirements() {
    if (options_.target.empty()) {
        return;
    }
    for (const auto &feature : header_.requires_features) {
        if (!facts_.has(feature)) {
            raise_at_definition("this schedule requires " + feature + ", which the target " + facts_.name + " lacks",
                                "build for a target that has it, or take another schedule");
        }
    }
}

void Script::push_params(lua_State *L, const Version &version) {
    lua_newtable(L);
    for (const auto &t : header_.params) {
        const auto own = version.find(t.name);
        push_value(L, own == version.end() ? t.value : own->second);
        lua_setfield(L, -2, t.name.c_str());
    }
    lua_newtable(L);
    lua_pushcfunction(L, unknown_param);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, new_param);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
}

void Script::push_field(lua_State *L, const char *name) {
    lua_getfield(L, LUA_REGISTRYINDEX, "halyard.schedule");
    lua_getiuservalue(L, -1, kScheduleFields);
    lua_getfield(L, -1, name);
    lua_replace(L, -3);
    lua_pop(L, 1);
}

void Script::check_where(lua_State *L, const Version &version) {
    push_field(L, "where");
    if (lua_isnil(L, -1)) {
        return;
    }
    push_params(L, version);
    push_target(host_, facts_);
    lua_call(L, 2, 1);
    if (!lua_toboolean(L, -1)) {
        std::string values;
        for (const auto &t : header_.params) {
            const auto own = version.find(t.name);
            values += (values.empty() ? "" : ", ") + t.name + "=" + (own == version.end() ? t.value : own->second);
        }
        raise_at_definition("`where` rejects " + values, "choose other values with --set");
    }
}

// The version on top of the stack.
Script::Version Script::read_version(lua_State *L, size_t number, bool last, const VersionFields &fields, bool &open) {
    if (!lua_istable(L, -1)) {
        raise_at_definition("a version is a table, as { when = k.x:dim(0):extent():at_most(4096), rows = 4 }", "");
    }
    lua_getfield(L, -1, "cost");
    const bool has_cost = !lua_isnil(L, -1);
    if (has_cost && !fields.cost(L, number)) {
        raise_at_definition("the cost of a version is a number, as k.x:dim(1):extent() * 3 + 200", "");
    }
    lua_pop(L, 1);
    lua_getfield(L, -1, "when");
    const bool has_condition = !lua_isnil(L, -1);
    if (open && (has_condition || !has_cost)) {
        raise_at_definition("a version with a cost and no condition stands before one that no call takes",
                            "behind it have versions with a cost and no condition, or none");
    }
    if ((last && has_condition) || (!last && !has_condition && !has_cost) || (has_condition && !fields.condition(L, number))) {
        raise_at_definition("all versions but the last have a condition, `when = k.x:dim(0):extent():at_most(4096)`, or a cost", "");
    }
    open = has_cost && !has_condition;
    lua_pop(L, 1);
    Version version;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const std::string name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?", value = value_text(L, -1);
        if (name == "when" || name == "cost") {
            continue;
        }
        const auto t = std::find_if(header_.params.begin(), header_.params.end(), [&](const Tunable &p) { return p.name == name; });
        if (t == header_.params.end() || t->is_generator_param) {
            raise_at_definition("a version sets \"" + name + "\", which is not one of the params", "");
        }
        if (std::find(t->choices.begin(), t->choices.end(), value) == t->choices.end()) {
            raise_at_definition("a version sets " + name + "=" + value + ", which is not among its choices " + quoted_list(t->choices), "");
        }
        version[name] = value;
    }
    check_where(L, version);
    return version;
}

std::vector<Script::Version> Script::versions(const std::function<void(lua_State *)> &push_funcs, const VersionFields &fields) {
    std::vector<Version> result;
    host_.restart_clock();
    host_.protect([&](lua_State *L) {
        push_field(L, "versions");
        if (lua_isnil(L, -1)) {
            lua_settop(L, 0);
            result.emplace_back();
            return;
        }
        push_funcs(L);
        push_params(L, {});
        push_target(host_, facts_);
        lua_call(L, 3, 1);
        const lua_Integer n = lua_istable(L, -1) ? lua_Integer(lua_rawlen(L, -1)) : 0;
        check_entries("versions", size_t(n));
        if (n == 0) {
            raise_at_definition("versions returns a list of versions, one at least", "");
        }
        if (n > 1 && header_.target != "cuda") {
            raise_at_definition("several versions are for CUDA; on the host there is one for each target",
                                "specialize() makes code for some sizes");
        }
        const int list = lua_gettop(L);
        bool open = false;  // those before are for all calls that come to them
        for (lua_Integer i = 1; i <= n; i++) {
            lua_settop(L, list);
            lua_rawgeti(L, list, i);
            result.push_back(read_version(L, size_t(i - 1), i == n, fields, open));
        }
        lua_settop(L, 0);
    });
    return result;
}

void Script::apply(const std::function<void(lua_State *)> &push_funcs, const Version &version) {
    host_.restart_clock();
    host_.protect([&](lua_State *L) {
        push_field(L, "apply");
        push_funcs(L);
        push_params(L, version);
        push_target(host_, facts_);
        lua_call(L, 3, 0);
    });
    header_.files = host_.files();
}

Script::~Script() = default;

ScriptHeader read_header(const std::string &script, const ScriptOptions &options) {
    return Script(script, options).header();
}

}  // namespace halyard
