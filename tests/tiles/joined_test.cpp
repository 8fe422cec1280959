// Products that need nothing of each other as one kernel: q, k and v of one matrix. Their rows may begin where the copy engine takes them, or
// anywhere, which takes a kernel for each; results are the same bits.

#include <filesystem>

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "draw.h"
#include "kernel/kernel.h"
#include "tests/language/support.h"

namespace {

using namespace halyard;

struct Sizes {
    int m, n_q, n_kv, depth;
};

struct Results {
    std::vector<double> values;
    int launches = 0;
};

Results results_of(const CompiledKernel &kernel, const Sizes &s, int pitch) {
    KernelArguments arguments(kernel);
    std::vector<std::string> outputs;
    for (const auto &a : kernel.arguments()) {
        const int columns = a.name == "q" || a.name == "w_q_nk" ? s.n_q : s.n_kv;
        Layout layout(a.is_output ? std::vector<int>{columns, s.m} : std::vector<int>{s.depth, a.name == "x" ? s.m : columns});
        layout.strides = {1, layout.extents[0] + pitch};
        HostBuffer &b = arguments.buffer(a.name, layout);
        if (a.is_output) {
            outputs.push_back(a.name);
            continue;
        }
        std::mt19937 random{uint32_t(a.name.size() + a.name[2])};
        std::vector<double> values(b.size());
        for (auto &v : values) {
            v = int(random() >> 8) % 3 - 1;
        }
        b.assign(values);
    }
    const int before = tiles_test::count("launches");
    const CallResult result = kernel.call(arguments);
    REQUIRE(result.message == "");
    Results r;
    r.launches = tiles_test::count("launches") - before;
    for (const auto &name : outputs) {
        CHECK(arguments.buffer(name).surroundings_intact());
        const auto values = arguments.buffer(name).values();
        r.values.insert(r.values.end(), values.begin(), values.end());
    }
    return r;
}

}  // namespace

TEST_CASE("products of one matrix are one launch", "[joined]") {
    for (const char *rows : {"16", "64"}) {
        const TempDir folder;
        GenerateRequest request;
        request.op = "qkv_projection";
        request.target = "cuda";
        request.devices = "emulator";
        request.params = {{"type", "float16"}};
        request.set = {{"rows", rows}, {"columns", "64"}};
        const std::string library = folder.path() + "/library.so";
        build_shared_object(make_plan(request), library);
        for (const int capability : {90, 80}) {
            const std::string own = fmt::format("{}/of_{}.so", folder.path(), capability);
            std::filesystem::copy_file(library, own);  // each has a runtime of its own, which knows one device
            tiles_test::set_capability(capability);
            const auto kernel = CompiledKernel::load(own, "qkv_projection");
            // The last one with more tiles than blocks that stay.
            for (const Sizes &s : {Sizes{70, 72, 8, 192}, Sizes{1, 200, 64, 64}, Sizes{300, 264, 136, 72}}) {
                INFO("rows " << rows << ", capability " << capability << ", m=" << s.m << " n_q=" << s.n_q);
                const Results one = results_of(kernel, s, 8), each = results_of(kernel, s, 3);
                CHECK(one.launches == (capability == 90 || rows == std::string("16") ? 1 : 3));
                CHECK(each.launches == 3);
                CHECK(one.values == each.values);
            }
        }
    }
}
