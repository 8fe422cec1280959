// Alternatives side by side: the records, and the page in a real browser.

#include <regex>

#include <catch2/catch.hpp>

#include "../command/support.h"
#include "compare.h"

using namespace halyard::explore;

TEST_CASE("Alternatives side by side", "[compare]") {
    const Folder folder;
    Task task;
    task.op = "softmax";
    task.shape = {{"rows", 16}, {"cols", 1024}};
    std::vector<Contender> contenders(3);
    for (size_t i = 0; i < 2; i++) {
        contenders[i].name = i == 0 ? "softmax.unfused" : "softmax";
        contenders[i].candidate.lua = read_file(HALYARD_SOURCE "/schedules/cpu/" + contenders[i].name + ".lua");
    }
    contenders[2].name = "<wrong>";
    contenders[2].candidate.lua = "return schedule \"softmax\" {\n  target = \"cpu\",\n"
                                  "  apply = function(k) k.row_mix:compute_root() end,\n}\n";
    std::vector<std::string> said;
    const Comparison c = compare(task, contenders, [&](const std::string &what) { said.push_back(what); });
    CHECK(said.size() > 3);
    CHECK(c.alternatives[2].name == "<wrong>");
    const auto j = comparison_json(c);
    REQUIRE(j["alternatives"].size() == 3);
    CHECK(j["alternatives"][2]["seconds"].is_null());
    CHECK(contains(j["alternatives"][2]["measured"]["message"], "softmax.lua:3: error"));
    for (int i = 0; i < 2; i++) {
        const auto &a = j["alternatives"][size_t(i)];
        INFO(a.dump(1));
        CHECK(a["measured"]["status"] == "ok");
        CHECK(a["seconds"] > 0);
        CHECK(a["predicted"] > 0);
        CHECK(a["floor"] > 0);
        CHECK(a["bytes"]["L1"] > 0);
    }
    CHECK(j["alternatives"][0]["seconds"] <= j["alternatives"][1]["seconds"]);
    const auto &fused = j["alternatives"][j["alternatives"][0]["name"] == "softmax" ? 0 : 1];
    CHECK(fused["fusion"]["row_max"] != "root");
    const std::string why = j["why"].dump();
    CHECK(contains(why, " takes "));
    CHECK(contains(why, "row_max"));
    CHECK(contains(why, "against root") != contains(why, "root against"));
    CHECK(contains(why, "times as fast as"));

    const std::string html = comparison_html(c), page = folder / "page.html";
    write_file(page, html);
    CHECK(count(html, "&lt;wrong&gt;") >= 2);
    CHECK_FALSE(contains(html, "<wrong>"));
    CHECK(count(html, "<svg class=\"bars\"") == 1);
    CHECK(count(html, "<g class=\"alternative\">") == 2);
    CHECK(count(html, "class=\"bar-of level-") == 10);
    CHECK(count(html, "<section class=\"tree\">") == 2);
    CHECK(count(html, "<div class=\"func\">") >= 6);
    CHECK_FALSE(std::regex_search(html, std::regex("(src|href)=\"(?!data:)[^#]")));
    CHECK_FALSE(contains(html, "<script"));
    CHECK_FALSE(contains(html, "nan"));
    const auto shown = shown_by_browser(page);
    if (!shown) {
        WARN("skipped: no Chromium is installed (third_party/debian.txt)");
        return;
    }
    INFO(shown->err);
    REQUIRE(shown->exit_code == 0);
    // What the browser made of it: a tag that was not closed would show here.
    CHECK(count(shown->out, "<g class=\"alternative\">") == 2);
    CHECK(count(shown->out, "class=\"bar-of level-") == 10);
    CHECK(count(shown->out, "<div class=\"func\">") == count(html, "<div class=\"func\">"));
    CHECK(count(shown->out, "<td>") == count(html, "<td>"));
    CHECK_FALSE(contains(shown->err, "CONSOLE"));
}
