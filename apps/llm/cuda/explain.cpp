// What a token reads and computes on a GPU.

#include "explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "decoder.h"
#include "measure.h"

namespace halyard_llm {

namespace {

struct Row {
    const char *op;
    int calls = 0;
    double memory = 0, operations = 0, seconds = 0;
};

/** The time of what is queued, once, by a graph: the least of some. Without graphs, as the emulator is, one time. */
double seconds_on_device(const Stream &stream, const std::function<void()> &queue) {
    const auto timed = [&](int times, const std::function<void()> &once) {
        halyard_apps::check_cuda(halyard_cuda_synchronize(), "a token on the GPU");
        return seconds_of([&] {
                   for (int i = 0; i < times; i++) {
                       once();
                   }
                   halyard_apps::check_cuda(halyard_cuda_synchronize(), "a token on the GPU");
               }) /
               times;
    };
    double best = timed(1, queue);  // what it keeps for later calls is made
    const std::unique_ptr<Graph> graph = Graph::of(stream, queue);
    constexpr int kTimes = 20, kTogether = 10;
    for (int i = 0; graph && i < kTimes; i++) {
        best = std::min(best, timed(kTogether, [&] { graph->launch(stream); }));
    }
    return best;
}

double rate_of_memory() {
    constexpr size_t kBytes = size_t(256) << 20;  // more than caches hold
    halyard_apps::DeviceBlock from, to;
    from.reserve(kBytes);
    to.reserve(kBytes);
    return copy_rate(from.address(), to.address(), kBytes);
}

}  // namespace

void explain(const Model &model, const Precision &precision, int depth, int) {
    constexpr int kTokens = 4;  // behind those: a graph is made of the second
    CudaDecoder decoder(model, depth + kTokens + 1, precision);
    const std::vector<int32_t> tokens(size_t(std::max(depth, 1)), 1);
    const Stream::Used used(decoder.stream());
    decoder.feed(tokens.data(), depth);
    double whole = 0;
    for (int i = 0; i < kTokens; i++) {
        const double seconds = seconds_of([&] {
            Sampler greedy(0, 0, 1, 0);
            decoder.feed(tokens.data(), 1);
            decoder.draw(&greedy);
        });
        whole = i == 0 ? seconds : std::min(whole, seconds);
    }
    const double rate = rate_of_memory();
    const std::vector<TokenStep> steps = decoder.steps_of_token();
    const Scratch scratch(decoder.scratch(), CudaDecoder::kScratch);
    std::vector<Row> rows;
    for (const TokenStep &step : steps) {
        auto row = std::find_if(rows.begin(), rows.end(), [&](const Row &r) { return std::string_view(r.op) == step.op; });
        if (row == rows.end()) {
            rows.push_back({step.op});
            row = rows.end() - 1;
        }
        row->calls++;
        row->memory += step.memory;
        row->operations += step.operations;
    }
    // An op of all layers at once, so that a call finds neither its weights in a cache nor the device idle.
    for (Row &row : rows) {
        row.seconds = seconds_on_device(decoder.stream(), [&] {
            for (const TokenStep &step : steps) {
                if (std::string_view(step.op) == row.op) {
                    step.queue();
                }
            }
        });
    }
    Row all{"all"};
    for (const Row &row : rows) {
        all.calls += row.calls;
        all.memory += row.memory;
        all.operations += row.operations;
    }
    all.seconds =
        seconds_on_device(decoder.stream(), [&] { std::for_each(steps.begin(), steps.end(), [](const TokenStep &s) { s.queue(); }); });
    fmt::print("| {:18} | calls | weights, cache | operations | floor us | took us | a call | of the roof |\n"
               "| {:18} | ----: | -------------: | ---------: | -------: | ------: | -----: | ----------: |\n",
               "op", std::string(18, '-'));
    rows.push_back(all);
    for (const Row &row : rows) {
        const double floor = row.memory / rate;
        const std::string share = floor > 0 ? fmt::format("{:.0f} %", 100 * floor / row.seconds) : "";
        fmt::print("| {:18} | {:5} | {:14.0f} | {:10.0f} | {:8.1f} | {:7.1f} | {:6.2f} | {:>11} |\n", row.op, row.calls, row.memory,
                   row.operations, floor * 1e6, row.seconds * 1e6, row.seconds * 1e6 / row.calls, share);
    }
    fmt::print("\nBytes of weights and of the cache, multiplications and additions of a token behind {} others. An op of all layers by "
               "itself, as one\n"
               "graph; \"all\" are all of them in their order, which overlap a little. The device copies {:.0f} GB/s: {:.0f} tokens a "
               "second are possible,\n"
               "{:.0f} were reached, of which {:.1f} us are the processor's and the way to it.\n",
               depth + kTokens - 1, rate / 1e9, rate / all.memory, 1 / whole, std::max(0.0, whole - all.seconds) * 1e6);
}

}  // namespace halyard_llm
