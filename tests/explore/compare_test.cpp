// Alternatives side by side: the records, and the page in a real browser.

#include <regex>

#include <catch2/catch.hpp>

#include "tests/command/support.h"
#include "explore/compare/compare.h"
#include "explore/store/database.h"
#include "kernel/json_text.h"

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
    CHECK((contains(why, "times as fast as") || contains(why, "a tie between")));
    CHECK(contains(why, "noise "));
    CHECK(contains(j["turns"].dump(), "beside itself differed by"));
    CHECK(fused["rounds"] >= 9);
    CHECK(fused["middle_half"][0] <= fused["seconds"]);

    const std::string html = comparison_html(c), page = folder / "page.html";
    write_file(page, html);
    CHECK(count(html, "&lt;wrong&gt;") >= 2);
    CHECK_FALSE(contains(html, "<wrong>"));
    CHECK(count(html, "<svg class=\"bars\"") == 1);
    CHECK(count(html, "<g class=\"alternative\">") == 2);
    CHECK(count(html, "class=\"bar-of level-") == 10);
    CHECK(count(html, "class=\"grid\"") >= 4);  // the bars have a scale
    CHECK(count(html, "<table") == count(html, "<div class=\"wide\"><table"));
    CHECK(contains(html, "beside itself differed by "));
    CHECK(count(html, "<section class=\"tree\">") == 2);
    CHECK(count(html, "<div class=\"func\">") >= 6);
    CHECK_FALSE(std::regex_search(html, std::regex("(src|href)=\"(?!data:)[^#]")));
    CHECK_FALSE(contains(html, "<script"));
    CHECK_FALSE(contains(html, "nan"));
    const auto shown = shown_by_browser(page);
    if (!shown) {
        WARN("skipped: no Chromium is installed (third_party/packages.txt)");
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

namespace {

std::vector<Contender> softmax_for_cuda() {
    std::vector<Contender> contenders(3);
    for (size_t i = 0; i < 2; i++) {
        contenders[i].name = i == 0 ? "softmax.unfused" : "softmax";
        contenders[i].candidate.lua = read_file(HALYARD_SOURCE "/schedules/cuda/" + contenders[i].name + ".lua");
    }
    contenders[2].name = "<wrong>";
    contenders[2].candidate.lua = "return schedule \"softmax\" {\n  target = \"cuda\",\n"
                                  "  apply = function(k) k.row_mix:compute_root() end,\n}\n";
    return contenders;
}

const auto kSilent = [](const std::string &) {};

}  // namespace

TEST_CASE("Alternatives for CUDA, checked on the emulator", "[compare_device]") {
    Task task;
    task.op = "softmax";
    task.shape = {{"rows", 3}, {"cols", 200}};
    task.target = "cuda-emulator";
    OnDevice device;
    device.gpu = halyard::gpu_figures("H200");
    device.measure = device.emulated = true;
    const Comparison c = compare_on_device(task, softmax_for_cuda(), device, kSilent);
    REQUIRE(c.alternatives.size() == 3);
    CHECK_FALSE(c.measured);
    CHECK(c.alternatives[0].name == "softmax");
    for (size_t i = 0; i < 2; i++) {
        const Alternative &a = c.alternatives[i];
        INFO(a.name << ": " << a.measured.message);
        CHECK(a.measured.ok());
        CHECK(a.measured.reference == "softmax.unfused");
        REQUIRE(a.explained);
        CHECK_FALSE(a.explained->warm.measured);  // what the emulator takes says nothing
        CHECK_FALSE(a.explained->kernels[0].resources);
        CHECK(a.explained->kernels[0].threads() >= 32);
    }
    CHECK(c.alternatives[2].failed());
    CHECK(contains(c.alternatives[2].measured.message, "softmax.lua:3: error"));
    const auto j = comparison_json(c);
    CHECK(j["alternatives"][0]["seconds"].is_null());
    CHECK(j["alternatives"][0]["measured"]["status"] == "ok");
    CHECK(contains(j["why"].dump(), "is predicted to take"));
}

TEST_CASE("Alternatives for CUDA where there is no device, with what the database knows of one", "[compare_device]") {
    const Folder folder;
    const std::string db = folder / "s.db", page = folder / "page.html";
    Task task;
    task.op = "softmax";
    task.shape = {{"rows", 4096}, {"cols", 8192}};
    task.params = {{"type", "bfloat16"}};
    task.target = "cuda-sm_90a";
    task.machine = "NVIDIA H200, 132 multiprocessors";
    const auto contenders = softmax_for_cuda();
    for (size_t i = 0; i < 2; i++) {
        Measured m;
        m.status = Status::kOk;
        m.least = m.median = i == 0 ? 123e-6 : 45e-6;
        Database(db).record(task, contenders[i].candidate, m);
    }
    const ProcessResult r =
        run({"explore", "softmax", "--target", "cuda-sm_90a", "--param", "type=bfloat16", "--shape", "rows=4096,cols=8192", "--compare",
             "unfused", "--compare", "softmax", "--db", db, "--json", "--html", page},
            {"HALYARD_CUDA_DRIVER=/there/is/none.so"});
    INFO(r.err);
    REQUIRE(r.ok());
    const auto j = halyard::parse_json(r.out);
    CHECK(j["measured"] == true);
    CHECK(j["device"]["name"] == "NVIDIA H200");
    REQUIRE(j["alternatives"].size() == 2);
    const auto &fused = j["alternatives"][0], &unfused = j["alternatives"][1];
    CHECK(fused["name"] == "softmax");
    CHECK(fused["seconds"] == Approx(45e-6));
    CHECK(fused["explained"]["launches"] == 1);
    CHECK(fused["explained"]["kernels"][0]["resources"]["registers"] > 0);
    CHECK(unfused["seconds"] == Approx(123e-6));
    CHECK(unfused["bytes"]["memory"] > fused["bytes"]["memory"]);
    CHECK(contains(j["why"].dump(), "measured, softmax is 2.73 times as fast as softmax.unfused"));
    CHECK(contains(j["why"].dump(), "against root") != contains(j["why"].dump(), "root against"));

    const std::string html = read_file(page);
    CHECK(count(html, "<g class=\"alternative\">") == 2);
    CHECK(count(html, "class=\"bar-of level-") == 10);
    CHECK(count(html, "class=\"taken\"") == 3);  // with the key
    CHECK(count(html, "<table class=\"kernels\">") == 2);
    CHECK(count(html, "<section class=\"tree\">") == 2);
    CHECK_FALSE(contains(html, "nan"));
    const auto shown = shown_by_browser(page);
    if (!shown) {
        WARN("skipped: no Chromium is installed (third_party/packages.txt)");
        return;
    }
    REQUIRE(shown->exit_code == 0);
    CHECK(count(shown->out, "class=\"bar-of level-") == 10);
    CHECK(count(shown->out, "<td>") == count(html, "<td>"));
    CHECK_FALSE(contains(shown->err, "CONSOLE"));
}
