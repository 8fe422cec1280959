#ifndef HALYARD_LUA_HOST_H
#define HALYARD_LUA_HOST_H

/** \file
 * A Lua state that a hostile script cannot break out of, hang, or fill the memory with.
 *
 * Lua's C++ build is used, so a Lua error unwinds as an exception and destructors run.
 */

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "language/diagnostics.h"

namespace halyard {

struct Limits {
    size_t memory_bytes = size_t(64) << 20;
    int64_t instructions = 50'000'000;
    double seconds = 5;                     // of the processor, so that a busy machine refuses no script
    double wall_seconds = 60;               // of the clock: other programs may have most of the processors
    size_t string_bytes = size_t(1) << 20;  // of one string: comparisons and copies of it are quick
    size_t print_bytes = size_t(1) << 20;   // of all that is printed
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

    /** A line of the script, and of the library that runs for it. */
    struct Place {
        std::string file;  // the script's own, or one beside it
        int line = 0;
        std::string inside;  // "lib/reduce.lua:35"; "" where no library runs
    };

    /** The innermost running line that is not a library's. */
    Place place() const;

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

    /** Raises where the time or the instructions are spent: for functions in C, where no hook runs. */
    void check_limits();

    /** Prints a line on standard error; raises where all that was printed is more than a script may print. */
    void print(const std::string &line);

    /** Raises for what no pcall of the script may go on from, as a limit that was hit. Without a file, at the running line. */
    [[noreturn]] void fail_limit(Diagnostic d);

    /** How much may still be printed. */
    size_t printable_bytes() const {
        return limits_.print_bytes - printed_;
    }

    /** Does work for the host while a script runs, whose clock stands still meanwhile. */
    void excuse(const std::function<void()> &work);

private:
    friend struct SandboxFunctions;

    static void *allocate(void *self, void *block, size_t old_size, size_t new_size);
    static void hook(lua_State *L, lua_Debug *ar);
    void open_environment();
    void load(const std::string &path);     // pushes the chunk
    void require(const std::string &name);  // pushes the module
    std::string find_module(const std::string &name, std::vector<std::string> &tried) const;
    void locate(Diagnostic &d);                                               // where no file is given
    Diagnostic diagnose_top();                                                // turns the error value on the stack into a Diagnostic
    void parse(const std::string &path, const std::string &code);             // pushes the chunk
    static const char *next_piece(lua_State *L, void *source, size_t *size);  // of the text that is parsed
    bool is_late() const;
    bool may_grow(bool is_string, size_t bytes, size_t growth);
    std::string time_limit() const;
    void set_hook(int interval);
    [[noreturn]] void fail_memory();

    lua_State *L_ = nullptr;
    Limits limits_;
    std::vector<std::string> lib_dirs_;
    enum class Refused { kMemory, kString, kTime };
    Refused refused_ = Refused::kMemory;  // why the last block was not given
    size_t memory_used_ = 0;
    size_t printed_ = 0, loaded_ = 0;  // bytes
    int64_t instructions_ = 0;
    std::chrono::steady_clock::time_point start_;
    double processor_start_ = 0;       // seconds of this thread
    std::optional<Diagnostic> fatal_;  // no pcall and no __close may swallow this
    std::string last_file_;
    int last_line_ = 0;
    std::optional<Diagnostic> pending_;
    Place raised_;                                  // where the last error was raised
    std::map<std::string, std::string> libraries_;  // what was required from another folder: its name for messages, by path
    std::vector<std::string> files_;
    std::vector<std::string> loading_;  // chain of requires, to find cycles
    std::vector<std::pair<std::string, std::vector<std::string>>> sources_;
};

}  // namespace halyard

#endif
