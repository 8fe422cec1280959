#include "decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "dequantize.h"

namespace halyard_llm {

Decoder::Decoder(const Model &model, int length, const Precision &precision)
    : Sequence(model.config, length), model_(model), exact_(precision.exact), cache_(precision.cache) {
    const int64_t elements = int64_t(length_) * config_.key_heads * config_.head_width;
    if (elements > INT32_MAX) {
        fail_too_long();
    }
    for (Cache *of : {&keys_, &values_}) {
        of->rows.resize(size_t(config_.layers));
        of->scales.resize(size_t(cache_ == CacheType::kInt8 ? config_.layers : 0));
        for (Memory &rows : of->rows) {
            rows.resize(size_t(elements) * size_t(bytes_of(cache_)));
        }
        for (Memory &scales : of->scales) {
            scales.resize(size_t(length_) * size_t(config_.key_heads) * sizeof(float));
        }
    }
    logits_.resize(size_t(config_.vocabulary));
}

const float *Decoder::logits() {
    return has_logits_ ? logits_.data() : nullptr;
}

bool Decoder::is_like(const Sequence &other) const {
    const auto &decoder = static_cast<const Decoder &>(other);
    return &model_ == &decoder.model_ && exact_ == decoder.exact_;
}

void Decoder::feed(const int32_t *tokens, int count, float *all) {
    check(tokens, count);
    const int begin = position_;
    try {
        for (int done = 0; done < count;) {
            const int rows = std::min(count - done, kMostRows);
            pass({{this, tokens + done, rows, 0}}, all ? all + int64_t(done) * config_.vocabulary : nullptr);
            done += rows;
        }
    } catch (...) {
        rewind(begin);
        throw;
    }
}

void Decoder::feed_together(const std::vector<Feed> &feeds) {
    check_together(feeds);
    std::vector<Decoder *> decoders;
    std::vector<int> begins, done;
    for (const Feed &feed : feeds) {
        decoders.push_back(static_cast<Decoder *>(feed.sequence));
        decoders.back()->check(feed.tokens, feed.count);
        begins.push_back(decoders.back()->position_);
        done.push_back(0);
    }
    try {
        // A sequence is cut where it would be alone, as attention is computed from cut to cut.
        for (bool more = !feeds.empty(); more;) {
            std::vector<Segment> segments;
            int rows = 0;
            more = false;
            for (size_t i = 0; i < feeds.size(); i++) {
                const int next = std::min(feeds[i].count - done[i], kMostRows);
                if (next > 0 && (rows == 0 || rows + next <= 2 * kMostRows)) {
                    segments.push_back({decoders[i], feeds[i].tokens + done[i], next, rows});
                    rows += next;
                    done[i] += next;
                }
                more = more || done[i] < feeds[i].count;
            }
            if (rows > 0) {
                decoders.front()->pass(segments, nullptr);
            }
        }
    } catch (...) {
        for (size_t i = 0; i < feeds.size(); i++) {
            decoders[i]->rewind(begins[i]);
        }
        throw;
    }
}

void Decoder::embed(const int32_t *tokens, int rows, float *to) const {
    const int width = config_.width;
    for (int i = 0; i < rows; i++) {
        float *row = to + int64_t(i) * width;
        dequantize(*model_.weights.words, int64_t(tokens[i]) * width, width, row);
        if (config_.embedding_scale != 1) {
            std::for_each(row, row + width, [&](float &v) { v *= config_.embedding_scale; });
        }
    }
}

void Decoder::make_room(int rows) {
    if (rows <= rows_) {
        return;
    }
    rows_ = 0;
    const auto resize = [&](Memory &block, int columns) { block.resize(size_t(rows) * size_t(columns) * sizeof(float)); };
    const int queries = config_.heads * config_.head_width, keys = config_.key_heads * config_.head_width;
    for (Memory *block : {&x_, &next_, &normed_, &last_}) {
        resize(*block, config_.width);
    }
    resize(qkv_, queries + 2 * keys);
    for (Memory *block : {&q_, &q_turned_, &context_}) {
        resize(*block, queries);
    }
    for (Memory *block : {&k_, &k_normed_, &k_turned_}) {
        resize(*block, keys);
    }
    resize(gate_up_, 2 * config_.inner);
    resize(inner_, config_.inner);
    rows_ = rows;
}

void Decoder::pass(const std::vector<Segment> &segments, float *all) {
    const int rows = segments.back().first + segments.back().rows, width = config_.width;
    make_room(rows);
    positions_.resize(size_t(rows));
    for (const Segment &s : segments) {
        for (int i = 0; i < s.rows; i++) {
            positions_[size_t(s.first + i)] = s.decoder->position_ + i;
        }
        embed(s.tokens, s.rows, x_.floats() + int64_t(s.first) * width);
    }
    for (int i = 0; i < config_.layers; i++) {
        attention_block(i, segments, rows);
        product_block(i, segments, rows);
    }
    if (all) {
        write_logits(segments, x_.floats(), all);
        std::copy_n(all + int64_t(rows - 1) * config_.vocabulary, config_.vocabulary, logits_.data());
    } else if (segments.size() == 1) {
        write_logits({{this, nullptr, 1, 0}}, x_.floats() + int64_t(rows - 1) * width, segments[0].decoder->logits_.data());
    } else {
        std::vector<Segment> last;
        for (size_t i = 0; i < segments.size(); i++) {
            std::copy_n(x_.floats() + int64_t(segments[i].first + segments[i].rows - 1) * width, width,
                        last_.floats() + int64_t(i) * width);
            last.push_back({segments[i].decoder, nullptr, 1, int(i)});
        }
        together_.resize(segments.size() * size_t(config_.vocabulary));
        write_logits(last, last_.floats(), together_.data());
        for (size_t i = 0; i < segments.size(); i++) {
            std::copy_n(together_.data() + i * size_t(config_.vocabulary), config_.vocabulary, segments[i].decoder->logits_.data());
        }
    }
    for (const Segment &s : segments) {
        s.decoder->position_ += s.rows;
        for (const float logit : s.decoder->logits_) {
            if (!std::isfinite(logit)) {
                model_.file.fail("its weights give logits that are no numbers");
            }
        }
        s.decoder->has_logits_ = true;
    }
}

void Decoder::attention_block(int index, const std::vector<Segment> &segments, int rows) {
    const Layer &layer = model_.weights.layers[size_t(index)];
    const LayerProducts &products = model_.products.layers[size_t(index)];
    const int width = config_.head_width, key_row = config_.key_heads * width, query_row = config_.heads * width;
    const int64_t joined = products.query_key_value.columns();
    const bool local = config_.is_local(index);
    const auto &frequencies =
        local && !model_.weights.local_frequencies.empty() ? model_.weights.local_frequencies : model_.weights.frequencies;
    const AttentionSizes sizes = {width, config_.heads, config_.key_heads, config_.attention_scale, local ? config_.window : 0};

    rms_norm(step("norm"), x_.floats(), layer.attention_norm.data(), config_.width, rows, config_.eps, normed_.floats());
    multiply("q, k, v", segments, normed_.floats(), products.query_key_value, products.bias.empty() ? nullptr : products.bias.data(),
             nullptr, qkv_.floats());
    const float *q = qkv_.floats(), *k = q + query_row, *v = k + key_row;
    int64_t q_step = joined, k_step = joined;
    // Heads that are normed have to lie one after the other, and go by memory that is free until attention.
    const auto norm = [&](const float **heads, int count, const std::vector<float> &weight, float *dense, float *normed,
                          int64_t *distance) {
        const int row = count * width;
        for (int i = 0; i < rows; i++) {
            std::copy_n(*heads + i * joined, row, dense + int64_t(i) * row);
        }
        rms_norm(step("norm of heads"), dense, weight.data(), width, int64_t(rows) * count, config_.eps, normed);
        *heads = normed;
        *distance = row;
    };
    if (!layer.query_norm.empty()) {
        norm(&q, config_.heads, layer.query_norm, q_.floats(), context_.floats(), &q_step);
    }
    if (!layer.key_norm.empty()) {
        norm(&k, config_.key_heads, layer.key_norm, k_.floats(), k_normed_.floats(), &k_step);
    }
    const Step turn = step("positions");
    rope(turn, config_.rope_halves, q, q_step, positions_.data(), frequencies, width, config_.heads, rows, q_turned_.floats(), query_row,
         width);
    for (const Segment &s : segments) {
        Decoder &sequence = *s.decoder;
        const CacheRows cached_keys = sequence.rows_of(sequence.keys_, index), cached_values = sequence.rows_of(sequence.values_, index);
        const int begin = sequence.position_;
        const auto turn_keys = [&](float *to, int64_t row, int64_t head) {
            rope(turn, config_.rope_halves, k + s.first * k_step, k_step, positions_.data() + s.first, frequencies, width,
                 config_.key_heads, s.rows, to, row, head);
        };
        if (sequence.cache_ == CacheType::kF32 && model_.kernels->fused) {
            turn_keys(static_cast<float *>(cached_keys.data) + int64_t(begin) * width, width, int64_t(sequence.length_) * width);
        } else {
            turn_keys(k_turned_.floats(), key_row, width);
            store(step("into the cache"), k_turned_.floats(), key_row, width, config_.key_heads, s.rows, cached_keys, begin);
        }
        store(step("into the cache"), v + s.first * joined, joined, width, config_.key_heads, s.rows, cached_values, begin);
        attend(step("attention"), sizes, q_turned_.floats() + int64_t(s.first) * query_row, s.rows, cached_keys, cached_values,
               begin + s.rows, context_.floats() + int64_t(s.first) * query_row);
    }
    if (layer.after_attention.empty()) {
        multiply("attention's output", segments, context_.floats(), products.attention_output, nullptr, x_.floats(), next_.floats());
        std::swap(x_, next_);
    } else {
        multiply("attention's output", segments, context_.floats(), products.attention_output, nullptr, nullptr, next_.floats());
        add_normed(next_.floats(), layer.after_attention, rows);
    }
}

void Decoder::product_block(int index, const std::vector<Segment> &segments, int rows) {
    const Layer &layer = model_.weights.layers[size_t(index)];
    const LayerProducts &products = model_.products.layers[size_t(index)];
    rms_norm(step("norm"), x_.floats(), layer.product_norm.data(), config_.width, rows, config_.eps, normed_.floats());
    multiply("gate, up", segments, normed_.floats(), products.gate_up, nullptr, nullptr, gate_up_.floats());
    gate(step("activation"), config_.gelu, gate_up_.floats(), gate_up_.floats() + config_.inner, 2 * int64_t(config_.inner), config_.inner,
         rows, inner_.floats());
    if (layer.after_product.empty()) {
        multiply("down", segments, inner_.floats(), products.down, nullptr, x_.floats(), next_.floats());
        std::swap(x_, next_);
    } else {
        multiply("down", segments, inner_.floats(), products.down, nullptr, nullptr, next_.floats());
        add_normed(next_.floats(), layer.after_product, rows);
    }
}

// x += rms_norm(product).
void Decoder::add_normed(const float *product, const std::vector<float> &norm, int rows) {
    rms_norm(step("norm"), product, norm.data(), config_.width, rows, config_.eps, normed_.floats());
    float *x = x_.floats();
    const float *normed = normed_.floats();
    for (int64_t i = 0; i < int64_t(rows) * config_.width; i++) {
        x[i] += normed[i];
    }
}

// The sums of a row by rows in f32 go by how many there are, so that each sequence has a call of its own, as it has alone.
void Decoder::multiply(const char *op, const std::vector<Segment> &segments, const float *a, const Product &w, const float *bias,
                       const float *residual, float *y) const {
    const int64_t n = w.columns();
    if (w.is_by_row(exact_)) {
        halyard_llm::multiply(step(op), exact_, a, w, segments.back().first + segments.back().rows, bias, residual, y);
        return;
    }
    for (const Segment &s : segments) {
        const int64_t k = w.rows();
        halyard_llm::multiply(step(op), exact_, a + s.first * k, w, s.rows, bias, residual ? residual + s.first * n : nullptr,
                              y + s.first * n);
    }
}

void Decoder::write_logits(const std::vector<Segment> &segments, const float *x, float *to) {
    const int rows = segments.back().first + segments.back().rows;
    rms_norm(step("norm"), x, model_.weights.output_norm.data(), config_.width, rows, config_.eps, normed_.floats());
    multiply("head", segments, normed_.floats(), model_.products.head, nullptr, nullptr, to);
    if (config_.logit_softcap > 0) {
        const float cap = config_.logit_softcap;
        std::for_each(to, to + int64_t(rows) * config_.vocabulary, [&](float &v) { v = cap * std::tanh(v / cap); });
    }
}

}  // namespace halyard_llm
