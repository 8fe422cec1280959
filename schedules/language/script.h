#ifndef HALYARD_SCRIPT_H
#define HALYARD_SCRIPT_H

/** \file
 * A schedule script: `return schedule "op" { target, requires, params, generator, where, versions, apply }`.
 *
 * Its head (everything but `apply`) can be read without Halide; that is how a build learns which
 * generator parameters a schedule wants before it starts the generator.
 */

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "language/lua_host.h"
#include "language/target_facts.h"

namespace halyard {

/** A name under `params` or `generator`, with the value that holds now. */
struct Tunable {
    std::string name;
    std::vector<std::string> choices;  // of tune{}; empty for a fixed value
    std::string value;
    bool is_generator_param = false;
    bool searched = true;  // false: not a matter of speed, so a search leaves it as it is
};

struct ScriptOptions {
    std::map<std::string, std::string> set;     // --set name=value
    std::map<std::string, std::string> params;  // --param name=value: chosen where the script leaves it open
    std::map<std::string, std::string> facts;   // --fact l2=2M
    std::vector<std::string> lib_dirs;          // where `require` looks besides the script's folder
    std::string target;                         // Halide target string; "" where none is known yet
    Limits limits;
};

struct ScriptHeader {
    std::string op;
    std::string target;   // "cpu" or "cuda"
    std::string summary;  // the comment that opens the file
    int line = 0;         // of the call of schedule
    std::vector<Tunable> params;
    std::map<std::string, std::string> generator;
    std::vector<std::string> requires_features;
    std::vector<std::string> files;
};

class Script {
public:
    /** Loads the file, checks its fields and settles every parameter. Throws ScriptError. */
    Script(const std::string &path, const ScriptOptions &options);
    ~Script();

    const ScriptHeader &header() const {
        return header_;
    }

    LuaHost &host() {
        return host_;
    }

    /** What is set for a version of the schedule: parameters by name. */
    using Version = std::map<std::string, std::string>;

    /** What is called with a field of a version on top of the stack, and the version's number from 0; whether it is one. */
    struct VersionFields {
        std::function<bool(lua_State *, size_t version)> condition, cost;
    };

    /** Calls `versions(k, p, target)`, which says what is set for calls of which sizes: of the first whose condition holds, or which costs
     * least among its neighbours with the same condition. All but the last have a condition or a cost. A schedule that has no `versions`
     * has one, of which nothing is set; one for the host has one, for its target. Throws ScriptError. */
    std::vector<Version> versions(const std::function<void(lua_State *)> &push_funcs, const VersionFields &fields);

    /** Calls `apply(k, p, target)`; `push_funcs` pushes k. Throws ScriptError. */
    void apply(const std::function<void(lua_State *)> &push_funcs, const Version &version = {});

private:
    void read_fields(lua_State *L);
    void check_entries(const std::string &name, size_t entries);  // raises where a list is too long
    void read_params(lua_State *L, const char *field, bool for_generator);
    void settle(Tunable tunable);
    void check_set_names();
    void check_requirements();
    void check_where(lua_State *L, const Version &version);
    Version read_version(lua_State *L, size_t number, bool last, const VersionFields &fields, bool &open);
    void push_params(lua_State *L, const Version &version);
    void push_field(lua_State *L, const char *name);
    [[noreturn]] void fail(const std::string &message, const std::string &hint = "");
    [[noreturn]] void raise_at_definition(const std::string &message, const std::string &hint);

    std::string path_;
    ScriptOptions options_;
    TargetFacts facts_;
    LuaHost host_;
    ScriptHeader header_;
    int definition_line_ = 0;
};

/** The head of a script; throws ScriptError, whose what() is ready to print. */
ScriptHeader read_header(const std::string &script, const ScriptOptions &options);

/** Splits `a=1,b=2`, or `a:1,b:2` as generator parameters need it, which may hold one `=` only.
 * Throws std::invalid_argument where an item has neither. */
std::map<std::string, std::string> parse_assignments(const std::string &text);

}  // namespace halyard

#endif
