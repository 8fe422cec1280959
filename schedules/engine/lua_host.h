#ifndef HALYARD_LUA_HOST_H
#define HALYARD_LUA_HOST_H

/** \file
 * A Lua state that a hostile script cannot break out of, hang, or fill the memory with.
 *
 * Lua's C++ build is used, so a Lua error unwinds as an exception and destructors run.
 */

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "diagnostics.h"

namespace halyard {

struct Limits {
    size_t memory_bytes = size_t(64) << 20;
    int64_t instructions = 50'000'000;
    double seconds = 5;
};

class LuaHost {
public:
    LuaHost(std::vector<std::string> lib_dirs, Limits limits = {});
    ~LuaHost();
    LuaHost(const LuaHost &) = delete;
    LuaHost &operator=(const LuaHost &) = delete;

    lua_State *state() {
        return L_;
    }

    /** The host that owns a state. */
    static LuaHost &of(lua_State *L);

    /** Loads and runs a script file; leaves its `results` return values on the stack. */
    void run_file(const std::string &path, int results);

    /** Runs `body` in protected mode; throws ScriptError if it raises. */
    void protect(const std::function<void(lua_State *)> &body);

    /** Raises `d` as a Lua error; where `d` has no file, the innermost running Lua line is taken. */
    [[noreturn]] void raise(Diagnostic d);

    /** The innermost running line of Lua, for records and messages. */
    void where(std::string &file, int &line);

    /** The source text of a line of a file that was loaded, without surrounding blanks. */
    std::string source_line(const std::string &file, int line) const;

    /** Every file that was read: the script and what it required. */
    const std::vector<std::string> &files() const {
        return files_;
    }

    /** Makes `name` (value on the top of the stack, popped) visible to every script. */
    void set_global(const char *name);

    /** Starts the clock and the instruction count again, also after a limit was hit. */
    void restart_clock();

    /** Moves the deadline by time that was spent for the host, not for the script. */
    void excuse(std::chrono::steady_clock::duration spent) {
        start_ += spent;
    }

private:
    friend struct SandboxFunctions;

    static void *allocate(void *self, void *block, size_t old_size, size_t new_size);
    static void hook(lua_State *L, lua_Debug *ar);
    void open_environment();
    void load(const std::string &path);  // pushes the chunk
    void require(const std::string &name);  // pushes the module
    std::string find_module(const std::string &name, std::vector<std::string> &tried) const;
    Diagnostic diagnose_top();  // turns the error value on the stack into a Diagnostic
    void check_limits();  // raises where the time or the instructions are spent
    void set_hook(int interval);
    [[noreturn]] void fail_limit(const std::string &message);
    [[noreturn]] void fail_memory();

    lua_State *L_ = nullptr;
    Limits limits_;
    std::vector<std::string> lib_dirs_;
    size_t memory_used_ = 0;
    int64_t instructions_ = 0;
    std::chrono::steady_clock::time_point start_;
    std::optional<Diagnostic> fatal_;  // a limit was hit: no pcall and no __close may swallow this
    std::string last_file_;
    int last_line_ = 0;
    std::optional<Diagnostic> pending_;
    std::vector<std::string> files_;
    std::vector<std::string> loading_;  // chain of requires, to find cycles
    std::vector<std::pair<std::string, std::vector<std::string>>> sources_;
};

}  // namespace halyard

#endif
