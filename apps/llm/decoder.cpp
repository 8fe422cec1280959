#include "decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>

#include "dequantize.h"

namespace halyard_llm {

void Model::check() const {
    if (tokenizer.size() > config.vocabulary) {
        file.fail(fmt::format("its tokenizer has {} tokens, and its embeddings have {}", tokenizer.size(), config.vocabulary));
    }
}

void Decoder::Block::resize(size_t count) {
    constexpr size_t kLine = 64;
    const size_t bytes = (count * sizeof(float) + kLine) / kLine * kLine;
    memory_.reset();
    memory_.reset(static_cast<float *>(std::aligned_alloc(kLine, bytes)));
    if (!memory_) {
        throw std::bad_alloc();
    }
}

Decoder::Decoder(const Model &model, int length, bool exact) : model_(model), config_(model.config), exact_(exact) {
    constexpr int kUsual = 4096;
    length_ = length > 0 ? length : std::min(config_.context, kUsual);
    const int64_t elements = int64_t(length_) * config_.key_heads * config_.head_width;
    if (length_ > config_.context || elements > INT32_MAX) {
        throw std::runtime_error(fmt::format("a context of {} tokens is too long: the model was made for {}", length_, config_.context));
    }
    keys_.resize(size_t(config_.layers));
    values_.resize(size_t(config_.layers));
    for (auto *cache : {&keys_, &values_}) {
        for (Block &block : *cache) {
            block.resize(size_t(elements));
        }
    }
    logits_.resize(size_t(config_.vocabulary));
}

const float *Decoder::logits() const {
    return has_logits_ ? logits_.data() : nullptr;
}

void Decoder::rewind(int position) {
    if (position < 0 || position > position_) {
        throw std::runtime_error(fmt::format("a sequence of {} tokens has no token {} to go back to", position_, position));
    }
    position_ = position;
    has_logits_ = false;
}

void Decoder::feed(const int32_t *tokens, int count, float *all) {
    if (count < 0 || count > length_ - position_) {
        throw std::runtime_error(fmt::format("{} tokens do not fit behind the {} of a context of {}: make a longer one, or begin anew",
                                             count, position_, length_));
    }
    for (int i = 0; i < count; i++) {
        if (tokens[i] < 0 || tokens[i] >= config_.vocabulary) {
            throw std::runtime_error(fmt::format("token {} is not one of the {} of the vocabulary", tokens[i], config_.vocabulary));
        }
    }
    const int begin = position_;
    try {
        for (int done = 0; done < count;) {
            const int rows = std::min(count - done, kMostRows);
            pass(tokens + done, rows, all ? all + int64_t(done) * config_.vocabulary : nullptr);
            done += rows;
        }
    } catch (...) {
        rewind(begin);
        throw;
    }
}

void Decoder::embed(const int32_t *tokens, int rows) {
    const int width = config_.width;
    for (int i = 0; i < rows; i++) {
        float *row = x_.data() + int64_t(i) * width;
        dequantize(*model_.weights.words, int64_t(tokens[i]) * width, width, row);
        if (config_.embedding_scale != 1) {
            std::for_each(row, row + width, [&](float &v) { v *= config_.embedding_scale; });
        }
    }
}

void Decoder::pass(const int32_t *tokens, int rows, float *all) {
    const auto size = [&](int columns) { return size_t(rows) * size_t(columns); };
    if (rows > rows_) {
        const int queries = config_.heads * config_.head_width;
        for (Block *block : {&x_, &next_, &normed_}) {
            block->resize(size(config_.width));
        }
        for (Block *block : {&q_, &q_turned_, &context_}) {
            block->resize(size(queries));
        }
        for (Block *block : {&k_, &k_normed_}) {
            block->resize(size(config_.key_heads * config_.head_width));
        }
        for (Block *block : {&gate_, &up_, &inner_}) {
            block->resize(size(config_.inner));
        }
        rows_ = rows;
    }
    positions_.resize(size_t(rows));
    for (int i = 0; i < rows; i++) {
        positions_[size_t(i)] = position_ + i;
    }
    embed(tokens, rows);
    for (int i = 0; i < config_.layers; i++) {
        attention_block(i, rows);
        product_block(model_.weights.layers[size_t(i)], rows);
    }
    position_ += rows;
    if (all) {
        write_logits(x_.data(), rows, all);
        std::copy_n(all + int64_t(rows - 1) * config_.vocabulary, config_.vocabulary, logits_.data());
    } else {
        write_logits(x_.data() + int64_t(rows - 1) * config_.width, 1, logits_.data());
    }
    for (const float logit : logits_) {
        if (!std::isfinite(logit)) {
            model_.file.fail("its weights give logits that are no numbers");
        }
    }
    has_logits_ = true;
}

void Decoder::attention_block(int index, int rows) {
    const Layer &layer = model_.weights.layers[size_t(index)];
    const int width = config_.head_width, key_row = config_.key_heads * width;
    const bool local = config_.is_local(index);
    const auto &frequencies =
        local && !model_.weights.local_frequencies.empty() ? model_.weights.local_frequencies : model_.weights.frequencies;
    const auto bias = [](const std::vector<float> &values) { return values.empty() ? nullptr : values.data(); };
    float *new_keys = keys(index) + int64_t(position_) * key_row;

    rms_norm(x_.data(), layer.attention_norm.data(), config_.width, rows, config_.eps, normed_.data());
    multiply(exact_, normed_.data(), layer.query, rows, bias(layer.query_bias), nullptr, q_.data());
    multiply(exact_, normed_.data(), layer.key, rows, bias(layer.key_bias), nullptr, k_.data());
    multiply(exact_, normed_.data(), layer.value, rows, bias(layer.value_bias), nullptr, values(index) + int64_t(position_) * key_row);
    // Heads that are normed go by memory that is free until attention.
    float *q = q_.data(), *k = k_.data();
    if (!layer.query_norm.empty()) {
        rms_norm(q, layer.query_norm.data(), width, int64_t(rows) * config_.heads, config_.eps, context_.data());
        q = context_.data();
    }
    if (!layer.key_norm.empty()) {
        rms_norm(k, layer.key_norm.data(), width, int64_t(rows) * config_.key_heads, config_.eps, k_normed_.data());
        k = k_normed_.data();
    }
    rope(config_.rope_halves, q, positions_.data(), frequencies, width, config_.heads, rows, q_turned_.data());
    rope(config_.rope_halves, k, positions_.data(), frequencies, width, config_.key_heads, rows, new_keys);
    attend({width, config_.heads, config_.key_heads, config_.attention_scale, local ? config_.window : 0}, q_turned_.data(), rows,
           keys(index), values(index), position_ + rows, context_.data());
    if (layer.after_attention.empty()) {
        multiply(exact_, context_.data(), layer.attention_output, rows, nullptr, x_.data(), next_.data());
        std::swap(x_, next_);
    } else {
        multiply(exact_, context_.data(), layer.attention_output, rows, nullptr, nullptr, next_.data());
        add_normed(next_.data(), layer.after_attention, rows);
    }
}

void Decoder::product_block(const Layer &layer, int rows) {
    rms_norm(x_.data(), layer.product_norm.data(), config_.width, rows, config_.eps, normed_.data());
    multiply(exact_, normed_.data(), layer.gate, rows, nullptr, nullptr, gate_.data());
    multiply(exact_, normed_.data(), layer.up, rows, nullptr, nullptr, up_.data());
    gate(config_.gelu, gate_.data(), up_.data(), config_.inner, rows, inner_.data());
    if (layer.after_product.empty()) {
        multiply(exact_, inner_.data(), layer.down, rows, nullptr, x_.data(), next_.data());
        std::swap(x_, next_);
    } else {
        multiply(exact_, inner_.data(), layer.down, rows, nullptr, nullptr, next_.data());
        add_normed(next_.data(), layer.after_product, rows);
    }
}

// x += rms_norm(product).
void Decoder::add_normed(const float *product, const std::vector<float> &norm, int rows) {
    rms_norm(product, norm.data(), config_.width, rows, config_.eps, normed_.data());
    float *x = x_.data();
    const float *normed = normed_.data();
    for (int64_t i = 0; i < int64_t(rows) * config_.width; i++) {
        x[i] += normed[i];
    }
}

void Decoder::write_logits(const float *x, int rows, float *to) {
    rms_norm(x, model_.weights.output_norm.data(), config_.width, rows, config_.eps, normed_.data());
    multiply(exact_, normed_.data(), model_.weights.head, rows, nullptr, nullptr, to);
    if (config_.logit_softcap > 0) {
        const float cap = config_.logit_softcap;
        std::for_each(to, to + int64_t(rows) * config_.vocabulary, [&](float &v) { v = cap * std::tanh(v / cap); });
    }
}

}  // namespace halyard_llm
