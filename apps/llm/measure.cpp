#include "measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "minilm/mapped_file.h"

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

void bench(const Model &model, int depth, int repetitions) {
    Decoder decoder(model, depth + kPrompt + kGenerated);
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

void perplexity(const Model &model, const std::string &path, int length) {
    const minilm::MappedFile file(path);
    std::vector<int32_t> tokens, begin;
    model.tokenizer.begin(&begin);
    tokens = begin;
    model.tokenizer.encode({reinterpret_cast<const char *>(file.data()), file.size()}, false, &tokens);
    const int chunks = int(tokens.size()) / length;
    if (chunks == 0) {
        throw std::runtime_error(
            fmt::format("{}: {} tokens are less than one chunk of {}: take a longer text, or --context N", path, tokens.size(), length));
    }
    Decoder decoder(model, length);
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
