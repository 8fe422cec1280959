// Files: what can be loaded, what `require` finds, and what it says otherwise.

#include <sys/stat.h>
#include <unistd.h>

#include "hostile.h"

using halyard::Diagnostic;
using Catch::Matchers::Contains;

TEST_CASE("a script that is no readable text file", "[sandbox]") {
    const TempDir dir;
    CHECK_THAT(failure(dir.path() + "/missing.lua").text(), Contains("missing.lua: error: cannot be read: No such file"));
    CHECK_THAT(failure(dir.path()).text(), Contains("is not a file"));
    const std::string fifo = dir.path() + "/fifo.lua";
    REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
    CHECK_THAT(failure(fifo).text(), Contains("fifo.lua: error: is not a file"));
    CHECK_THAT(failure("/dev/zero").text(), Contains("is not a file"));
    CHECK_THAT(failure(dir.write("big.lua", std::string((1 << 20) + 1, ' '))).text(), Contains("larger than 1 MiB"));
    CHECK_THAT(failure(dir.write("bytecode.lua", "\x1bLua\x54")).text(), Contains("is compiled Lua"));
    const Diagnostic d = failure(dir.write("latin.lua", "-- caf\xe9\nlocal x = \"\xff\xfe\"\nlocal \xe9 = 1\n"));
    CHECK(d.line == 3);
    const Diagnostic nul = failure(dir.write("nul.lua", std::string("local x\0 = 1", 12)));
    CHECK(nul.line == 1);
    CHECK_THAT(failure("").text(), Contains("cannot be read"));
}

TEST_CASE("a syntax error has file and line", "[sandbox]") {
    const Diagnostic d = failure_of_text("local x = 1\nlocal y = = 2\n");
    CHECK(d.line == 2);
    CHECK(d.message == "unexpected symbol near '='");
    CHECK(failure_of_text("return schedule \"op\" {\n  apply = function(k\n").line == 3);
    CHECK_THAT(failure_of_text(std::string(100000, '(')).text(), Contains("script.lua:1: error: C stack overflow"));
    CHECK_THAT(failure_of_text("local x = " + std::string(100000, '{')).text(), Contains("script.lua:1: error: C stack"));
    CHECK(failure_of_text("goto nowhere").line == 1);
    CHECK(failure_of_text("local x <const> = 1\nx = 2").line == 2);
}

TEST_CASE("require takes names of modules, not paths", "[sandbox]") {
    for (const char *name :
         {"../secret", "/etc/passwd", "..secret", "a..b", ".a", "a.", "", "a/b", "a b", "~", "lib\\\\reduce", "lib.reduce.lua'", "a\\0b"}) {
        const Diagnostic d = failure_of_text("local ok = 1\nlocal x = require \"" + std::string(name) + "\"");
        INFO(d.text());
        CHECK(d.line == 2);
        CHECK(d.word == "require");
        CHECK_THAT(d.message, Contains("is not a module name"));
    }
    CHECK(failure_of_text("require {}").line == 1);
    CHECK(failure_of_text("require()").line == 1);
}

TEST_CASE("a missing module lists where it was looked for", "[sandbox]") {
    const TempDir dir;
    auto options = small_limits();
    options.lib_dirs = {dir.path() + "/more"};
    const Diagnostic d = failure(dir.write("cpu/script.lua", "\nlocal x = require \"lib.reduse\""), options);
    CHECK(d.line == 2);
    CHECK_THAT(d.message, Contains("there is no module \"lib.reduse\"") && Contains(dir.path() + "/cpu/lib/reduse.lua") &&
                              Contains(dir.path() + "/more/lib/reduse.lua") && Contains(dir.path() + "/lib/reduse.lua"));
}

