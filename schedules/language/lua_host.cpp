#include "language/lua_host.h"

#include <ctime>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
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
constexpr size_t kMaxScriptBytes = size_t(1) << 20, kMaxLoadedBytes = size_t(8) << 20;

std::string directory_of(const std::string &path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string join(const std::string &dir, const std::string &name) {
    return dir == "." ? name : dir + "/" + name;
}

// The folder above, without `..` where the path shows what it is.
std::string parent_of(const std::string &dir) {
    const std::string last = dir.substr(dir.rfind('/') + 1);
    return last == "." || last == ".." || last.empty() ? dir + "/.." : directory_of(dir);
}

// Where a path really leads; "" where that is nowhere.
std::string real_path(const std::string &path) {
    char *const real = realpath(path.c_str(), nullptr);
    const std::string result = real ? real : "";
    std::free(real);
    return result;
}

// A link in a schedule's folder may name any file of the user, whose text messages would show.
bool leads_out_of(const std::vector<std::string> &dirs, const std::string &path) {
    const std::string real = real_path(path);
    return std::none_of(dirs.begin(), dirs.end(), [&](const std::string &dir) {
        const std::string folder = real_path(dir), prefix = folder == "/" ? folder : folder + "/";
        return !folder.empty() && real.compare(0, prefix.size(), prefix) == 0;
    });
}

bool is_file(const std::string &path) {
    struct stat st;
    return stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

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
    message << "the script did not finish within " << double(limits_.instructions) / 1e6 << " million instructions or " << limits_.seconds
            << " seconds";
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

void LuaHost::load(const std::string &path) {
    Diagnostic d;
    d.file = path;
    struct stat st;
    if (stat(path.c_str(), &st) != 0) {
        d.message = std::string("cannot be read: ") + std::strerror(errno);
        raise(d);
    }
    if (!S_ISREG(st.st_mode)) {
        d.message = "is not a file";
        raise(d);
    }
    if (size_t(st.st_size) > kMaxScriptBytes) {
        d.message = "is larger than 1 MiB, which no schedule needs";
        raise(d);
    }
    std::ifstream in(path, std::ios::binary);
    std::string code(kMaxScriptBytes + 1, 0);  // what is there may be more than its size says
    in.read(code.data(), std::streamsize(code.size()));
    if (in.bad() || (in.fail() && !in.eof())) {
        d.message = std::string("cannot be read: ") + std::strerror(errno);
        raise(d);
    }
    code.resize(size_t(in.gcount()));
    loaded_ += code.size();
    if (code.size() > kMaxScriptBytes || loaded_ > kMaxLoadedBytes) {
        d.message = code.size() > kMaxScriptBytes ? "is larger than 1 MiB, which no schedule needs"
                                                  : "makes the script and what it requires larger than 8 MiB";
        raise(d);
    }
    if (!code.empty() && code[0] == LUA_SIGNATURE[0]) {
        d.message = "is compiled Lua; a schedule is text";
        raise(d);
    }
    // A module that failed to load may be tried again, under pcall.
    if (std::find(files_.begin(), files_.end(), path) == files_.end()) {
        files_.push_back(path);
        std::vector<std::string> lines;
        std::istringstream by_line(code);
        for (std::string line; std::getline(by_line, line);) {
            lines.push_back(line);
        }
        sources_.emplace_back(path, std::move(lines));
    }
    parse(path, code);
}

namespace {

// What the parser has read, and what it has not.
struct Source {
    const std::string *code;
    size_t begin, at;  // of the piece that it reads now
};

}  // namespace

const char *LuaHost::next_piece(lua_State *L, void *data, size_t *size) {
    constexpr size_t kPiece = 256;
    auto *source = static_cast<Source *>(data);
    LuaHost &host = of(L);
    const char *text = source->code->data();
    host.last_line_ += int(std::count(text + source->begin, text + source->at, '\n'));
    if (host.is_late()) {
        Diagnostic d;
        d.file = host.last_file_;
        d.line = host.last_line_;
        d.message = host.time_limit();
        d.hint = "here it was still being read: an expression or a block this long is no schedule";
        host.fail_limit(std::move(d));
    }
    *size = std::min(kPiece, source->code->size() - source->at);
    source->begin = source->at;
    source->at += *size;
    return text + source->begin;
}

// In pieces, since the parser's time can grow with the square of the text's length and no hook runs in it.
void LuaHost::parse(const std::string &path, const std::string &code) {
    last_file_ = path;
    last_line_ = 1;
    Source source{&code, 0, 0};
    const int status = lua_load(L_, &LuaHost::next_piece, &source, ("@" + path).c_str(), "t");
    if (status == LUA_ERRMEM) {
        fail_memory();
    } else if (status != LUA_OK) {
        lua_error(L_);
    }
    last_line_ = 0;
}

std::string LuaHost::source_line(const std::string &file, int line) const {
    for (const auto &s : sources_) {
        if (s.first == file && line >= 1 && size_t(line) <= s.second.size()) {
            const std::string &text = s.second[line - 1];
            const size_t begin = text.find_first_not_of(" \t");
            const size_t end = text.find_last_not_of(" \t\r");
            return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
        }
    }
    return "";
}

void LuaHost::run_file(const std::string &path, int results) {
    loading_ = {path};
    lib_dirs_.insert(lib_dirs_.begin(), directory_of(path));
    protect([&](lua_State *L) {
        load(path);
        lua_call(L, 0, results);
    });
}

namespace {

// "lib.reduce" is lib/reduce.lua
std::string name_of_module(std::string name) {
    std::replace(name.begin(), name.end(), '.', '/');
    return name + ".lua";
}

}  // namespace

std::string LuaHost::find_module(const std::string &name, std::vector<std::string> &tried) const {
    const std::string relative = name_of_module(name);
    // A library that ships with a schedule lies in its folder or in one above (schedules/lib).
    std::vector<std::string> dirs = lib_dirs_;
    if (const std::string above = parent_of(lib_dirs_[0]); real_path(above) != "/") {  // no link leads out of the root
        dirs.push_back(above);
    }
    for (const auto &dir : dirs) {
        const std::string path = join(dir, relative);
        if (is_file(path) && !leads_out_of(dirs, path)) {
            return path;
        }
        tried.push_back(path + (is_file(path) ? " (a link that leads out of these folders)" : ""));
    }
    return "";
}

void LuaHost::require(const std::string &name) {
    Diagnostic d;
    d.word = "require";
    bool legal = !name.empty() && name.front() != '.' && name.back() != '.' && name.find("..") == std::string::npos;
    for (char c : name) {
        legal = legal && (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.');
    }
    if (!legal) {
        d.message = "\"" + name + "\" is not a module name; write dots for folders, as in \"lib.reduce\"";
        raise(d);
    }
    std::vector<std::string> tried;
    const std::string path = find_module(name, tried);
    if (path.empty()) {
        d.message = "there is no module \"" + name + "\"; looked for";
        for (const auto &t : tried) {
            d.message += "\n    " + t;
        }
        raise(d);
    }
    const std::string relative = name_of_module(name);
    if (path != join(lib_dirs_[0], relative)) {
        libraries_[path] = relative;
    }
    for (const auto &l : loading_) {
        if (l == path) {
            d.message = "the files require each other in a circle: ";
            for (const auto &m : loading_) {
                d.message += m + " -> ";
            }
            d.message += path;
            raise(d);
        }
    }
    lua_getfield(L_, LUA_REGISTRYINDEX, "halyard.modules");
    if (lua_getfield(L_, -1, path.c_str()) != LUA_TNIL) {
        lua_remove(L_, -2);
        return;
    }
    lua_pop(L_, 1);
    struct Loading {
        std::vector<std::string> &chain;
        ~Loading() {
            chain.pop_back();  // also where the module raises: a pcall may try it again
        }
    };
    loading_.push_back(path);
    {
        const Loading loading{loading_};
        load(path);
        lua_call(L_, 0, 1);
    }
    if (lua_isnil(L_, -1)) {
        d.file = path;
        d.message = "the module returns nothing; end it with `return { ... }`";
        raise(d);
    }
    lua_pushvalue(L_, -1);
    lua_setfield(L_, -3, path.c_str());
    lua_remove(L_, -2);
}

}  // namespace halyard
