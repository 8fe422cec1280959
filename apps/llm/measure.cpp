#include "measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/mapped_file.h"
#include "peaks.h"

namespace halyard_llm {

namespace {

double seconds_of(const std::function<void()> &work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void print_row(const std::string &what, int tokens, std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    const auto rate = [&](double s) { return tokens / s; };
    fmt::print("| {:14} | {:10.2f} | {:10.2f} | {:10.2f} |\n", what, rate(seconds[seconds.size() / 2]), rate(seconds.back()),
               rate(seconds.front()));
}

/** -log of the probability of a token. */
double surprise(const float *logits, int count, int32_t token) {
    const double most = double(*std::max_element(logits, logits + count));
    double sum = 0;
    for (int i = 0; i < count; i++) {
        sum += std::exp(double(logits[i]) - most);
    }
    return std::log(sum) + most - double(logits[token]);
}

}  // namespace

void bench(const Model &model, const Precision &precision, const BenchOptions &options) {
    Decoder decoder(model, options.depth + std::max({options.prompt, options.generated, 1}), precision);
    const auto fill = [&](int count, int seed) {
        std::vector<int32_t> tokens;
        for (int i = 0; i < count; i++) {
            tokens.push_back(int32_t((int64_t(i + seed) * 7919 + 13) % model.config.vocabulary));
        }
        return tokens;
    };
    const std::vector<int32_t> before = fill(options.depth, 1), tokens = fill(std::max(options.prompt, options.generated), 2);
    decoder.feed(before.data(), options.depth);
    // Once without a look at the clock: what is read for the first time.
    const auto times_of = [&](int warm, const std::function<void(int)> &feed, int count) {
        std::vector<double> times;
        feed(warm);
        for (int i = 0; i < options.repetitions; i++) {
            decoder.rewind(options.depth);
            times.push_back(seconds_of([&] { feed(count); }));
        }
        decoder.rewind(options.depth);
        return times;
    };
    const std::string behind = options.depth > 0 ? fmt::format(" @ d{}", options.depth) : "";
    fmt::print("| test           |   tokens/s |      least |       most |\n| -------------- | ---------: | ---------: | ---------: |\n");
    if (options.prompt > 0) {
        const auto read = [&](int count) { decoder.feed(tokens.data(), count); };
        print_row(fmt::format("pp{}{}", options.prompt, behind), options.prompt, times_of(options.prompt, read, options.prompt));
    }
    if (options.generated > 0) {
        const auto generate = [&](int count) {
            for (int t = 0; t < count; t++) {
                decoder.feed(&tokens[size_t(t)], 1);
            }
        };
        print_row(fmt::format("tg{}{}", options.generated, behind), options.generated, times_of(1, generate, options.generated));
    }
}

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
    Decoder decoder(model, depth + kWarm + kTokens, precision);
    const std::vector<int32_t> tokens(size_t(depth + kWarm), 1);
    decoder.feed(tokens.data(), depth);
    for (int i = 0; i < kWarm; i++) {
        decoder.feed(tokens.data(), 1);
    }
    KernelLog log;
    double whole = 0;
    for (int i = 0; i < kTokens; i++) {
        KernelLog token;
        log_kernels(&token);
        const std::clock_t begin = std::clock();
        double seconds = seconds_of([&] { decoder.feed(tokens.data(), 1); });
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

void perplexity(const Model &model, const Precision &precision, const std::string &path, int length) {
    const halyard_apps::MappedFile file(path);
    std::vector<int32_t> tokens, begin;
    model.tokenizer.begin(&begin);
    tokens = begin;
    model.tokenizer.encode({reinterpret_cast<const char *>(file.data()), file.size()}, false, &tokens);
    const int chunks = int(tokens.size()) / length;
    if (chunks == 0) {
        throw std::runtime_error(
            fmt::format("{}: {} tokens are less than one chunk of {}: take a longer text, or --context N", path, tokens.size(), length));
    }
    Decoder decoder(model, length, precision);
    const int vocabulary = model.config.vocabulary;
    std::vector<float> logits(size_t(length) * size_t(vocabulary));
    double sum = 0, squares = 0;
    int64_t count = 0;
    for (int c = 0; c < chunks; c++) {
        std::vector<int32_t> chunk(tokens.begin() + long(c) * length, tokens.begin() + long(c + 1) * length);
        std::copy(begin.begin(), begin.end(), chunk.begin());
        decoder.rewind(0);
        decoder.feed(chunk.data(), length, logits.data());
        for (int i = length / 2; i + 1 < length; i++) {
            const double s = surprise(logits.data() + int64_t(i) * vocabulary, vocabulary, chunk[size_t(i) + 1]);
            sum += s;
            squares += s * s;
            count++;
        }
    }
    const double mean = sum / double(count), variance = squares / double(count) - mean * mean;
    const double error = count > 1 ? std::sqrt(std::max(variance, 0.0) / double(count - 1)) : 0;
    fmt::print("perplexity {:.4f} +/- {:.4f} over {} tokens in {} chunks of {}\n", std::exp(mean), std::exp(mean) * error, count, chunks,
               length);
}

}  // namespace halyard_llm
