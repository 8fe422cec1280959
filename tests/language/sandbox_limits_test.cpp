// No script runs for ever, fills the memory or overflows the stack, and none can catch that.

#include "hostile.h"

using halyard::Diagnostic;

namespace {

struct Bomb {
    const char *name;
    const char *code;
};

// Each is run at load time and within apply.
const Bomb kEndless[] = {
    {"plain", "while true do end"},
    {"one line with work", "local x = 0 while true do x = x + 1 end"},
    {"goto", "::again:: goto again"},
    {"repeat", "repeat until false"},
    {"recursion by tail calls", "local function f() return f() end f()"},
    {"inside pcall", "pcall(function() while true do end end) while true do end"},
    {"loop of pcalls", "while true do pcall(function() while true do end end) end"},
    {"nested loops of pcalls", "local function f(n) while true do pcall(function() if n > 0 then f(n - 1) end while "
                               "true do end end) end end f(50)"},
    {"pcall of pcall", "while true do pcall(pcall, pcall, function() while true do end end) end"},
    {"__index", "local t = setmetatable({}, { __index = function() while true do end end }) local _ = t.x"},
    {"__index chain", "local t = setmetatable({}, { __index = function(t, i) return t[i + 1] end }) "
                      "while true do pcall(function() return t[1] end) end"},
    {"__tostring", "tostring(setmetatable({}, { __tostring = function() while true do end end }))"},
    {"__eq", "local m = { __eq = function() while true do end end } local _ = setmetatable({}, m) == setmetatable({}, m)"},
    {"__concat", "local _ = setmetatable({}, { __concat = function() while true do end end }) .. 'x'"},
    {"__close", "local x <close> = setmetatable({}, { __close = function() while true do end end })"},
    {"__close after a limit", "local x <close> = setmetatable({}, { __close = function() while true do end end }) while true do end"},
    {"__close replaces the error", "local x <close> = setmetatable({}, { __close = function() error('mine', 0) end }) while true do end"},
    {"__close in pcall", "while true do pcall(function() local x <close> = setmetatable({}, { __close = function() "
                         "while true do end end }) "
                         "while true do end end) end"},
    {"a comparator", "table.sort({ 3, 1, 2 }, function() while true do end end)"},
    {"a comparator that lies", "local t = {} for i = 1, 60000 do t[i] = i % 7 end while true do "
                               "pcall(table.sort, t, function(a, b) return true end) end"},
    {"sorting long strings", "local s = ('x'):rep(500000) local t = {} for i = 1, 30000 do t[i] = s end "
                             "while true do table.sort(t) end"},
    {"comparing long strings", "local a, b = ('x'):rep(500000), ('x'):rep(500000) while true do local _ = a < b end"},
    {"concat of made-up elements", "table.concat(setmetatable({}, { __index = table.concat }), '', 1, math.maxinteger)"},
    {"insert at a made-up length", "table.insert(setmetatable({}, { __len = function() return math.maxinteger - 1 end }), 1, nil)"},
    {"remove at a made-up length", "table.remove(setmetatable({}, { __len = function() return math.maxinteger - 1 end }), 1)"},
    {"sort of a made-up length",
     "table.sort(setmetatable({}, { __index = type, __newindex = type, __len = function() return 2147483646 end }))"},
    {"unpack of a made-up length", "table.unpack({}, 1, 1e9 // 1 | 0)"},
    {"pairs over itself growing", "local t = { 1 } while true do for k in pairs(t) do t[#t + 1] = k if #t > 99 then t = {} end end end"},
    {"printing", "while #(tostring(nil)) > 0 do local _ = tostring(1) end"},
};

const Bomb kGreedy[] = {
    {"string doubling", "local s = 'x' while true do s = s .. s end"},
    {"string.rep", "local s = ('x'):rep(1000000) s = s:rep(1000000)"},
    {"string.rep doubling", "local s = 'x' while true do s = s:rep(2) end"},
    {"string.rep with a separator", "local s = ('x'):rep(1000000, ('y'):rep(1000000))"},
    {"a table", "local t = {} for i = 1, math.huge do t[i] = i end"},
    {"tables of tables", "local t = {} while true do t = { t, {}, {}, {} } end"},
    {"keys", "local t = {} for i = 1, math.huge do t['k' .. i] = true end"},
    {"concat", "local t = {} for i = 1, 1000 do t[i] = ('x'):rep(100000) end table.concat(t)"},
    {"closures", "local t = {} while true do local x = #t t[x + 1] = function() return x end end"},
    {"inside pcall", "while true do pcall(function() local s = 'x' while true do s = s .. s end end) end"},
    {"kept inside pcall", "local t = {} while true do pcall(function() for i = 1, 1e9 do t[#t + 1] = {} end end) end"},
    {"in a __close handler", "local x <close> = setmetatable({}, { __close = function() local s = 'x' "
                             "while true do s = s .. s end end })"},
    {"many results", "local function f(n) return n, n, n, table.unpack({ n, n }) end local t = {} "
                     "while true do t = { t, table.pack(f(1)) } end"},
};

const Bomb kDeep[] = {
    {"recursion", "local function f(n) return 1 + f(n + 1) end f(1)"},
    {"recursion through pcall", "local function f() pcall(f) error('x') end f()"},
    {"recursion through __index", "local t = {} setmetatable(t, { __index = function(_, k) return t[k .. 'x'] end }) "
                                  "local _ = t.a"},
    {"recursion through sort", "local function f() table.sort({ 2, 1 }, function() f() end) end f()"},
    {"recursion through tostring", "local t t = setmetatable({}, { __tostring = function() return tostring(t) end }) tostring(t)"},
    {"unpack", "local t = {} for i = 1, 100000 do t[i] = i end select('#', table.unpack(t, 1, 99999999))"},
    {"a metatable loop", "local a, b = {}, {} setmetatable(a, { __index = b }) setmetatable(b, { __index = a }) "
                         "local _ = a.x"},
};

Diagnostic at_load(const Bomb &b) {
    return failure_of_text("-- a bomb\n" + std::string(b.code) + "\n");
}

Diagnostic within_apply(const Bomb &b) {
    return failure_of_text(in_apply(b.code));
}

void check_place(const Diagnostic &d) {
    CHECK(d.file.find("script.lua") != std::string::npos);
    CHECK(d.line == 2);
}

}  // namespace

