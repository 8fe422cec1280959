// A terminal gets text, whatever scripts, records and generators are called and say.

#include <catch2/catch.hpp>

#include "tests/command/support.h"
#include "kernel/terminal_guard.h"

using halyard::visible;
using Catch::Matchers::Contains;

TEST_CASE("What controls a terminal is made visible", "[terminal]") {
    CHECK(visible("plain \t text\n") == "plain \t text\n");
    CHECK(visible("caf\xc3\xa9 \xe2\x94\x82 \xf0\x9f\x98\x80") == "caf\xc3\xa9 \xe2\x94\x82 \xf0\x9f\x98\x80");
    CHECK(visible("\x1b[2J\x07\r\x7f") == "\\x1b[2J\\x07\\x0d\\x7f");
    CHECK(visible("\xc2\x9b"
                  "31m") == "\\x9b31m");  // the same as one character
    CHECK(visible("\x9b"
                  "31m\xff") == "\\x9b31m\\xff");  // and as a byte
    CHECK(visible("a\xe2\x80\xae"
                  "b") == "a\\u202eb");  // from here on read backwards
    // What is not seen: a soft hyphen, a space of no width, a mark of the order of bytes, a letter among the tags.
    CHECK(visible("a\xc2\xad"
                  "b\xe2\x80\x8b"
                  "c\xef\xbb\xbf"
                  "d\xf3\xa0\x81\x81") == "a\\xadb\\u200bc\\ufeffd\\ue0041");
    CHECK(visible("\xe2\x80") == "\\xe2\\x80");
}

TEST_CASE("Names and messages reach a terminal as text, and our colours as colours", "[terminal]") {
    const Folder folder;
    const std::string script = folder / "red\x1b[31m.lua";
    write_file(script, "-- \x1b]0;title\x07 of a stranger\nreturn schedule \"rms_norm\" {\n  target = \"cpu\",\n"
                       "  apply = function(k) error(\"\\27[2J gone\") end,\n}\n");
    std::string text = run_on_terminal({"build", "rms_norm", "--schedule", script, "--target", "avx2", "-o", folder / "out"});
    INFO(text);
    CHECK(text.find("\x1b[31m.lua") == std::string::npos);
    CHECK(text.find("\x1b[2J") == std::string::npos);
    CHECK_THAT(text, Contains("red\\x1b[31m.lua"));
    CHECK_THAT(run_on_terminal({"biuld"}), Contains("\x1b[31merror:\x1b[0m"));
    // Elsewhere bytes stay as they are.
    const halyard::ProcessResult r = run({"build", "rms_norm", "--schedule", script, "--target", "avx2", "-o", folder / "out"});
    CHECK_THAT(r.err, Contains("red\x1b[31m.lua"));
}

// As trace words have it, which a program that links the library gets on its standard output.
TEST_CASE("What a kernel prints is no part of an answer, and has an end", "[terminal]") {
    const Folder folder;
    const std::string script = folder / "traced.lua";
    write_file(script, "return schedule \"rms_norm\" {\n  target = \"cpu\",\n"
                       "  apply = function(k) k.y:trace_stores():add_trace_tag \"{ status: ok }\" end,\n}\n");
    const Arguments bench = {"bench",     "rms_norm", "--schedule", script, "--shape", "rows=200,cols=300",
                             "--seconds", "0.01",     "--threads",  "1"};
    Arguments with_json = bench;
    with_json.emplace_back("--json");
    const halyard::ProcessResult r = run(with_json);
    CHECK(r.exit_code == 0);
    CHECK_FALSE(nlohmann::json::parse(r.out, nullptr, false).is_discarded());
    CHECK_THAT(r.err, Contains("Store y") && Contains("the kernel printed more, which is left out"));
    CHECK(r.err.size() < (size_t(1) << 20) + 10000);
}

TEST_CASE("Texts of any length and however they are cut arrive whole", "[terminal]") {
    const std::string text = run_on_terminal({"list", "--markdown"}), plain = run({"list", "--markdown"}).out;
    std::string seen;
    for (const char c : text) {
        seen += c == '\r' ? "" : std::string(1, c);
    }
    CHECK(plain.size() > 10000);
    CHECK_THAT(seen, Contains(plain));
}
