// Products in random layouts and schedules, on an emulated device, against plain loops: an operand or a result is found in
// memory by whatever strides there are. Operands are small integers, so that results are equal to the bit.
//
//   HALYARD_RANDOM_PRODUCTS=2000 HALYARD_RANDOM_SEED=1 products_test
//
// builds so many, each of the next seed; a failure names its seed.

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "tests/language/support.h"
#include "case.h"
#include "kernel/failure.h"
#include "kernel/kernel.h"

namespace {

using namespace halyard;
using namespace products_test;

constexpr int kCalls = 3;  // of each kernel, on each device

int setting(const char *name, int otherwise) {
    const char *given = std::getenv(name);
    return given ? std::atoi(given) : otherwise;
}

void set_capability(int capability) {
    static void *const driver = dlopen(std::getenv("HALYARD_CUDA_DRIVER"), RTLD_NOW);
    REQUIRE(driver);
    const auto set = reinterpret_cast<void (*)(const char *, int)>(dlsym(driver, "halyard_emulator_set"));
    REQUIRE(set);
    set("capability", capability);
}

using Index = std::map<char, int>;  // from 0, by the letter of a dimension

double at(const HostBuffer &b, const std::string &order, const Index &index) {
    std::vector<int> i;
    for (const char d : order) {
        i.push_back(index.at(d));
    }
    return b.get(i);
}

// What random_product.cpp says, of one element.
double expected(const Case &c, const Call &call, KernelArguments &arguments, const Index &result) {
    const bool own_a = !c.a_source.empty(), own_b = !c.b_source.empty();
    const HostBuffer &a = arguments.buffer("a"), &b = arguments.buffer("b");
    const std::string &of_a = own_a ? c.a_source : c.a_order, &of_b = own_b ? c.b_source : c.b_order;
    const auto value_of_a = [&](const Index &i) { return at(a, of_a, i) * (own_a ? 2 : 1); };
    Index i = {{'n', 0}, {'m', 0}, {'k', 0}};
    for (const auto &[d, place] : result) {
        i[d] = place;
    }
    Index left = i;
    if (c.reversed) {
        left['n'] = call.extents.at('n') - 1 - i['n'];
    }
    double sum = 0;
    for (int k = 0; k < call.extents.at('k'); k++) {
        left['k'] = i['k'] = k;
        sum += value_of_a(left) * at(b, of_b, i) * (own_b ? 2 : 1);
    }
    double value = sum * 2 + 1;
    if (!c.r_order.empty()) {
        value += at(arguments.buffer("r"), c.r_order, i);
    }
    if (c.a_again) {
        i['k'] = 0;
        i['r'] = std::max(i['r'] - 1, 0);
        value += value_of_a(i);
    }
    return value + (c.two_stages ? 1 : 0);
}

// "" or what is wrong.
std::string check_call(const Case &c, const CompiledKernel &kernel, const Call &call, uint64_t seed) {
    KernelArguments arguments(kernel);
    std::mt19937 random{uint32_t(seed)};
    for (const auto &[name, layout] : call.layouts) {
        HostBuffer &b = arguments.buffer(name, layout);
        if (name != "y") {
            std::vector<double> values(b.size());
            for (auto &v : values) {
                v = int(random() % 3) - 1;
            }
            b.assign(values);
        }
    }
    const CallResult result = kernel.call(arguments);
    if (!result.ok()) {
        return "fails: " + result.message;
    }
    const HostBuffer &y = arguments.buffer("y");
    if (!y.surroundings_intact()) {
        return "writes where no element of the result is";
    }
    const std::vector<double> values = y.values();
    const auto &extents = call.layouts.at("y").extents;
    int wrong = 0;
    std::string first;
    for (size_t n = 0; n < values.size(); n++) {
        Index index;
        size_t rest = n;
        for (size_t d = 0; d < extents.size(); d++) {
            index[c.y_order[d]] = int(rest % size_t(extents[d])) + call.left_out.at(c.y_order[d]);
            rest /= size_t(extents[d]);
        }
        const double should = expected(c, call, arguments, index);
        if (values[n] != should && wrong++ == 0) {
            for (const auto &[d, i] : index) {
                first += fmt::format("{}={} ", d, i);
            }
            first += fmt::format("is {}, should be {}", values[n], should);
        }
    }
    return wrong == 0 ? "" : fmt::format("{} of {} elements are wrong, {}", wrong, values.size(), first);
}

struct Built {
    std::string refused;  // why
    std::vector<std::string> libraries;
};

Built build(const Case &c, const TempDir &folder, uint64_t seed) {
    GenerateRequest request;
    request.op = "random_product";
    request.generator = HALYARD_RANDOM_PRODUCT;
    request.schedule = folder.write(fmt::format("random_product_{}.lua", seed), c.schedule);
    request.target = "cuda";
    request.devices = "emulator";
    request.params = c.params();
    Built built;
    const std::string first = fmt::format("{}/{}_90.so", folder.path(), seed), second = fmt::format("{}/{}_80.so", folder.path(), seed);
    try {
        build_shared_object(make_plan(request), first);
    } catch (const std::exception &e) {
        built.refused = e.what();
        return built;
    }
    // Each library has a runtime of its own, which knows one device.
    std::filesystem::copy_file(first, second);
    built.libraries = {first, second};
    return built;
}

// Whether it is built; what is, computes what plain loops do.
bool check_seed(int seed) {
    const TempDir folder;
    const Case c = draw_case(uint64_t(seed));
    INFO("seed " << seed << ": " << c.text() << "\n" << c.schedule);
    const Built built = build(c, folder, uint64_t(seed));
    if (!built.refused.empty()) {
        // A schedule that no kernel can have is an error about its product, not a crash or a kernel that does not compile.
        CHECK(built.refused.find("error: ") != std::string::npos);
        CHECK(built.refused.find("do not compile") == std::string::npos);
        CHECK(built.refused.find("signal") == std::string::npos);
        UNSCOPED_INFO("refused: " << built.refused);
        if (std::getenv("HALYARD_RANDOM_VERBOSE")) {
            WARN("seed " << seed << " refused: " << built.refused);
        }
        return false;
    }
    for (size_t device = 0; device < built.libraries.size(); device++) {
        set_capability(device == 0 ? 90 : 80);
        const auto kernel = CompiledKernel::load(built.libraries[device], "random_product");
        std::mt19937 random{uint32_t(seed) + 77};
        for (int n = 0; n < kCalls; n++) {
            const Call call = draw_call(c, random);
            INFO("capability " << (device == 0 ? 90 : 80) << ", call " << n << ": " << call.text());
            CHECK(check_call(c, kernel, call, uint64_t(n)) == "");
        }
    }
    return true;
}

}  // namespace

TEST_CASE("random products are the same as plain loops", "[random]") {
    const int cases = setting("HALYARD_RANDOM_PRODUCTS", 12), first = setting("HALYARD_RANDOM_SEED", 1);
    int refused = 0;
    WARN("seeds " << first << " to " << first + cases - 1);
    for (int seed = first; seed < first + cases; seed++) {
        refused += check_seed(seed) ? 0 : 1;
    }
    INFO(refused << " of " << cases << " are refused");
    CHECK(refused * 3 <= cases);
}

TEST_CASE("random products that were once wrong", "[random]") {
    // An operand whose depth begins before that of its source: its coordinate is a remainder.
    CHECK(check_seed(880001));
}
