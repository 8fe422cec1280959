#include "measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/mapped_file.h"

namespace halyard_llm {

namespace {

void print_row(const std::string &what, int tokens, std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    const auto rate = [&](double s) { return tokens / s; };
    fmt::print("| {:17} | {:10.2f} | {:10.2f} | {:10.2f} |\n", what, rate(seconds[seconds.size() / 2]), rate(seconds.back()),
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

double seconds_of(const std::function<void()> &work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void bench(const Model &model, const Precision &precision, const BenchOptions &options) {
    const std::unique_ptr<Sequence> sequence =
        make_sequence(model, options.depth + std::max({options.prompt, options.generated, 1}), precision);
    const auto fill = [&](int count, int seed) {
        std::vector<int32_t> tokens;
        for (int i = 0; i < count; i++) {
            tokens.push_back(int32_t((int64_t(i + seed) * 7919 + 13) % model.config.vocabulary));
        }
        return tokens;
    };
    const std::vector<int32_t> before = fill(options.depth, 1), tokens = fill(std::max(options.prompt, options.generated), 2);
    sequence->feed(before.data(), options.depth);
    // Once without a look at the clock: what is read for the first time.
    const auto times_of = [&](int warm, const std::function<void(int)> &feed, int count) {
        std::vector<double> times;
        feed(warm);
        for (int i = 0; i < options.repetitions; i++) {
            sequence->rewind(options.depth);
            times.push_back(seconds_of([&] { feed(count); }));
        }
        sequence->rewind(options.depth);
        return times;
    };
    const std::string behind = options.depth > 0 ? fmt::format(" @ d{}", options.depth) : "";
    fmt::print(
        "| test              |   tokens/s |      least |       most |\n| ----------------- | ---------: | ---------: | ---------: |\n");
    if (options.prompt > 0) {
        const auto read = [&](int count) {
            sequence->feed(tokens.data(), count);
            sequence->wait();
        };
        print_row(fmt::format("pp{}{}", options.prompt, behind), options.prompt, times_of(options.prompt, read, options.prompt));
    }
    if (options.generated > 0) {
        const auto generate = [&](int count) {
            for (int t = 0; t < count; t++) {
                sequence->feed(&tokens[size_t(t)], 1);
                sequence->wait();
            }
        };
        print_row(fmt::format("tg{}{}", options.generated, behind), options.generated, times_of(1, generate, options.generated));
    }
    if (options.sequences > 1 && options.generated > 0) {
        std::vector<std::unique_ptr<Sequence>> all;
        for (int i = 0; i < options.sequences; i++) {
            all.push_back(make_sequence(model, options.depth + options.generated, precision));
            all.back()->feed(before.data(), options.depth);
        }
        const auto generate = [&](int count) {
            for (const auto &s : all) {
                s->rewind(options.depth);
            }
            std::vector<Feed> feeds;
            for (int t = 0; t < count; t++) {
                feeds.clear();
                for (const auto &s : all) {
                    feeds.push_back({s.get(), &tokens[size_t(t)], 1});
                }
                feed_together(feeds);
                all.back()->wait();
            }
        };
        print_row(fmt::format("tg{} x{}{}", options.generated, options.sequences, behind), options.generated * options.sequences,
                  times_of(1, generate, options.generated));
    }
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
    const std::unique_ptr<Sequence> sequence = make_sequence(model, length, precision);
    const int vocabulary = model.config.vocabulary;
    std::vector<float> logits(size_t(length) * size_t(vocabulary));
    double sum = 0, squares = 0;
    int64_t count = 0;
    for (int c = 0; c < chunks; c++) {
        std::vector<int32_t> chunk(tokens.begin() + long(c) * length, tokens.begin() + long(c + 1) * length);
        std::copy(begin.begin(), begin.end(), chunk.begin());
        sequence->rewind(0);
        sequence->feed(chunk.data(), length, logits.data());
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
