#include "language/lua_host.h"

#include <ctime>

#include <cstdlib>
#include <cstring>
#include <sstream>

namespace halyard {

namespace {

double processor_seconds() {
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

// Instructions between two looks at the limits. It is small, as one instruction on strings of a megabyte takes long.
constexpr int kHookInterval = 250;

}  // namespace

LuaHost::LuaHost(std::vector<std::string> lib_dirs, Limits limits) : limits_(limits), lib_dirs_(std::move(lib_dirs)) {
    L_ = lua_newstate(&LuaHost::allocate, this);
    if (!L_) {
        throw std::bad_alloc();
    }
    *static_cast<LuaHost **>(lua_getextraspace(L_)) = this;
    restart_clock();
    protect([this](lua_State *) { open_environment(); });
    set_hook(kHookInterval);
}

void LuaHost::set_hook(int interval) {
    lua_sethook(L_, &LuaHost::hook, LUA_MASKCOUNT | LUA_MASKLINE, interval);
}

LuaHost::~LuaHost() {
    lua_close(L_);
}

LuaHost &LuaHost::of(lua_State *L) {
    return **static_cast<LuaHost **>(lua_getextraspace(L));
}

void LuaHost::restart_clock() {
    instructions_ = 0;
    start_ = std::chrono::steady_clock::now();
    processor_start_ = processor_seconds();
    if (fatal_) {
        fatal_.reset();
        set_hook(kHookInterval);
    }
}

void *LuaHost::allocate(void *self, void *block, size_t old_size, size_t new_size) {
    auto *host = static_cast<LuaHost *>(self);
    const bool is_string = !block && old_size == LUA_TSTRING;
    if (!block) {
        old_size = 0;  // for a new block Lua passes the kind of object here
    }
    if (new_size == 0) {
        host->memory_used_ -= old_size;
        std::free(block);
        return nullptr;
    }
    if (new_size > old_size && !host->may_grow(is_string, new_size, new_size - old_size)) {
        return nullptr;  // Lua collects its garbage and asks once more
    }
    void *p = std::realloc(block, new_size);
    if (p) {
        host->memory_used_ += new_size - old_size;
    }
    return p;
}

// Near the limit of memory each block may cost a collection of all garbage, and no hook runs between those.
bool LuaHost::may_grow(bool is_string, size_t bytes, size_t growth) {
    if (is_string && bytes > limits_.string_bytes + 64) {  // Lua's own part of it
        refused_ = Refused::kString;
    } else if (memory_used_ + growth > limits_.memory_bytes) {
        refused_ = Refused::kMemory;
    } else if (memory_used_ > limits_.memory_bytes / 2 && is_late()) {
        refused_ = Refused::kTime;
    } else {
        return true;
    }
    return false;
}

// How much of the processor was used is asked only after as much time has passed: asking costs more than looking at the clock.
bool LuaHost::is_late() const {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    return elapsed.count() > limits_.wall_seconds ||
           (elapsed.count() > limits_.seconds && processor_seconds() - processor_start_ > limits_.seconds);
}

void LuaHost::excuse(const std::function<void()> &work) {
    const auto begin = std::chrono::steady_clock::now();
    const double processor_begin = processor_seconds();
    work();
    start_ += std::chrono::steady_clock::now() - begin;
    processor_start_ += processor_seconds() - processor_begin;
}

void LuaHost::hook(lua_State *L, lua_Debug *ar) {
    LuaHost &host = of(L);
    if (ar->event == LUA_HOOKLINE) {
        lua_getinfo(L, "S", ar);
        if (ar->source[0] == '@') {
            host.last_file_ = ar->source + 1;
            host.last_line_ = ar->currentline;
        }
    } else {
        host.instructions_ += kHookInterval;
    }
    // Also at every line: an instruction on strings of megabytes takes milliseconds.
    host.check_limits();
}

std::string LuaHost::time_limit() const {
    std::ostringstream message;
    message << "the script did not finish within " << double(limits_.instructions) / 1e6 << " million instructions, " << limits_.seconds
            << " seconds of the processor or " << limits_.wall_seconds << " of the clock";
    return message.str();
}

void LuaHost::check_limits() {
    if (fatal_ || instructions_ > limits_.instructions || is_late()) {
        Diagnostic d;
        d.message = time_limit();
        d.hint = "a schedule only describes loops: look for a loop here that never ends";
        fail_limit(std::move(d));
    }
}

void LuaHost::fail_limit(Diagnostic d) {
    if (!fatal_) {
        if (d.file.empty()) {
            locate(d);
        }
        fatal_ = std::move(d);
        // From here on every instruction raises again: handlers of <close> variables get nowhere.
        set_hook(1);
    }
    raise(*fatal_);
}

void LuaHost::fail_memory() {
    Diagnostic d;
    d.file = last_file_;
    d.line = last_line_;
    d.message = refused_ == Refused::kTime ? time_limit()
                : refused_ == Refused::kString
                    ? "the script makes a string of more than " + std::to_string(limits_.string_bytes >> 20) + " MiB"
                    : "the script needs more than " + std::to_string(limits_.memory_bytes >> 20) + " MiB of memory";
    fail_limit(std::move(d));
}

void LuaHost::print(const std::string &line) {
    if (line.size() >= printable_bytes()) {
        Diagnostic d;
        d.word = "print";
        d.message = "the script prints more than " + std::to_string(limits_.print_bytes >> 10) + " KiB";
        d.hint = "print what is looked at, and take it out when the schedule is right";
        fail_limit(std::move(d));
    }
    printed_ += line.size() + 1;
    std::fprintf(stderr, "%s\n", without_control_characters(line).c_str());
}

void LuaHost::where(std::string &file, int &line) {
    lua_Debug ar;
    for (int level = 0; lua_getstack(L_, level, &ar); level++) {
        lua_getinfo(L_, "Sl", &ar);
        if (ar.currentline > 0 && ar.source[0] == '@') {
            file = ar.source + 1;
            line = ar.currentline;
            return;
        }
    }
}

LuaHost::Place LuaHost::place() const {
    Place p;
    lua_Debug ar;
    for (int level = 0; lua_getstack(L_, level, &ar); level++) {
        lua_getinfo(L_, "Sl", &ar);
        if (ar.currentline <= 0 || ar.source[0] != '@') {
            continue;
        }
        const std::string file = ar.source + 1;
        const auto library = libraries_.find(file);
        if (library == libraries_.end()) {
            p.file = file;
            p.line = ar.currentline;
            return p;
        }
        if (p.inside.empty()) {
            p.inside = library->second + ":" + std::to_string(ar.currentline);
        }
    }
    return p;
}

// Of a library that the script called; one that is being loaded, or was called last, has its own line.
void LuaHost::locate(Diagnostic &d) {
    Place p = place();
    if (p.line == 0) {
        where(d.file, d.line);
        return;
    }
    d.file = std::move(p.file);
    d.line = p.line;
    d.inside = std::move(p.inside);
}

void LuaHost::raise(Diagnostic d) {
    if (d.file.empty()) {
        locate(d);
    }
    d.message = printable(std::move(d.message));
    d.hint = printable(std::move(d.hint));
    const std::string text = d.text();
    pending_ = std::move(d);
    lua_pushlstring(L_, text.data(), text.size());
    lua_error(L_);
    std::abort();  // lua_error does not return
}

Diagnostic LuaHost::diagnose_top() {
    std::string raised, text;
    size_t length = 0;
    if (const char *s = lua_tolstring(L_, -1, &length)) {
        raised.assign(s, length);
        text = printable(raised);
    } else {
        text = std::string("the script raised a ") + luaL_typename(L_, -1) + " value instead of a message";
    }
    lua_pop(L_, 1);
    if (fatal_) {
        return *fatal_;
    }
    if (pending_ && pending_->text() == raised) {
        Diagnostic d = *pending_;
        pending_.reset();
        return d;
    }
    // Lua's own errors read `file:line: message`.
    Diagnostic d;
    d.message = text;
    for (const auto &f : files_) {
        if (text.compare(0, f.size() + 1, f + ":") != 0) {
            continue;
        }
        const size_t number = f.size() + 1, colon = text.find_first_not_of("0123456789", number);
        if (colon == number || colon == std::string::npos || colon > number + 7 || text[colon] != ':') {
            continue;  // a script made it up
        }
        d.file = f;
        d.line = std::atoi(text.c_str() + f.size() + 1);
        d.message = colon + 2 < text.size() ? text.substr(colon + 2) : "the script raised an empty message";
        const auto library = libraries_.find(f);
        if (library != libraries_.end() && raised_.line > 0) {
            d.inside = library->second + ":" + std::to_string(d.line);
            d.file = raised_.file;
            d.line = raised_.line;
        }
        return d;
    }
    d.file = last_file_;
    d.line = last_line_;
    return d;
}

void LuaHost::protect(const std::function<void(lua_State *)> &body) {
    // Where an error is raised, the lines that led there still run.
    lua_pushcfunction(L_, [](lua_State *L) -> int {
        LuaHost &host = of(L);
        host.raised_ = host.place();
        return 1;
    });
    const int handler = lua_gettop(L_);
    // The function object travels as a light pointer: it outlives the call.
    lua_pushcfunction(L_, [](lua_State *L) -> int {
        const auto *f = static_cast<const std::function<void(lua_State *)> *>(lua_touserdata(L, 1));
        lua_settop(L, 0);
        (*f)(L);
        return lua_gettop(L);
    });
    lua_pushlightuserdata(L_, const_cast<void *>(static_cast<const void *>(&body)));
    const int status = lua_pcall(L_, 1, LUA_MULTRET, handler);
    lua_remove(L_, handler);
    if (status == LUA_ERRMEM) {
        lua_pop(L_, 1);
        protect([this](lua_State *) { fail_memory(); });
    }
    if (status != LUA_OK) {
        throw ScriptError(diagnose_top());
    }
}

}  // namespace halyard
