// What a script cannot reach, and what it cannot replace.

#include <cstdio>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

#include "hostile.h"

using halyard::Diagnostic;

namespace {

// What statements of a script print on standard error.
std::string printed_by(const std::string &statements) {
    const TempDir dir;
    const std::string path = dir.write("printed", "");
    const int before = dup(STDERR_FILENO), file = open(path.c_str(), O_WRONLY);
    dup2(file, STDERR_FILENO);
    const std::string message = failure_of_text(in_apply(statements)).message;
    std::fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    close(file);
    CHECK(message.empty());
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("nothing outside the language has a name", "[sandbox]") {
    const char *names[] = {"io",        "os",           "debug",  "package", "load",     "loadstring", "loadfile",       "dofile",
                           "coroutine", "getmetatable", "rawget", "rawset",  "rawequal", "rawlen",     "collectgarbage", "utf8",
                           "_G",        "newproxy",     "xpcall", "warn",    "arg"};
    for (const char *name : names) {
        const Diagnostic d = failure_of_text(in_apply("local x = " + std::string(name)));
        INFO(d.text());
        CHECK(d.line == 2);
        CHECK(d.message.find("there is no name \"" + std::string(name) + "\" here") == 0);
        CHECK(d.message.find("\"require\"") != std::string::npos);
    }
}

TEST_CASE("the libraries have only what is harmless", "[sandbox]") {
    const char *names[] = {"string.gsub",   "string.find",     "string.match", "string.gmatch", "string.dump",    "string.pack",
                           "string.unpack", "string.packsize", "table.move",   "math.random",   "math.randomseed"};
    for (const char *name : names) {
        const Diagnostic d = failure_of_text(in_apply("local x = " + std::string(name)));
        CHECK(d.message == std::string(name) + " is not part of the schedule language");
        CHECK(d.line == 2);
    }
    CHECK(failure_of_text(in_apply("return ('x'):gsub('.', 'y')")).message == "string.gsub is not part of the schedule language");
}

TEST_CASE("the language cannot be replaced", "[sandbox]") {
    const struct {
        const char *code, *message;
    } kCases[] = {
        {"schedule = function() end", "\"schedule\" belongs to the schedule language and cannot be replaced"},
        {"tune = nil", "\"tune\" belongs to the schedule language and cannot be replaced"},
        {"print = nil", "\"print\" belongs to the schedule language and cannot be replaced"},
        {"_ENV.require = nil", "\"require\" belongs to the schedule language and cannot be replaced"},
        {"lanes = 8", "\"lanes\" would become a global"},
        {"function helper() end", "\"helper\" would become a global"},
        {"_ENV[{}] = 1", "\"?\" would become a global"},
        {"string.rep = nil", "the functions of string cannot be replaced"},
        {"table.extra = 1", "the functions of table cannot be replaced"},
        {"math.huge = 1", "the functions of math cannot be replaced"},
        {"setmetatable(_ENV, {})", "the metatable of this table cannot be replaced"},
        {"setmetatable(string, {})", "the metatable of this table cannot be replaced"},
        {"setmetatable(target, {})", "the metatable of this table cannot be replaced"},
        {"setmetatable(p, {})", "the metatable of this table cannot be replaced"},
        {"setmetatable('x', {})", "bad argument #1 to 'setmetatable' (table expected, got string)"},
        {"p.extra = 1", "a schedule cannot add parameters here"},
        {"setmetatable({}, { __gc = function() end })", "a schedule cannot have finalisers (__gc)"},
        {"string.rep('x', 1 << 40)", "string.rep: 1099511627776 repetitions are more than a schedule needs"},
    };
    for (const auto &c : kCases) {
        const Diagnostic d = failure_of_text(in_apply(c.code));
        CHECK(d.message == c.message);
        CHECK(d.line == 2);
    }
    CHECK(failure_of_text("schedule = 1\n").line == 1);
}

TEST_CASE("an error value of any kind gives a message with a line", "[sandbox]") {
    const struct {
        const char *code, *message;
    } kCases[] = {
        {"error(nil)", "the script raised a nil value instead of a message"},
        {"error()", "the script raised a nil value instead of a message"},
        {"error({})", "the script raised a table value instead of a message"},
        {"error(setmetatable({}, { __tostring = function() error('x') end }))", "the script raised a table value instead of a message"},
        {"error(true)", "the script raised a boolean value instead of a message"},
        {"error(function() end)", "the script raised a function value instead of a message"},
        {"error('plain')", "plain"},
        {"error('plain', 0)", "plain"},
        {"error(42)", "42"},
        {"error('\\27[31mred\\0 \\7')", "?[31mred? ?"},
        {"assert(false)", "assertion failed!"},
        {"assert(false, 'because')", "because"},
        {"assert(nil, {})", "the script raised a table value instead of a message"},
        {"local x = nil + 1", "attempt to perform arithmetic on a nil value"},
        {"local x = p.y.z", "there is no parameter \"y\"; params has (none)"},
        {"k()", "attempt to call a nil value (local 'k')"},
        {"return 1 // 0", "attempt to divide by zero"},
    };
    for (const auto &c : kCases) {
        const Diagnostic d = failure_of_text(in_apply(c.code));
        CHECK(d.message == c.message);
        CHECK(d.line == 2);
    }
    const Diagnostic huge = failure_of_text(in_apply("error(('x'):rep(1000000))"));
    CHECK(huge.message.size() < 5000);
    CHECK(huge.line == 2);
    CHECK(failure_of_text(in_apply("local x = target[('x'):rep(1000000)]")).message.size() < 5000);
}

TEST_CASE("a forged schedule is none", "[sandbox]") {
    for (const char *text : {"return { is_schedule = true }", "return { op = 'x', fields = {} }", "return 1", "return", "", "return nil",
                             "return schedule 'x'", "return tune { 1 }", "-- nothing"}) {
        const Diagnostic d = failure_of_text(text);
        CHECK(d.message == "the script does not return a schedule");
        CHECK(d.file.find("script.lua") != std::string::npos);
    }
    CHECK(!failure_of_text("return schedule 'x' { params = { a = { is_tune = true } }, apply = function() end }").message.empty());
    CHECK(!failure_of_text("local s = schedule 'x' { apply = function() end } s.op = nil return s").message.empty());
}

TEST_CASE("what a script prints of itself does not depend on the process", "[sandbox]") {
    // Addresses and hash order would differ: the seed of Lua's hashes is an address.
    const std::string code = in_apply(R"(
        local t = {}
        for i = 1, 200 do t["key" .. (i * 7919) % 1000] = i end
        for _, v in ipairs { 1.5, 3, -2, true, false } do t[v] = v end
        local s = tostring(t) .. tostring(print) .. tostring(function() end)
        s = s .. string.format("%% %-9s|%5d %s", {}, 7, print) .. ("%s"):format(setmetatable({}, { __name = "mine" }))
        local key = next(t)
        while key ~= nil do s, key = s .. tostring(key), next(t, key) end
        -- Far from sorted, and most of them equal.
        local list = {}
        for i = 1, 1000 do list[i] = { rank = i % 100 == 0 and 0 or 1, name = i } end
        table.sort(list, function(a, b) return a.rank < b.rank end)
        for _, e in ipairs(list) do s = s .. e.name .. " " end
        for k, v in pairs(t) do s = s .. tostring(k) .. "=" .. tostring(v) .. ";" end
        error(s, 0))");
    const std::string first = failure_of_text(code).message;
    CHECK(first.size() > 1000);
    CHECK(first.find("0x") == std::string::npos);
    // Keys that can only be told apart by their addresses have no order.
    CHECK(failure_of_text(in_apply("for _ in pairs { [{}] = 1, [{}] = 2 } do end")).message.find("keys of type table have no order") == 0);
    CHECK(failure_of_text(in_apply("for _ in pairs { [{}] = 1, x = 2 } do end")).message.empty());
    for (int i = 0; i < 20; i++) {
        const std::vector<char> padding(size_t(i) * 100000, 'x');  // moves the heap
        CHECK(failure_of_text(code).message == first);
    }
}

TEST_CASE("what a script formats and prints has no addresses", "[sandbox]") {
    for (const char *code :
         {"string.format('%p', {})", "string.format('%%%-20p', print)", "('\\0%p'):format({})", "string.format('%s%p', 1, t)"}) {
        INFO(code);
        CHECK(failure_of_text(in_apply("local t = {} return " + std::string(code))).message ==
              "string.format: addresses (%p) differ from run to run");
    }
    const std::string printed = printed_by("print({}, print, setmetatable({}, { __name = 'mine' }), "
                                           "setmetatable({}, { __tostring = function() return 'own' end }), 1.5, true, nil, 'text')\n"
                                           "print(string.format('%s %5.1f %d%% %q %s %s', {}, 1.25, 3, 'x', nil, true))");
    CHECK(printed == "table\tfunction\ttable\town\t1.5\ttrue\tnil\ttext\ntable   1.2 3% \"x\" nil true\n");
}

TEST_CASE("tables go by in one order, whatever else is given", "[sandbox]") {
    const auto holds = [](const std::string &code) {
        INFO(code);
        CHECK(failure_of_text(in_apply(code)).message.empty());
    };
    holds("assert(next({}) == nil and next({ 7 }) == 1 and next({ b = 1, a = 2 }) == 'a' and select(2, next({ a = 3 })) == 3)");
    holds("local t, s = { 1, 2, x = 3, y = 4, [true] = 5, [2.5] = 6 }, ''\n"
          "for k, v in next, t do s = s .. tostring(k) .. v end assert(s == 'true511222.56x3y4', s)");
    holds("local t = { 3, 1, 2 } table.sort(t) assert(table.concat(t) == '123')");
    holds("local t = {} for i = 1, 1000 do t[i] = i * 7919 % 1009 end table.sort(t, function(a, b) return a > b end)\n"
          "for i = 2, 1000 do assert(t[i - 1] > t[i]) end");
    holds("local t = {} for i = 1, 100 do t[i] = i end table.sort(t, function() return true end) assert(#t == 100)");
    holds("local t = { 'c', 'a', 'b' } table.sort(t, function(a, b) t[1], t[2], t[3] = nil, nil, nil return true end)");
    // More arguments than it takes.
    holds("for k in pairs({ 1 }, 'text', 2) do end next({ 1 }, nil, 'text') table.sort({ 2, 1 }, nil, 'text')");
    CHECK(failure_of_text(in_apply("next({ [{}] = 1, [{}] = 2 })")).message.find("keys of type table have no order") == 0);
    CHECK(failure_of_text(in_apply("table.sort({ 1, 'x' })")).message == "attempt to compare string with number");
}