TEST_CASE("a script that never ends is stopped", "[sandbox]") {
    for (const auto &b : kEndless) {
        INFO(b.name);
        for (const Diagnostic &d : {at_load(b), within_apply(b)}) {
            INFO(d.text());
            // The made-up lengths do not even start.
            CHECK((d.message.find("did not finish within") != std::string::npos ||
                   d.message.find("without a metatable") != std::string::npos || d.message.find("too many results") != std::string::npos));
            check_place(d);
        }
    }
}

namespace {

std::string repeated(const std::string &text, int times) {
    std::string all;
    for (int i = 0; i < times; i++) {
        all += text;
    }
    return all;
}

}  // namespace

// No hook runs within a line or in the parser as often as one would like.
TEST_CASE("a text that takes long to read or to run in one line is stopped", "[sandbox]") {
    const std::string strings = "local a, b = ('x'):rep(1000000), ('x'):rep(1000000) ";
    const std::string compared = repeated("a<b,", 200) + "1", made = repeated("#a:upper(),", 200) + "1";
    const std::string texts[] = {
        strings + "local function f() end " + repeated("f(" + compared + ") ", 1000),
        strings + "local function f() end " + repeated("f(" + made + ") ", 300),
        "local a local _ = " + repeated("a or ", 200000) + "a",
        "local a if a then " + repeated("elseif a then ", 70000) + "end",
    };
    for (const auto &text : texts) {
        for (const std::string &script : {text, "pcall(function() " + text + " end)"}) {
            INFO(script.substr(0, 100));
            const Diagnostic d = failure_of_text(script);
            INFO(d.text());
            CHECK(d.message.find("did not finish within") != std::string::npos);
            CHECK(d.line == 1);
        }
    }
}

TEST_CASE("what Lua would follow in C for ever is refused", "[sandbox]") {
    const auto says = [](const std::string &code, const std::string &expected) {
        INFO(code);
        const Diagnostic d = failure_of_text(code);
        INFO(d.text());
        CHECK(d.message.find(expected) != std::string::npos);
    };
    says("local t = {} setmetatable(t, { __call = t }) t()", "__call is a function in a schedule, not a table");
    // What was checked stays as it was.
    says("local t, m = {}, {} setmetatable(t, m) m.__call = t t()", "attempt to call a table value");
    says("setmetatable({}, { __mode = 'k' })", "a schedule cannot have weak tables");
    // A class is what it was before.
    says("local C = {} C.__index = C C.__call = function(_, x) return x + 1 end function C:get() return self.x end "
         "local o = setmetatable({ x = 5 }, C) error(o:get() + o(1))",
         "7");
}

