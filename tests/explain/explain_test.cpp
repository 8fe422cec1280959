// halyard explain as a user runs it.

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>

#include "kernel/cpu.h"
#include "tests/command/support.h"

namespace {

const nlohmann::json *stage(const nlohmann::json &schedule, const std::string &name) {
    for (const auto &s : schedule.at("stages")) {
        if (s.at("stage") == name) {
            return &s;
        }
    }
    return nullptr;
}

}  // namespace

TEST_CASE("Fused and unfused are compared by default", "[explain]") {
    const nlohmann::json j = run_json({"explain", "rms_norm", "--shape", "rows=2048,cols=1024", "--seconds", "0.05"});
    REQUIRE(j.at("schedules").size() == 2);
    CHECK(j.at("schedules")[0].at("schedule") == "rms_norm");
    CHECK(j.at("schedules")[1].at("schedule") == "rms_norm.unfused");
    CHECK(j.at("comparison")[0].at("sentences").size() >= 3);
    CHECK(j.at("machine").at("levels").size() >= 2);
    for (const auto &s : j.at("schedules")) {
        INFO(s.at("schedule"));
        // By hand: x squared and added, scaled twice.
        CHECK(s.at("flops") == Approx(4.0 * 2048 * 1024).epsilon(0.02));
        for (const char *state : {"warm", "cold"}) {
            CHECK(s.at(state).at("predicted_seconds") > 0);
            CHECK(s.at(state).at("measured_seconds") > 0);
            CHECK(s.at(state).at("floor_seconds") > 0);
        }
        CHECK(s.at("about").size() >= 3);
        // Also of a schedule that is finished, whose library has no names of loops any more.
        CHECK(s.at("mca").at("error") == "");
        CHECK(std::any_of(s.at("loops").begin(), s.at("loops").end(), [](const auto &l) { return l.at("cycles") > 0; }));
        for (const auto &x : s.at("stages")) {
            CHECK(x.at("recomputed") == 1);
        }
        REQUIRE(stage(s, "y"));
        // y is written once, whatever the cache: 8 MiB do not fit with x in an L3 of 8 MiB or less, but in L2 they
        // never do.
        CHECK(stage(s, "y")->at("cold").at("bytes").at("L3").at("written") == Approx(2048 * 1024 * 4).epsilon(0.02));
    }
    // The fused sums are in registers, the unfused ones are an array.
    const auto *sum = stage(j.at("schedules")[0], "sum_sq.update(0)");
    REQUIRE(sum);
    CHECK(halyard::starts_with(sum->at("computed_at"), "y.row_"));
    CHECK(contains(sum->at("file"), "reduce.lua"));
    CHECK(contains(sum->at("source"), "compute_at"));
    CHECK(sum->at("warm").at("bytes").at("L1").at("written") == 0);
    const auto *unfused = stage(j.at("schedules")[1], "sum_sq.update(0)");
    REQUIRE(unfused);
    CHECK(unfused->at("computed_at") == "");
    CHECK(unfused->at("warm").at("bytes").at("L1").at("written") > 0);
    // x is read twice: from L2 both times without fusion, and from beyond it once where rows fit.
    const auto beyond_l2 = [&](int i) {
        double sum_of = 0;
        for (const auto &x : j.at("schedules")[size_t(i)].at("stages")) {
            sum_of += x.at("cold").at("bytes").at("L3").at("read").get<double>();
        }
        return sum_of;
    };
    CHECK(beyond_l2(1) - beyond_l2(0) == Approx(2048 * 1024 * 4).epsilon(0.05));
}

TEST_CASE("The table, and a schedule of one's own", "[explain]") {
    const Folder folder;
    const std::string script = write_schedule(folder / "mine.lua");
    const ProcessResult r = run({"explain", "rms_norm", "--schedule", "rms_norm", "--schedule", script, "--shape", "rows=32,cols=256",
                                 "--seconds", "0.05", "--cold"});
    INFO(r.err);
    REQUIRE(r.exit_code == 0);
    CHECK(contains(r.out, "from memory"));
    CHECK(contains(r.out, " (reduce.lua:"));
    CHECK(contains(r.out, "rms_norm against mine"));
    // mine.lua has no vectorize.
    CHECK(contains(r.out, "computes without SIMD"));
}

