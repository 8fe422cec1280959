// The page of halyard explain in a real browser: headless Chromium, where it is installed.

#include <catch2/catch.hpp>

#include <cstdlib>
#include <regex>

#include <fmt/format.h>

#include "tests/command/support.h"
#include "kernel/terminal_guard.h"

TEST_CASE("The page has the roofline and the nest, and needs nothing else", "[page]") {
    const Folder folder;
    const std::string page = folder / "page.html";
    const ProcessResult made = run({"explain", "softmax", "--shape", "rows=16,cols=1024", "--seconds", "0.05", "--html", page});
    INFO(made.err);
    REQUIRE(made.exit_code == 0);
    CHECK(made.out == page + "\n");
    const std::string html = read_file(page);
    CHECK(count(html, "<svg class=\"roofline\"") == 1);
    CHECK(count(html, "class=\"roof\"") >= 4);
    CHECK(count(html, "class=\"point predicted") >= 4);
    CHECK(count(html, "class=\"point measured") >= 4);
    CHECK(count(html, "<table class=\"nest\">") == 2);
    CHECK(count(html, "<tr class=\"stage\">") >= 8);
    CHECK(count(html, "<table class=\"counters\">") == 2);
    // Each number of the picture has a name below it, and no figure is wider than a phone without scrolling.
    const int points = count(html, "class=\"number\"");
    CHECK(points >= 4);
    CHECK(count(html, "<ul class=\"points\">") == 1);
    CHECK(contains(html, fmt::format("<span><b>{}</b> ", points)));
    CHECK(contains(html, "<span><b>1</b> whole op</span>"));
    CHECK(contains(html, "beside itself differed by "));
    CHECK(count(html, "<table") == count(html, "<div class=\"wide\"><table"));
    CHECK(contains(html, "<div class=\"wide\"><svg class=\"roofline\""));
    CHECK(contains(html, "prefers-color-scheme: dark"));
    CHECK(contains(html, "role=\"img\""));
    // Nothing from elsewhere, and nothing that is not text.
    CHECK_FALSE(std::regex_search(html, std::regex("(src|href)=\"(?!data:)[^#]")));
    CHECK_FALSE(contains(html, "<script"));
    CHECK_FALSE(contains(html, "url(http"));
    CHECK_FALSE(contains(html, "nan"));
    CHECK_FALSE(contains(html, "\"inf"));

    const auto shown = shown_by_browser(page);
    if (!shown) {
        WARN("skipped: no Chromium is installed (third_party/packages.txt)");
        return;
    }
    INFO(shown->err);
    REQUIRE(shown->exit_code == 0);
    // What the browser made of it, serialised anew: a tag that was not closed would show here.
    CHECK(count(shown->out, "<svg class=\"roofline\"") == 1);
    CHECK(count(shown->out, "class=\"point ") == count(html, "class=\"point "));
    CHECK(count(shown->out, "<tr class=\"stage\">") == count(html, "<tr class=\"stage\">"));
    CHECK(count(shown->out, "<td>") == count(html, "<td>"));
    CHECK(contains(shown->out, "produce row_max"));
    CHECK_FALSE(contains(shown->err, "CONSOLE"));
}

TEST_CASE("What a script is called and says stands in a page as it is", "[page]") {
    const Folder folder;
    const std::string script = folder / "d\x1b[31m\xe2\x80\xae'<b>.lua", page = folder / "page.html";
    // A word whose comment turns the order of what is read, and ends a cell.
    write_file(script,
               "return schedule \"rms_norm\" { target = \"cpu\", apply = function(k)\n"
               "  k.y:split(\"col\", 8, \"guard\", \"o\", \"i\") -- \xe2\x80\xae back \xe2\x81\xa6 \x1b[2J \xff </td><script>'x'</script>\n"
               "end }\n");
    const ProcessResult made =
        run({"explain", "rms_norm", "--schedule", script, "--count", "--target", "avx2", "--shape", "rows=4,cols=64", "--html", page});
    INFO(made.err);
    REQUIRE(made.exit_code == 0);
    const std::string html = read_file(page);
    CHECK(halyard::visible(html) == html);
    CHECK(contains(html, "\\u202e back \\u2066 \\x1b[2J \xef\xbf\xbd &lt;/td&gt;&lt;script&gt;&#39;x&#39;&lt;/script&gt;"));
    CHECK(contains(html, "d\\x1b[31m\\u202e&#39;&lt;b&gt;"));
}
