#include "encoder.h"

#include <algorithm>
#include <atomic>
#include <exception>

namespace minilm {

namespace {

// Parts side by side wait for nobody, where threads that share a kernel wait for each other after each. Fewer rows than
// these a thread, and weights would be read for too little.
constexpr int least_tokens_a_thread = 128;

}  // namespace

/** Of parts that threads take, one after the other. */
struct Encoder::Run {
    Encoder *encoder;
    const TokenBatch &batch;
    float *result;
    std::atomic<int> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr error;  // of the first that failed

    static int lane(void *, int lane, uint8_t *run_bytes) {
        Run &run = *reinterpret_cast<Run *>(run_bytes);
        try {
            const int parts = int(run.encoder->ends_.size());
            for (int part = run.next++; part < parts && !run.failed; part = run.next++) {
                run.encoder->run_part(run.batch, part, run.encoder->lanes_[size_t(lane)].get(), run.result);
            }
        } catch (...) {
            if (!run.failed.exchange(true)) {
                run.error = std::current_exception();
            }
        }
        return 0;
    }
};

Encoder::Encoder(const Model &model, const Kernels &kernels, int part_tokens)
    : model_(model), kernels_(kernels), part_tokens_(std::max(part_tokens, 1)) {
    lanes_.push_back(std::make_unique<Lane>(Lane{PartEncoder(model, kernels), {}}));
}

/** For each turn of all threads in as many parts as have lanes, of about as many tokens; false if a part has much more. */
bool Encoder::split(const TokenBatch &batch, int threads, int lanes) {
    const int64_t tokens = batch.tokens(), turn = int64_t(threads) * part_tokens_;
    const int64_t parts = lanes * std::max<int64_t>(1, (tokens + turn / 2) / turn);
    ends_.clear();
    int most = 0;
    for (int64_t part = 1, end = 0, first = 0; part <= parts; part++, first = end) {
        // Whose middle is before the part's end.
        while (end < batch.sentences() && (batch.begin(int(end)) + batch.ends[size_t(end)]) * parts <= 2 * tokens * part) {
            end++;
        }
        if (end > first) {
            ends_.push_back(int(end));
            most = std::max(most, batch.ends[size_t(end) - 1] - batch.begin(int(first)));
        }
    }
    return most * int64_t(lanes) * 4 <= tokens * 5;
}

void Encoder::run_part(const TokenBatch &batch, int part, Lane *lane, float *result) {
    const int first = part == 0 ? 0 : ends_[size_t(part) - 1];
    const int tokens = batch.ends[size_t(ends_[size_t(part)]) - 1] - batch.begin(first);
    lane->part.clear();
    lane->part.ends.reserve(size_t(tokens));  // at most
    lane->part.ids.assign(batch.ids.begin() + batch.begin(first), batch.ids.begin() + batch.begin(first) + tokens);
    for (int s = first; s < ends_[size_t(part)]; s++) {
        lane->part.ends.push_back(batch.ends[size_t(s)] - batch.begin(first));
    }
    lane->encoder.encode(lane->part, result + size_t(first) * size_t(model_.config().hidden));
}

void Encoder::encode(const TokenBatch &batch, float *result) {
    if (batch.tokens() == 0) {
        return;
    }
    check_batch(batch, model_.config());
    const int threads = kernels_.threads ? kernels_.threads() : 1;
    Run run = {this, batch, result};
    if (threads > 1 && batch.tokens() >= least_tokens_a_thread * threads && split(batch, threads, threads)) {
        while (int(lanes_.size()) < threads) {
            lanes_.push_back(std::make_unique<Lane>(Lane{PartEncoder(model_, kernels_), {}}));
        }
        kernels_.parallel(nullptr, Run::lane, 0, threads, reinterpret_cast<uint8_t *>(&run));
    } else {
        split(batch, threads, 1);
        Run::lane(nullptr, 0, reinterpret_cast<uint8_t *>(&run));
    }
    if (run.error) {
        std::rethrow_exception(run.error);
    }
}

}  // namespace minilm