TEST_CASE("Scalar code that is fused is slower than SIMD code that is not", "[explain]") {
    const Folder folder;
    const std::string script = write_schedule(folder / "mine.lua");
    const nlohmann::json j =
        run_json({"explain", "rms_norm", "--schedule", script, "--schedule", "unfused", "--shape", "rows=64,cols=4096", "--predict"});
    const std::string sentences = j.at("comparison")[0].at("sentences").dump();
    INFO(sentences);
    for (const char *name : {"sum_sq.update(0)", "y"}) {
        CHECK(contains(sentences, std::string(name) + " is scalar code in mine and SIMD in rms_norm.unfused"));
        const auto *fused = stage(j.at("schedules")[0], name), *unfused = stage(j.at("schedules")[1], name);
        REQUIRE((fused && unfused));
        CHECK(fused->at("scalar_flops") == fused->at("flops"));
        CHECK(unfused->at("scalar_flops") < 0.1 * unfused->at("flops").get<double>());  // the last additions of a sum in lanes
        CHECK(fused->at("instruction_seconds") > 2 * unfused->at("instruction_seconds").get<double>());
    }
    CHECK(count(sentences, "which does not make up for it") == 2);
    CHECK(contains(sentences, "In the cache, mine does not pay: rms_norm.unfused is "));
}

TEST_CASE("A prediction alone runs no kernel", "[explain]") {
    const nlohmann::json j = run_json({"explain", "softmax", "--schedule", "softmax", "--shape", "rows=8,cols=512", "--predict"});
    REQUIRE(j.at("schedules").size() == 1);
    const auto &s = j.at("schedules")[0];
    CHECK(s.at("warm").at("measured_seconds").is_null());
    CHECK(s.at("warm").at("predicted_seconds") > 0);
    // logits is inlined into the maximum and into the exponentials.
    bool found = false;
    for (const auto &i : s.at("inlined")) {
        found = found || (i.at("func") == "logits" && i.at("computed") == 2);
    }
    CHECK(found);
}

TEST_CASE("A product in tiles has its flops, though its loops are a call", "[explain]") {
    for (const char *schedule : {"mma", "mma_f32"}) {
        const nlohmann::json j = run_json(
            {"explain", "gemm", "--schedule", schedule, "--target", "avx512_sapphirerapids", "--shape", "m=64,n=96,k=128", "--count"});
        INFO(schedule);
        const nlohmann::json *product = stage(j.at("schedules")[0], "acc.update(0)");
        REQUIRE(product);
        CHECK(product->at("flops") == 2.0 * 64 * 96 * 128);
        CHECK(product->at("flops_seconds") > 0);
    }
}

TEST_CASE("A wrong call says what is wrong", "[explain]") {
    ProcessResult r = run({"explain", "rms_norm", "--shape", "rows=4"});
    CHECK(r.exit_code == 2);
    CHECK(contains(r.err, "lacks cols"));
    r = run({"explain", "rms_norm", "--schedule", "none"});
    CHECK(r.exit_code == 2);
    CHECK(contains(r.err, "explain needs a schedule"));
    r = run({"explain", "rms_norm", "--threads", "0"});
    CHECK(r.exit_code == 2);
    r = run({"explain", "rms_norm", "--target", "avx2,avx512"});
    CHECK(r.exit_code == 2);
    CHECK(contains(r.err, "one target"));
    if (halyard::cpu().level == "avx2") {
        r = run({"explain", "rms_norm", "--target", "avx512"});
        CHECK(r.exit_code == 2);
        CHECK(contains(r.err, "this processor cannot run what is built for avx512"));
    }
    const Folder folder;
    const std::string script = write_wrong_schedule(folder / "wrong.lua");
    r = run({"explain", "rms_norm", "--schedule", script});
    CHECK(r.exit_code == 1);
    CHECK(halyard::starts_with(r.err, script + ":8: error: "));
}

TEST_CASE("What is wrong with a call is found before the machine is measured", "[explain]") {
    const Folder folder;
    const std::string script = write_wrong_schedule(folder / "wrong.lua"), cache = folder / "cache";
    for (const Arguments &wrong : {Arguments{"--schedule", "nosuch"},
                                   {"--schedule", script},
                                   {"--schedule", script, "--count"},
                                   {"--target", "avx3"},
                                   {"--devices", "sm_80"},
                                   {"--set", "nosuch=1"},
                                   {"--param", "type=int3"},
                                   {"--html", folder.path()}}) {
        Arguments arguments = {"explain", "rms_norm", "--shape", "rows=4,cols=64"};
        arguments.insert(arguments.end(), wrong.begin(), wrong.end());
        const ProcessResult r = run(arguments, {"HALYARD_CACHE=" + cache});
        INFO(halyard::join(wrong, " ") << "\n" << r.err);
        CHECK(r.exit_code != 0);
        CHECK(r.out == "");
        CHECK(contains(r.err, "error: "));
        for (const char *measured : {"/machine.json", "/peaks.json"}) {
            CHECK_FALSE(std::filesystem::exists(cache + measured));
        }
    }
}
