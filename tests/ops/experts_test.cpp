// Whatever is in offsets, row_index and place of grouped_gemm and in the ids of expert_sort, nothing outside of the arrays is read or written:
// numbers that decrease, repeat, lie beyond the arrays or at the ends of 32 bits. On the host each array ends at a page that nobody may touch;
// on CUDA the emulator sees it.
//
//   HALYARD_DRAWS=1000 HALYARD_DRAWS_SEED=8 ops_test "[experts]"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include <catch2/catch.hpp>

#include "harness.h"
#include "setting.h"
#include "kernel/registry.h"
#include "kernel/workload.h"

namespace {

using namespace ops_test;
using namespace halyard;

// A copy of an input, with the page behind it, or the one before it, closed.
class Guarded {
public:
    Guarded(const HostBuffer &of, bool behind) : buffer_(*const_cast<HostBuffer &>(of).raw()) {
        const size_t page = size_t(sysconf(_SC_PAGESIZE)), bytes = of.size() * size_t(of.type().bytes());
        const size_t pages = (bytes + page - 1) / page;
        size_ = (pages + 2) * page;
        memory_ = static_cast<char *>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        REQUIRE(memory_ != MAP_FAILED);
        char *const open = memory_ + page;
        if (pages > 0) {
            REQUIRE(mprotect(open, pages * page, PROT_READ | PROT_WRITE) == 0);
        }
        buffer_.host = reinterpret_cast<uint8_t *>(open + (behind ? pages * page - bytes : 0));
        if (bytes > 0) {
            std::memcpy(buffer_.host, const_cast<HostBuffer &>(of).raw()->host, bytes);
        }
    }
    ~Guarded() {
        munmap(memory_, size_);
    }
    Guarded(const Guarded &) = delete;
    Guarded &operator=(const Guarded &) = delete;

    uint8_t *host() const {
        return buffer_.host;
    }

private:
    halide_buffer_t buffer_;
    char *memory_;
    size_t size_;
};

void draw_numbers(HostBuffer &buffer, int most, std::mt19937 &random) {
    std::vector<double> values(buffer.size());
    const double ends[] = {double(std::numeric_limits<int32_t>::min()),
                           double(std::numeric_limits<int32_t>::max()),
                           -1,
                           0,
                           double(most),
                           double(most) + 1,
                           double(most) - 1,
                           65536,
                           -65536,
                           2147483640.0};
    const int kind = int(random() % 4);
    double last = 0;
    for (double &v : values) {
        const bool odd = kind == 0 || (kind == 1 && random() % 3 == 0);
        last = kind == 3 ? std::min(last + double(random() % 3), double(most)) : double(random() % uint32_t(most + 1));
        v = odd ? ends[random() % 10] : last;
    }
    buffer.assign(values);
}

void check_numbers(const std::string &op, const Assignments &choices) {
    const bool on_cuda = choices.at("target") == kCudaTarget;
    const CompiledKernel kernel = build(op, choices);
    std::mt19937 random{uint32_t(setting("HALYARD_DRAWS_SEED", 7))};
    const auto below = [&](int n) { return int(random() % uint32_t(n)); };
    for (int n = 0; n < setting("HALYARD_DRAWS", on_cuda ? 12 : 60); n++) {
        const Dims dims = with_params(
            find_op(op), {{"tokens", below(14)}, {"top_k", below(5)}, {"experts", below(9)}, {"n", 1 + below(70)}, {"k", below(20)}},
            kernel.params());
        KernelArguments arguments(kernel);
        std::vector<std::unique_ptr<Guarded>> guarded;
        std::vector<std::pair<std::string, uint8_t *>> own;
        const int rows = int(dims.at("tokens") * dims.at("top_k"));
        for (const auto &a : kernel.arguments()) {
            if (!a.is_buffer) {
                continue;
            }
            HostBuffer &b = arguments.buffer(a.name, Layout(extents_of(*find_op(op).argument(a.name), dims)));
            if (a.is_output) {
                b.poison();
            } else if (a.type.code == halide_type_int) {
                draw_numbers(b,
                             op == "expert_sort"     ? int(dims.at("experts"))
                             : a.name == "row_index" ? int(dims.at("tokens"))
                                                     : rows,
                             random);
            } else {
                fill_random(b, uint64_t(n));
            }
            if (!on_cuda && !a.is_output) {
                guarded.push_back(std::make_unique<Guarded>(b, below(2) == 0));
                own.emplace_back(a.name, b.raw()->host);
                b.raw()->host = guarded.back()->host();
            }
        }
        const CallResult r = kernel.call(arguments);
        for (const auto &[name, host] : own) {
            arguments.buffer(name).raw()->host = host;
        }
        CAPTURE(op, n, rows, r.message);
        CHECK(r.ok());
        for (const auto &a : kernel.arguments()) {
            if (a.is_buffer && a.is_output) {
                CHECK(arguments.buffer(a.name).surroundings_intact());
            }
        }
    }
}

void check_all(const std::string &target) {
    const std::string yes = "true", no = "false";
    for (const char *schedule : target == kCudaTarget ? std::vector<const char *>{""} : std::vector<const char *>{"", "unfused", "nk"}) {
        check_numbers("grouped_gemm", {{"target", target}, {"schedule", schedule}, {"gated", yes}, {"gather", yes}, {"combine", yes}});
        check_numbers("grouped_gemm", {{"target", target}, {"schedule", schedule}, {"gated", no}, {"gather", no}, {"combine", no}});
    }
    check_numbers("expert_sort", {{"target", target}});
}

}  // namespace

TEST_CASE("numbers of experts and rows that are none", "[experts][host]") {
    check_all("host");
}

TEST_CASE("numbers of experts and rows that are none, on CUDA", "[experts][cuda]") {
    check_all(kCudaTarget);
}
