#include "measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "common/mapped_file.h"

namespace halyard_llm {

namespace {

constexpr int kPrompt = 512, kGenerated = 128;

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

void bench(const Model &model, bool exact, int depth, int repetitions) {
    Decoder decoder(model, depth + kPrompt + kGenerated, exact);
    const auto fill = [&](int count, int seed) {
        std::vector<int32_t> tokens;
        for (int i = 0; i < count; i++) {
            tokens.push_back(int32_t((int64_t(i + seed) * 7919 + 13) % model.config.vocabulary));
        }
        return tokens;
    };
    const std::vector<int32_t> before = fill(depth, 1), prompt = fill(kPrompt, 2);
    decoder.feed(before.data(), depth);
    decoder.feed(prompt.data(), kPrompt);  // what is read for the first time
    std::vector<double> of_prompt, of_generation;
    for (int i = 0; i < repetitions; i++) {
        decoder.rewind(depth);
        of_prompt.push_back(seconds_of([&] { decoder.feed(prompt.data(), kPrompt); }));
        decoder.rewind(depth);
        of_generation.push_back(seconds_of([&] {
            for (int t = 0; t < kGenerated; t++) {
                decoder.feed(&prompt[size_t(t)], 1);
            }
        }));
    }
    const std::string behind = depth > 0 ? fmt::format(" @ d{}", depth) : "";
    fmt::print("| test           |   tokens/s |      least |       most |\n| -------------- | ---------: | ---------: | ---------: |\n");
    print_row(fmt::format("pp{}{}", kPrompt, behind), kPrompt, of_prompt);
    print_row(fmt::format("tg{}{}", kGenerated, behind), kGenerated, of_generation);
}

namespace {

/** Bytes a second at which all of the file's tensors are read, by so many threads at once: the best of some times. */
double read_rate(const Model &model, int threads) {
    double bytes = 0, best = 0;
    for (const auto &[name, tensor] : model.file.tensors()) {
        bytes += double(tensor.bytes);
    }
    std::atomic<uint64_t> seen{0};  // so that the reads are not left out
    for (int repeat = 0; repeat < 5; repeat++) {
        const double seconds = seconds_of([&] {
            std::vector<std::thread> readers;
            for (int t = 0; t < threads; t++) {
                readers.emplace_back([&, t] {
                    uint64_t sums[4] = {};
                    for (const auto &[name, tensor] : model.file.tensors()) {
                        const uint64_t words = tensor.bytes / sizeof(uint64_t), begin = words * uint64_t(t) / uint64_t(threads),
                                       end = words * uint64_t(t + 1) / uint64_t(threads);
                        const auto *data = reinterpret_cast<const uint64_t *>(tensor.data);
                        for (uint64_t i = begin; i + 4 <= end; i += 4) {
                            for (int lane = 0; lane < 4; lane++) {
                                sums[lane] += data[i + uint64_t(lane)];
                            }
                        }
                    }
                    seen += sums[0] + sums[1] + sums[2] + sums[3];
                });
            }
            for (std::thread &reader : readers) {
                reader.join();
            }
        });
        best = std::max(best, bytes / seconds);
    }
    return best;
}

}  // namespace

void explain(const Model &model, bool exact, int depth, int threads) {
    constexpr int kWarm = 4, kTokens = 32;
    const double rate = read_rate(model, threads);
    Decoder decoder(model, depth + kWarm + kTokens, exact);
    const std::vector<int32_t> tokens(size_t(depth + kWarm), 1);
    decoder.feed(tokens.data(), depth);
    for (int i = 0; i < kWarm; i++) {
        decoder.feed(tokens.data(), 1);
    }
    KernelLog log;
    log_kernels(&log);
    const double whole = seconds_of([&] {
                             for (int i = 0; i < kTokens; i++) {
                                 decoder.feed(tokens.data(), 1);
                             }
                         }) /
                         kTokens;
    log_kernels(nullptr);
    fmt::print("| kernel               | calls | bytes a token | least ms | took ms | GB/s | of memory |\n"
               "| -------------------- | ----: | ------------: | -------: | ------: | ---: | --------: |\n");
    double all_bytes = 0, all_seconds = 0;
    const auto print = [&](const std::string &name, int64_t calls, double bytes, double seconds) {
        fmt::print("| {:20} | {:5} | {:13.0f} | {:8.3f} | {:7.3f} | {:4.1f} | {:7.0f} % |\n", name, calls, bytes, bytes / rate * 1e3,
                   seconds * 1e3, bytes / seconds / 1e9, 100 * bytes / seconds / rate);
    };
    int64_t calls = 0;
    for (const auto &[name, use] : log) {
        print(name, use.calls / kTokens, use.bytes / kTokens, use.seconds / kTokens);
        all_bytes += use.bytes / kTokens;
        all_seconds += use.seconds / kTokens;
        calls += use.calls / kTokens;
    }
    print("all", calls, all_bytes, all_seconds);
    fmt::print(
        "\nMemory is read at {:.1f} GB/s by {} threads: {:.1f} tokens a second are possible where nothing stays in a cache, {:.1f} were "
        "reached.\nOutside of kernels: {:.3f} ms a token.\n",
        rate / 1e9, threads, rate / all_bytes, 1 / whole, (whole - all_seconds) * 1e3);
}

void perplexity(const Model &model, bool exact, const std::string &path, int length) {
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
    Decoder decoder(model, length, exact);
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
