// halyard explain and --compare for CUDA on a machine without a GPU: what a call launches and takes of a device, predicted.

#include <catch2/catch.hpp>

#include <regex>

#include "explain/cubin.h"
#include "explain/gpu_figures.h"
#include "kernel/json_text.h"
#include "tests/command/support.h"

using halyard::KernelResources;

namespace {

const std::string kNoDriver = "HALYARD_CUDA_DRIVER=/there/is/none.so";
const Arguments kSoftmax = {"explain", "softmax", "--target", "cuda-sm_90a", "--shape", "rows=4096,cols=8192",
                            "--gpu",   "H200",    "--predict"};

Arguments with(Arguments all, const Arguments &more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace

TEST_CASE("Blocks that stay on a multiprocessor", "[device]") {
    const auto blocks = [](int capability, int registers, int threads, int shared) {
        KernelResources r;
        r.registers = registers;
        const halyard::Occupancy o = halyard::occupancy(capability, r, threads, shared);
        return std::to_string(o.blocks) + " " + o.limit;
    };
    // As NVIDIA's occupancy calculator has it.
    CHECK(blocks(90, 32, 256, 0) == "8 threads");
    CHECK(blocks(90, 255, 256, 0) == "1 registers");
    CHECK(blocks(90, 168, 384, 200 << 10) == "1 registers");
    CHECK(blocks(90, 64, 128, 100 << 10) == "2 shared memory");
    CHECK(blocks(80, 40, 64, 0) == "24 registers");
    CHECK(blocks(80, 16, 32, 0) == "32 blocks");
    CHECK(blocks(89, 32, 1024, 0) == "1 threads");
    CHECK(blocks(90, 32, 128, 230 << 10) == "0 shared memory");
}

TEST_CASE("Devices by name", "[device]") {
    CHECK(halyard::gpu_figures("NVIDIA H200, 132 multiprocessors").name == "NVIDIA H200");
    CHECK(halyard::gpu_figures("NVIDIA H100 80GB HBM3").name == "NVIDIA H100");
    CHECK(halyard::gpu_figures("a100").capability == 80);
    CHECK(halyard::gpu_figures_for("sm_90a").name == "NVIDIA H200");
    const std::vector<uint8_t> none(64);
    CHECK(halyard::resources_of(none.data(), 90).empty());
}

TEST_CASE("Softmax for CUDA, fused and unfused, without a GPU", "[device]") {
    const Folder folder;
    const std::string page = folder / "page.html";
    ProcessResult r = run(with(kSoftmax, {"--json", "--html", page}), {kNoDriver});
    INFO(r.err);
    REQUIRE(r.exit_code == 0);
    const auto j = halyard::parse_json(r.out);
    CHECK(j.at("device").at("name") == "NVIDIA H200");
    REQUIRE(j.at("schedules").size() == 2);
    const auto &fused = j.at("schedules")[0], &unfused = j.at("schedules")[1];
    const double array = 4096.0 * 8192 * 4;
    // One kernel, which reads x and writes y.
    REQUIRE(fused.at("kernels").size() == 1);
    const auto &kernel = fused.at("kernels")[0];
    INFO(kernel.dump(1));
    CHECK(kernel.at("memory").at("read") == Approx(array));
    CHECK(kernel.at("memory").at("written") == Approx(array));
    CHECK(kernel.at("blocks").get<int>() * 1.0 >= 132);
    CHECK(kernel.at("threads") >= 32);
    CHECK(kernel.at("resources").at("registers") >= 16);
    CHECK(kernel.at("resources").at("resident_blocks") >= 1);
    CHECK(fused.at("argument_bytes") == Approx(2 * array));
    CHECK(fused.at("floor_seconds") == Approx(2 * array / (0.885 * 4.8e12)));
    CHECK(fused.at("predicted_seconds") > fused.at("floor_seconds"));
    CHECK(fused.at("predicted_seconds") < 1.3 * fused.at("floor_seconds").get<double>());
    CHECK(fused.at("measured_seconds").is_null());
    // As many kernels as Funcs at the root, whose results go through memory.
    CHECK(unfused.at("launches") >= 3);
    CHECK(unfused.at("kernels").size() == unfused.at("launches"));
    CHECK(unfused.at("memory").at("read").get<double>() + unfused.at("memory").at("written").get<double>() > 3 * array);
    CHECK(unfused.at("allocated_bytes") > 0);
    CHECK(unfused.at("predicted_seconds") > 1.5 * fused.at("predicted_seconds").get<double>());
    const std::string why = j.at("comparison").dump();
    CHECK(contains(why, "less of device memory"));
    CHECK(contains(why, "It launches 1 kernel against"));
    CHECK(contains(why, "pays"));
    // The nest has the lines of the Lua.
    CHECK(contains(fused.at("nest").dump(), "cuda/softmax.lua"));

    // The version that the call takes, and why.
    const auto &version = fused.at("version");
    INFO(version.dump(1));
    const size_t taken = version.at("number").get<size_t>();
    const std::string reason = version.at("why").at(0), reasons = version.at("why").dump();
    CHECK(contains(reason, "Version " + std::to_string(taken) + " of " + std::to_string(version.at("all").size()) + ": "));
    CHECK(contains(reason, "held=shared"));
    CHECK(contains(reason, "taken because k.x:dim(0):extent() <= 24576, here 8192 <= 24576."));
    CHECK(contains(reasons, "Versions 3 to 5 are not taken because this does not hold: k.y:dim(1):extent() <= 528, here 4096 <= 528."));
    CHECK(contains(reasons, "is not taken because this does not hold: not (k.x:dim(0):extent() % 4 == 0 and "));
    CHECK(contains(reasons, "is not taken because this does not hold: k.x:dim(0):extent() <= 7168, here 8192 <= 7168."));
    // The first whose condition holds, by the list itself.
    for (size_t i = 0; i < taken; i++) {
        CHECK(version.at("all")[i].value("holds", true) == (i == taken - 1));
    }

    const std::string html = read_file(page);
    CHECK(contains(html, "taken because k.x:dim(0):extent() &lt;= 24576, here 8192 &lt;= 24576."));
    CHECK(count(html, "<svg class=\"roofline\"") == 1);
    CHECK(count(html, "class=\"roof\"") == 3);
    size_t points = 2;  // both, and those kernels of several that compute and move something
    for (const auto &k : unfused.at("kernels")) {
        const auto &memory = k.at("memory");
        points += k.at("flops") > 0 && memory.at("read").get<double>() + memory.at("written").get<double>() > 0;
    }
    CHECK(points > 4);
    CHECK(count(html, "class=\"point predicted") == points);
    CHECK(count(html, "<table class=\"kernels\">") == 2);
    CHECK(count(html, "<table class=\"nest\">") == 2);
    CHECK(contains(html, "TFLOP/s"));
    CHECK_FALSE(std::regex_search(html, std::regex("(src|href)=\"(?!data:)[^#]")));
    CHECK_FALSE(contains(html, "<script"));
    CHECK_FALSE(contains(html, "nan"));
    CHECK_FALSE(contains(html, "\"inf"));
    const auto shown = shown_by_browser(page);
    if (!shown) {
        WARN("skipped: no Chromium is installed (third_party/packages.txt)");
        return;
    }
    REQUIRE(shown->exit_code == 0);
    CHECK(count(shown->out, "<table class=\"kernels\">") == 2);
    CHECK(count(shown->out, "<td>") == count(html, "<td>"));
    CHECK_FALSE(contains(shown->err, "CONSOLE"));
}

TEST_CASE("What cannot be explained for CUDA", "[device]") {
    const auto said = [](const Arguments &more) {
        const ProcessResult r = run(with({"explain", "softmax", "--target", "cuda-sm_90a"}, more), {kNoDriver});
        CHECK(r.exit_code != 0);
        return r.out + r.err;
    };
    CHECK(contains(said({"--gpu", "H2000"}), "NVIDIA H200"));
    CHECK(contains(said({"--cold"}), "for the host"));
    CHECK(contains(said({"--schedule", "unfusd"}), "unfused"));
    CHECK(contains(said({"--shape", "rows=3"}), "lacks cols"));
    CHECK(contains(run({"explain", "softmax", "--gpu", "H200"}).err, "--target cuda"));
}
