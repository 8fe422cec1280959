#include "bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "json_text.h"
#include "lines.h"

namespace minilm {

namespace {

constexpr int warm_up_runs = 1;
constexpr size_t least_runs = 2;
constexpr int most_sentences = 1 << 16;

double seconds_now() {
    using Clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/** A whole text as a positive number; 0 for anything else. */
int positive(const std::string &text) {
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) {
        return 0;
    }
    return std::stoi(text);
}

TokenBatch made_up_batch(int sentences, int length, int32_t begin, int32_t end) {
    TokenBatch batch;
    for (int b = 0; b < sentences; b++) {
        for (int s = 0; s < length; s++) {
            // Spread over the vocabulary, as natural text is, and the same for
            // every contestant. Ids under 1000 are special or unused.
            const int64_t i = int64_t(b) * length + s;
            const int32_t id = int32_t(1000 + (i * 7919) % 20000);
            batch.ids.push_back(s == 0 ? begin : s == length - 1 ? end : id);
        }
        batch.end_sentence();
    }
    return batch;
}

TokenBatch natural_batch(int sentences, const std::string &path, Tokenizer *tokenizer) {
    if (path.empty()) {
        throw std::invalid_argument("a natural case needs --sentences FILE");
    }
    LineReader lines(path);
    TokenBatch batch;
    std::string line;
    while (batch.sentences() < sentences) {
        if (!lines.next(&line)) {
            throw std::invalid_argument(fmt::format("{} has {} lines, the case asks for {}", path, batch.sentences(), sentences));
        }
        tokenizer->encode(line, &batch.ids);
        batch.end_sentence();
    }
    return batch;
}

std::string run(const std::string &request, const Model &model, Tokenizer *tokenizer, SentenceEncoder *encoder,
                const std::string &sentences_path) {
    std::istringstream words(request);
    std::string verb, bench_case, rest;
    double seconds = 0;
    if (!(words >> verb >> bench_case >> seconds) || verb != "run" || words >> rest || !(seconds >= 0)) {
        throw std::invalid_argument("a request is: run CASE SECONDS");
    }
    const TokenBatch batch = make_bench_batch(bench_case, sentences_path, model.config(), tokenizer);
    std::vector<float> result(size_t(batch.sentences()) * size_t(model.config().hidden));
    for (int i = 0; i < warm_up_runs; i++) {
        encoder->encode(batch, result.data());
    }
    std::vector<double> times;
    const double begin = seconds_now();
    double before = begin;
    while (times.size() < least_runs || before - begin < seconds) {
        before = seconds_now();
        encoder->encode(batch, result.data());
        const double after = seconds_now();
        times.push_back(after - before);
        before = after;
    }
    std::sort(times.begin(), times.end());
    const size_t middle = times.size() / 2;
    const double median = times.size() % 2 ? times[middle] : 0.5 * (times[middle - 1] + times[middle]);
    return fmt::format("{{\"case\":{},\"seconds_min\":{:.9f},\"seconds_median\":{:.9f},\"runs\":{}}}", json_text(bench_case), times.front(),
                       median, times.size());
}

}  // namespace

TokenBatch make_bench_batch(const std::string &bench_case, const std::string &sentences_path, const Config &config, Tokenizer *tokenizer) {
    const size_t by = bench_case.find('x');
    const int sentences = positive(bench_case.substr(0, by));
    const std::string tokens = by == std::string::npos ? "" : bench_case.substr(by + 1);
    const int length = positive(tokens);
    const bool natural = tokens == "natural";
    if (sentences < 1 || sentences > most_sentences || (!natural && (length < 2 || length > config.max_positions))) {
        throw std::invalid_argument(fmt::format("no case '{}'; a case is SENTENCESxTOKENS (2 to {} tokens) or SENTENCESxnatural",
                                                bench_case, config.max_positions));
    }
    return natural ? natural_batch(sentences, sentences_path, tokenizer)
                   : made_up_batch(sentences, length, tokenizer->begin_id(), tokenizer->end_id());
}

void serve_bench(const Model &model, Tokenizer *tokenizer, SentenceEncoder *encoder, const std::string &sentences_path,
                 std::istream *requests, std::ostream *answers) {
    LineReader lines(requests, "requests");
    std::string request;
    while (lines.next(&request)) {
        std::string answer;
        try {
            answer = run(request, model, tokenizer, encoder, sentences_path);
        } catch (const std::exception &e) {
            answer = fmt::format("{{\"request\":{},\"error\":{}}}", json_text(request), json_text(e.what()));
        }
        *answers << answer << std::endl;
    }
}

}  // namespace minilm
