// An error in a library that a script requires is at the line of the script that called, and says where in the library it arose.

#include <catch2/catch.hpp>

#include "small_pipeline.h"
#include "support.h"

namespace {

// The message on a script that calls lib.helper, without the folder.
std::string message_on(const std::string &library, const std::string &apply, const std::string &helper = "lib/helper.lua") {
    const TempDir dir;
    dir.write(helper, library);
    const std::string script =
        dir.write("cpu/s.lua", "local helper = require \"lib.helper\"\nreturn schedule \"small\" { apply = function(k, p, target)\n" +
                                   apply + "\nend }\n");
    std::string message = schedule_small_pipeline(script);
    for (size_t at = message.find(dir.path() + "/"); at != std::string::npos; at = message.find(dir.path() + "/")) {
        message.erase(at, dir.path().size() + 1);
    }
    return message;
}

}  // namespace

TEST_CASE("a word that a library says wrong", "[errors]") {
    CHECK(message_on("local h = {}\nfunction h.rows(f)\n  f:vectorize(\"colum\", 8)\nend\nreturn h", "  helper.rows(k.y)\n") ==
          "cpu/s.lua:3: error: vectorize: there is no loop \"colum\" in y; its loops are \"col\", \"row\", innermost first\n"
          "  in lib/helper.lua:3\n"
          "  did you mean \"col\"?");
}

TEST_CASE("Lua's own errors and those that a library raises", "[errors]") {
    CHECK(message_on("local h = {}\nfunction h.rows(f, o)\n  return o.tile * 2\nend\nreturn h", "\n  local x = helper.rows(k.y, nil)\n") ==
          "cpu/s.lua:4: error: attempt to index a nil value (local 'o')\n  in lib/helper.lua:3");
    CHECK(message_on("local h = {}\nfunction h.rows(f, o)\n  error(\"rows must be even\")\nend\nreturn h", "\n  helper.rows(k.y)\n") ==
          "cpu/s.lua:4: error: rows must be even\n  in lib/helper.lua:3");
}

TEST_CASE("an error that Halide finds when the script has ended", "[errors]") {
    CHECK(message_on("local h = {}\nfunction h.all(f)\n  f:unroll(\"row\")\nend\nreturn h", "  helper.all(k.y)\n") ==
          "cpu/s.lua:3: error: unroll: how often \"row\" of y turns is not known before a call\n"
          "  in lib/helper.lua:3\n"
          "  split it by a number first, and unroll the inner loop");
}

TEST_CASE("a library that does not load", "[errors]") {
    const std::string message = message_on("local h = {}\nlocal x = h.a.b\nreturn h", "");
    CHECK(message == "cpu/s.lua:1: error: attempt to index a nil value (field 'a')\n  in lib/helper.lua:2");
}

TEST_CASE("a file beside the script is the script's own", "[errors]") {
    CHECK(message_on("local h = {}\nfunction h.rows(f)\n  f:vectorize(\"nope\", 8)\nend\nreturn h", "  helper.rows(k.y)\n",
                     "cpu/lib/helper.lua") ==
          "cpu/lib/helper.lua:3: error: vectorize: there is no loop \"nope\" in y; its loops are \"col\", \"row\", innermost first");
}
