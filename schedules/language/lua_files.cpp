// The files that a script is read from: its own, and modules of the folders that it may read.

#include "language/lua_host.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace halyard {

namespace {

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