TEST_CASE("a link out of the folders of modules is not followed", "[sandbox]") {
    const TempDir dir, elsewhere;
    const std::string secret = elsewhere.write("secret", "the words of the user");
    dir.write("inside.lua", "return 7");
    dir.write("cpu/none.lua", "");
    REQUIRE(symlink(secret.c_str(), (dir.path() + "/cpu/out.lua").c_str()) == 0);
    REQUIRE(symlink(elsewhere.path().c_str(), (dir.path() + "/cpu/far").c_str()) == 0);
    REQUIRE(symlink("../inside.lua", (dir.path() + "/cpu/near.lua").c_str()) == 0);
    elsewhere.write("module.lua", "return 1");
    for (const char *name : {"out", "far.module"}) {
        const Diagnostic d = failure(dir.write("cpu/script.lua", "\nlocal x = require \"" + std::string(name) + "\""));
        INFO(d.text());
        CHECK(d.line == 2);
        CHECK_THAT(d.message,
                   Contains("there is no module") && Contains("a link that leads out of these folders") && !Contains("the words"));
    }
    const auto near = dir.write("cpu/script.lua", "assert(require 'near' == 7)\n"
                                                  "return schedule 'op' { apply = function() end }");
    CHECK(halyard::read_header(near, small_limits()).op == "op");
}

TEST_CASE("the name of an op is a name", "[sandbox]") {
    for (const char *op : {"", "a b", "x\\n#include <stdio.h>", "../x", "x;"}) {
        const Diagnostic d = failure_of_text("return schedule \"" + std::string(op) + "\" { apply = function() end }");
        INFO(d.text());
        CHECK(d.line == 1);
        CHECK_THAT(d.message, Contains("is not the name of an op"));
    }
}

TEST_CASE("modules are found, loaded once, and recorded", "[sandbox]") {
    const TempDir dir;
    dir.write("lib/once.lua", "local n = {} return n");
    const auto path = dir.write("cpu/script.lua", "local a = require 'lib.once' local b = require 'lib.once'\n"
                                                  "assert(a == b)\n"
                                                  "return schedule 'op' { apply = function() end }");
    const auto header = halyard::read_header(path, small_limits());
    CHECK(header.files == std::vector<std::string>{path, dir.path() + "/lib/once.lua"});
}

TEST_CASE("modules that fail", "[sandbox]") {
    const TempDir dir;
    dir.write("a.lua", "return require 'b'");
    dir.write("b.lua", "\nreturn require 'a'");
    const Diagnostic cycle = failure(dir.write("cycle.lua", "require 'a'"));
    CHECK_THAT(cycle.text(), Contains("b.lua:2: error: require: the files require each other in a circle") && Contains("a.lua -> ") &&
                                 Contains("b.lua -> "));
    CHECK_THAT(failure(dir.write("self.lua", "require 'self'")).text(), Contains("in a circle"));

    dir.write("endless.lua", "\n\nwhile true do end");
    const Diagnostic endless = failure(dir.write("script.lua", "pcall(require, 'endless')"));
    CHECK_THAT(endless.text(), Contains("endless.lua:3: error: the script did not finish"));

    dir.write("nothing.lua", "local x = 1");
    CHECK_THAT(failure(dir.write("script.lua", "require 'nothing'")).text(), Contains("the module returns nothing"));
    dir.write("broken.lua", "\nlocal = 1");
    CHECK_THAT(failure(dir.write("script.lua", "require 'broken'")).text(), Contains("broken.lua:2: error: <name> expected"));

    // A second try under pcall says the same and does not take a circle for the cause.
    CHECK_THAT(failure(dir.write("script.lua", "pcall(require, 'broken') require 'broken'")).text(),
               Contains("broken.lua:2: error: <name> expected"));
    dir.write("large.lua", "local = 1 --" + std::string(1 << 19, 'x'));
    CHECK_THAT(failure(dir.write("script.lua", "while true do pcall(require, 'large') end")).text(), Contains("did not finish"));

    REQUIRE(mkdir((dir.path() + "/folder.lua").c_str(), 0700) == 0);
    CHECK_THAT(failure(dir.write("script.lua", "require 'folder'")).text(), Contains("there is no module \"folder\""));
}
