// What a token reads and computes on the processor.

#include "explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels.h"
#include "measure.h"
#include "peaks.h"

namespace halyard_llm {

namespace {

/** What tokens did, each row of them by the quickest of all, as other programs take time too. */
void add_quickest(const KernelLog &token, KernelLog *all) {
    if (all->empty()) {
        *all = token;
        return;
    }
    for (size_t i = 0; i < all->size() && i < token.size(); i++) {
        KernelUse &use = (*all)[i];
        use.seconds = std::min(use.seconds, token[i].seconds);
        use.memory = std::max(use.memory, token[i].memory);  // of the last token, which sees the most
        use.operations = std::max(use.operations, token[i].operations);
        use.between = std::max(use.between, token[i].between);
    }
}

}  // namespace

void explain(const Model &model, const Precision &precision, int depth, int threads) {
    constexpr int kWarm = 4, kTokens = 32;
    std::vector<std::pair<const uint8_t *, size_t>> arrays;
    for (const auto &[name, tensor] : model.file.tensors()) {
        arrays.emplace_back(tensor.data, size_t(tensor.bytes));
    }
    const double rate = read_rate(arrays, threads), floats = float_peak() * threads, bytes = byte_peak() * threads;
    const std::unique_ptr<Sequence> sequence = make_sequence(model, depth + kWarm + kTokens, precision);
    const std::vector<int32_t> tokens(size_t(depth + kWarm), 1);
    sequence->feed(tokens.data(), depth);
    for (int i = 0; i < kWarm; i++) {
        sequence->feed(tokens.data(), 1);
    }
    KernelLog log;
    double whole = 0;
    for (int i = 0; i < kTokens; i++) {
        KernelLog token;
        log_kernels(&token);
        const std::clock_t begin = std::clock();
        double seconds = seconds_of([&] { sequence->feed(tokens.data(), 1); });
        if (threads == 1) {  // the processor's time, as others take it, too
            seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
        }
        log_kernels(nullptr);
        add_quickest(token, &log);
        whole = i == 0 ? seconds : std::min(whole, seconds);
    }
    fmt::print("| {:18} | {:28} | calls | weights, cache |    between | operations | floor ms | took ms | of the roof |\n"
               "| {:18} | {:28} | ----: | -------------: | ---------: | ---------: | -------: | ------: | ----------: |\n",
               "op", "kernel", std::string(18, '-'), std::string(28, '-'));
    KernelUse all{"all", "", true};
    double floor = 0;
    const auto print = [](const KernelUse &use, double least) {
        const std::string share = least > 0 ? fmt::format("{:.0f} %", 100 * least / use.seconds) : "";
        fmt::print("| {:18} | {:28} | {:5} | {:14.0f} | {:10.0f} | {:10.0f} | {:8.3f} | {:7.3f} | {:>11} |\n", use.op, use.kernel,
                   use.calls, use.memory, use.between, use.operations, least * 1e3, use.seconds * 1e3, share);
    };
    for (const KernelUse &use : log) {
        const double least = std::max(use.memory / rate, use.operations / (use.exact ? floats : bytes));
        print(use, least);
        floor += least;
        all.calls += use.calls;
        all.memory += use.memory;
        all.between += use.between;
        all.operations += use.operations;
        all.seconds += use.seconds;
    }
    print(all, floor);
    fmt::print(
        "\nBytes of weights and of the cache, bytes between steps, and multiplications and additions of a token behind {} others.\n"
        "Of {} tokens the least time of each row. {} threads read memory at {:.1f} GB/s, and do {:.0f} G operations a second of f32,\n"
        "{:.0f} of bytes: {:.1f} tokens a second are possible where no weight stays in a cache, {:.1f} were reached.\n"
        "Outside of kernels: {:.3f} ms a token.\n",
        depth + kWarm + kTokens - 1, kTokens, threads, rate / 1e9, floats / 1e9, bytes / 1e9, 1 / floor, 1 / whole,
        std::max(0.0, whole - all.seconds) * 1e3);
}

}  // namespace halyard_llm