TEST_CASE("what a script prints is bounded", "[sandbox]") {
    for (const char *code : {"print(('x'):rep(100000))", "while true do pcall(print, ('x'):rep(300)) end",
                             "local s = ('x'):rep(1000000) print(s, s, s, s, s, s, s, s, s, s)"}) {
        INFO(code);
        const Diagnostic d = failure_of_text(code);
        CHECK(d.word == "print");
        CHECK(d.message == "the script prints more than 1 KiB");
        CHECK(d.line == 1);
    }
}

TEST_CASE("a head of endless lists is refused", "[sandbox]") {
    const auto says = [](const std::string &code, const std::string &expected) {
        INFO(code);
        CHECK(failure_of_text(code).message.find(expected) != std::string::npos);
    };
    const std::string list = "local t = {} for i = 1, 1000 do t['k' .. i] = i t[i] = 'v' end ";
    says(list + "return schedule 'op' { params = t, apply = function() end }", "params needs names");
    says("local t = {} for i = 1, 1000 do t['k' .. i] = i end return schedule 'op' { params = t, apply = function() end }",
         "params has more than 256 entries");
    says(list + "return schedule 'op' { requires = t, apply = function() end }", "requires has more than 256 entries");
    says(list + "tune(t)", "has more than 256 choices");
    says("tune { ('x'):rep(5000) }", "a value has more than 4096 characters");
    says("tune { 'x\\n#error' }", "a value is one line of text, without control characters");
    says("tune { 'x', '\\27[2J' }", "a value is one line of text, without control characters");
    says("return schedule 'op' { params = { a = 'x\\0y' }, apply = function() end }",
         "a value is one line of text, without control characters");
    // The distance of two names takes memory of the square of their length.
    CHECK(halyard::did_you_mean(std::string(300, 'a') + "b", {std::string(300, 'a') + "c"}).empty());
}

TEST_CASE("a script that fills the memory is stopped", "[sandbox]") {
    for (const auto &b : kGreedy) {
        INFO(b.name);
        for (const Diagnostic &d : {at_load(b), within_apply(b)}) {
            INFO(d.text());
            CHECK((d.message.find("needs more than 8 MiB") != std::string::npos ||
                   d.message.find("did not finish within") != std::string::npos ||
                   d.message.find("a string of more than 1 MiB") != std::string::npos ||
                   d.message.find("resulting string too large") != std::string::npos));
            check_place(d);
        }
    }
}

TEST_CASE("a script that recurses without end is stopped", "[sandbox]") {
    for (const auto &b : kDeep) {
        INFO(b.name);
        for (const Diagnostic &d : {at_load(b), within_apply(b)}) {
            INFO(d.text());
            CHECK(!d.message.empty());
            check_place(d);
        }
    }
}

TEST_CASE("memory that is given back may be taken again", "[sandbox]") {
    // Each string is garbage at once: the collector, not the script, is at fault if this fails.
    auto options = small_limits();
    options.limits.seconds = 5;
    const Diagnostic d = failure_of_text(in_apply("for i = 1, 60 do local s = ('x'):rep(1000000) .. i end\n"
                                                  "assert(pcall(function() return 1 end))"),
                                         options);
    CHECK(d.text() == "error: ");
}

TEST_CASE("after a limit was hit, a new run starts afresh", "[sandbox]") {
    const TempDir dir;
    halyard::LuaHost host({}, small_limits().limits);
    const auto endless = dir.write("endless.lua", "while true do end");
    const auto greedy = dir.write("greedy.lua", "local s = 'x' while true do s = s .. s end");
    const auto good = dir.write("good.lua", "local ok, what = pcall(error, 'x') return what");
    for (int i = 0; i < 3; i++) {
        CHECK_THROWS_AS(host.run_file(endless, 0), halyard::ScriptError);
        host.restart_clock();
        CHECK_THROWS_AS(host.run_file(greedy, 0), halyard::ScriptError);
        host.restart_clock();
        CHECK_NOTHROW(host.run_file(good, 1));
        CHECK(std::string(lua_tostring(host.state(), -1)) == "x");
        lua_settop(host.state(), 0);
    }
}
