#include "decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "dequantize.h"
#include "half_kernels.h"
#include "half_weights.h"

namespace halyard_llm {

using halyard_apps::DeviceBlock;

namespace {

size_t rounded_up(size_t bytes, size_t line = 128) {
    return (bytes + line - 1) / line * line;
}

constexpr size_t kMostBeside = 64;  // sequences whose addresses are reserved together

TokenStep work_of(const char *op, const ProductOnDevice &w, int rows) {
    TokenStep step = {op, 0, 0, {}};
    for (const ProductOnDevice::Part &part : w.parts) {
        step.memory += bytes_of(part);
        step.operations += 2.0 * part.k * part.n * rows;
    }
    return step;
}

}  // namespace

CudaDecoder::Input::Input(int count, int width)
    : positions(rounded_up(sizeof(int32_t))), rows(positions + rounded_up(size_t(count) * sizeof(int32_t))),
      bytes(rows + size_t(count) * size_t(width) * sizeof(float)) {}

CudaDecoder::CudaDecoder(const Model &model, int length, const Precision &precision)
    : Sequence(model.config, length), model_(model), weights_(WeightsOnDevice::of(model)), cache_(precision.cache) {
    set_exact(precision.exact);
    if (cache_ == CacheType::kF32) {
        throw std::runtime_error("on a GPU keys and values are kept in f16, bf16 or 8 bits");
    }
    const HeadsOnDevice heads = heads_of(0);
    if (cache_bytes(heads) > INT32_MAX || cache_elements(heads) > INT32_MAX / 2) {
        fail_too_long();
    }
    const Stream::Used used(stream_);
    constexpr size_t kElement = 2, kLayerAlignment = 512;
    layer_bytes_ = rounded_up(size_t(cache_bytes(heads)), kLayerAlignment);
    if (cache_ != CacheType::kF16) {
        wide_cache_.reserve(size_t(cache_elements(heads)) * kElement);
    }
    const size_t bytes = layer_bytes_ * size_t(config_.layers) + rounded_up(size_t(config_.vocabulary) * sizeof(float), kLayerAlignment);
    slot_ = Slots::take(&model, bytes, int(std::min<size_t>(kMostBeside, INT32_MAX / (bytes / kElement))));  // indices have 32 bits
    scratch_.reserve(kScratch);
    token_.reserve(sizeof(int32_t));
    logits_values_.resize(size_t(config_.vocabulary));
}

CudaDecoder::~CudaDecoder() {
    const Stream::Used used(stream_);
    halyard_cuda_synchronize();
}

void CudaDecoder::wait() const {
    const Stream::Used used(stream_);
    halyard_apps::check_cuda(halyard_cuda_synchronize(), "a token on the GPU");
    is_queued_ = false;
}

void CudaDecoder::set_exact(bool exact) {
    if (!exact) {
        throw std::runtime_error("on a GPU products are by rows in f32, and not in 8 bits");
    }
}

bool CudaDecoder::is_like(const Sequence &other) const {
    return &model_ == &static_cast<const CudaDecoder &>(other).model_;
}

void CudaDecoder::feed(const int32_t *tokens, int count, float *all) {
    check(tokens, count);
    const int begin = position_;
    const Stream::Used used(stream_);
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

void CudaDecoder::make_room(int rows) {
    if (rows <= rows_) {
        return;
    }
    graphs_.clear();  // which have the addresses
    together_.clear();
    rows_ = 0;
    const auto reserve = [&](DeviceBlock &block, int columns, size_t bytes = sizeof(float)) {
        block.reserve(size_t(rows) * size_t(columns) * bytes);
    };
    const int queries = config_.heads * config_.head_width, keys = config_.key_heads * config_.head_width;
    input_.reserve(std::max(Input(rows, config_.width).bytes, TogetherInput(kMostTogether, config_.width).bytes));
    angles_.reserve(2 * bytes_of_angles(rows));
    for (DeviceBlock *block : {&x_, &next_, &normed_}) {
        reserve(*block, config_.width);
    }
    reserve(qkv_, queries + 2 * keys);
    reserve(q_, queries);
    reserve(context_, queries);
    reserve(half_context_, queries, 2);
    reserve(half_rows_, std::max(config_.width, config_.inner), 2);
    reserve(gate_up_, std::max(2 * config_.inner, config_.width));  // and products that are normed before they are added
    reserve(inner_, config_.inner);
    rows_ = rows;
}

void CudaDecoder::pass(const int32_t *tokens, int rows, float *all) {
    make_room(rows);
    const int width = config_.width;
    const Input input(rows, width);
    input_values_.assign(input.bytes, 0);
    const int32_t end = position_ + rows;
    std::memcpy(input_values_.data(), &end, sizeof(end));
    for (int i = 0; i < rows; i++) {
        const int32_t position = position_ + i;
        std::memcpy(&input_values_[input.positions + size_t(i) * sizeof(position)], &position, sizeof(position));
        embed(tokens[i], reinterpret_cast<float *>(&input_values_[input.rows]) + int64_t(i) * width);
    }
    input_.upload(input_values_.data(), input.bytes);
    if (rows >= kMany) {
        has_half_layers();  // which allocates, the first time
    }
    if (all) {
        all_.reserve(size_t(rows) * size_t(config_.vocabulary) * sizeof(float));
    }
    const Scratch scratch(scratch_.address(), kScratch);  // from here on nothing is allocated but what kernels need
    is_queued_ = true;
    if (rows == 1) {
        const int keys = keys_for(end);
        run(graphs_[{1, keys}], [&] { queue_token(keys); });
    } else {
        const bool half = rows >= kMany && has_half_layers();
        const auto prompt = [&] {
            if (half) {
                queue_half_layers(rows, end);
            } else {
                queue_layers(rows, input_.address() + input.positions, input_.address() + input.rows, attention_of_prompt(rows, end));
            }
            queue_logits(last_x_ + uint64_t(rows - 1) * uint64_t(width) * sizeof(float), 1, logits_on_device());
        };
        if (graphs_.size() >= kMostGraphs && graphs_.count({rows, end}) == 0) {
            graphs_.clear();
        }
        run(graphs_[{rows, end}], prompt, 1);
    }
    if (all) {
        queue_logits(last_x_, rows, all_.address());
        download_logits(all_.address(), rows, all);
    }
    position_ = end;
    has_logits_ = true;
    downloaded_ = false;
    likeliest_ = kUnknown;
}

void CudaDecoder::embed(int32_t token, float *row) const {
    const int width = config_.width;
    dequantize(*model_.weights.words, int64_t(token) * width, width, row);
    std::for_each(row, row + width, [&](float &v) { v *= config_.embedding_scale; });
}

int CudaDecoder::keys_for(int end) const {
    int keys = kFewestKeys;
    while (keys < end) {
        keys *= 2;
    }
    return std::min(keys, length_);
}

void CudaDecoder::queue_token(int keys) {
    const Input input(1, config_.width);
    queue_layers(1, input_.address() + input.positions, input_.address() + input.rows, attention_of_token(keys));
    queue_logits(last_x_, 1, logits_on_device());
}

std::vector<TokenStep> CudaDecoder::steps_of_token() {
    std::vector<TokenStep> steps;
    steps_ = &steps;
    queue_token(keys_for(position_));
    step({"largest", 0, 0, [=] { largest_on_device(logits_on_device(), config_.vocabulary, token_.address()); }});
    steps_ = nullptr;
    return steps;
}

// Now, or when it is asked for.
void CudaDecoder::step(TokenStep step) {
    if (steps_) {
        steps_->push_back(std::move(step));
    } else {
        step.queue();
    }
}

// By a graph, which is made when the same was queued so many times before.
void CudaDecoder::run(Recorded &recorded, const std::function<void()> &queue, int times) {
    if (has_graphs_ && !recorded.graph && recorded.runs++ >= times) {
        recorded.graph = Graph::of(stream_, queue);
        recorded.last_x = last_x_;
        has_graphs_ = recorded.graph != nullptr;
    }
    if (recorded.graph) {
        recorded.graph->launch(stream_);
        last_x_ = recorded.last_x;
    } else {
        queue();
    }
}

// Of few tokens a processor draws faster: it looks for so many of the largest, and the kernel for how large they are. It has the logits
// before the cap, too.
int32_t CudaDecoder::draw(Sampler *sampler) {
    const bool greedy = sampler->is_greedy();
    if (greedy && likeliest_ != kUnknown) {
        return checked(likeliest_);
    }
    if (!greedy && (sampler->top_k() > 0 || config_.logit_softcap > 0)) {
        return Sequence::draw(sampler);
    }
    const Stream::Used used(stream_);
    if (!greedy) {
        upload_draw(sampler->next_draw());
    }
    const Scratch scratch(scratch_.address(), kScratch);
    if (greedy) {
        run(largest_graph_, [&] { largest_on_device(logits_on_device(), config_.vocabulary, token_.address()); });
    } else {
        run(draw_graph_, [&] { draw_on_device(logits_on_device(), config_.vocabulary, draw_.address(), token_.address()); });
    }
    int32_t token = -1;
    token_.download(&token, sizeof(token));
    is_queued_ = false;
    return checked(token);
}

int32_t CudaDecoder::checked(int32_t token) const {
    if (token < 0) {
        model_.file.fail("its weights give logits that are no numbers");
    }
    return token;
}

void CudaDecoder::upload_draw(const Sampler::Draw &draw) {
    const float numbers[kDrawNumbers] = {draw.uniform, draw.temperature, 0, draw.top_p, 0};
    std::vector<uint8_t> values(size_t(kDrawNumbers * kDrawStep));
    for (int i = 0; i < kDrawNumbers; i++) {
        std::memcpy(&values[size_t(i * kDrawStep)], i == 2 ? static_cast<const void *>(&draw.top_k) : &numbers[i], sizeof(float));
    }
    draw_.upload(values.data(), values.size());
}

HeadsOnDevice CudaDecoder::heads_of(int layer) const {
    HeadsOnDevice h;
    h.cache = cache_;
    h.width = config_.head_width;
    h.heads = config_.heads;
    h.key_heads = config_.key_heads;
    h.places = length_;
    const WeightsOnDevice::Layer &weights = weights_->layers[size_t(layer)];
    const bool local = config_.is_local(layer);
    h.scale = config_.attention_scale;
    h.window = local ? config_.window : 0;
    h.halves = config_.rope_halves;
    h.angles = angles_.address() + (local && weights_->local_frequencies ? bytes_of_angles(rows_) : 0);
    h.pairs = config_.rope_width / 2;
    h.query_norm = weights.query_norm;
    h.key_norm = weights.key_norm;
    h.eps = config_.eps;
    return h;
}

CudaDecoder::AttentionOf CudaDecoder::attention_of_prompt(int rows, int keys) {
    const Input input(rows, config_.width);
    const uint64_t positions = input_.address() + input.positions, qkv = qkv_.address(), q = q_.address(),
                   results = half_context_.address();
    return [=](int layer) {
        const HeadsOnDevice heads = heads_of(layer);
        const uint64_t cache = cache_of(layer);
        HeadsOnDevice seen = heads;
        seen.cache = CacheType::kF16;
        const bool wide = heads.cache != seen.cache;
        const uint64_t keys_and_values = wide ? wide_cache_.address() : cache;
        seen.places = wide ? keys : heads.places;
        return Attention{results, [=] {
                             turn_on_device(heads, qkv, positions, rows, q, cache);
                             if (wide) {
                                 widen_cache_on_device(heads, cache, keys, keys_and_values);
                             }
                             attend_on_device(seen, q, rows, keys_and_values, keys, results);
                         }};
    };
}

// A token's queries, keys and values, and attention over all keys by kernels for many of them.
void CudaDecoder::queue_decode(const HeadsOnDevice &heads, uint64_t qkv, uint64_t position, uint64_t cache, int keys, uint64_t length,
                               uint64_t results) {
    if (heads.cache == CacheType::kF16) {
        turn_one_on_device(heads, qkv, position, cache);
        decode_on_device(heads, behind_cache(heads, cache), cache, keys, length, results);
    } else {
        turn_on_device(heads, qkv, position, 1, q_.address(), cache);
        decode_on_device(heads, q_.address(), cache, keys, length, results);
    }
}

CudaDecoder::AttentionOf CudaDecoder::attention_of_token(int keys) {
    const Input input(1, config_.width);
    const uint64_t length = input_.address(), position = input_.address() + input.positions, qkv = qkv_.address();
    return [=, results = half_context_.address()](int layer) {
        const HeadsOnDevice heads = heads_of(layer);
        const uint64_t cache = cache_of(layer);
        if (is_for_one_block(heads, keys)) {
            return Attention{behind_cache(heads, cache), [=] { few_keys_on_device(heads, qkv, cache, keys, length); }};
        }
        return Attention{results, [=] { queue_decode(heads, qkv, position, cache, keys, length, results); }};
    };
}

void CudaDecoder::queue_layers(int rows, uint64_t positions, uint64_t x, const AttentionOf &attention_of) {
    const Added none = {weights_->zeros, true};
    const uint64_t inner = inner_.address(), qkv = qkv_.address();
    uint64_t next = x_.address();
    // A product and what is added to it; where the model norms what it adds, three steps.
    const auto add = [&](const char *op, const ProductOnDevice &w, uint64_t norm,
                         const std::function<void(const Added &more, uint64_t y)> &multiply) {
        const TokenStep work = work_of(op, w, rows);
        const auto to = [this, x, next, norm, rows, none, multiply] {
            if (norm) {
                multiply(none, gate_up_.address());
                norm_on_device(gate_up_.address(), norm, config_.width, rows, config_.eps, normed_.address());
                add_on_device(x, normed_.address(), config_.width, rows, next);
            } else {
                multiply(Added{x, false}, next);
            }
        };
        step({op, work.memory, work.operations, to});
        x = next;
        next = next == x_.address() ? next_.address() : x_.address();
    };
    step({"angles", 0, 0, [=] { queue_angles(positions, rows); }});
    for (int i = 0; i < config_.layers; i++) {
        const WeightsOnDevice::Layer &layer = weights_->layers[size_t(i)];
        const HeadsOnDevice heads = heads_of(i);
        TokenStep front = work_of("norm, q, k, v", layer.query_key_value, rows);
        front.queue = [=, &layer] {
            multiply_normed(x, layer.attention_norm, layer.query_key_value, rows, layer.bias ? Added{layer.bias, true} : none, qkv);
        };
        step(front);
        const Attention attention = attention_of(i);
        const uint64_t context = attention.results;
        const int seen = std::min(heads.window > 0 ? heads.window : position_, position_);
        step({"attention", double(bytes_of_token(heads)) * seen, 4.0 * heads.heads * heads.width * seen, attention.queue});
        add("attention's output", layer.attention_output, layer.after_attention, [=, &layer](const Added &more, uint64_t y) {
            if (is_fused(layer.attention_output, rows)) {
                multiply_half_on_device(context, layer.attention_output, rows, more, y);
            } else {
                widen_on_device(context, heads.width * heads.heads, rows, context_.address());
                multiply_on_device(context_.address(), layer.attention_output, rows, more, y);
            }
        });
        TokenStep gated = work_of("norm, gate, up", layer.gate_up, rows);
        gated.queue = [=, &layer] {
            if (is_fused(layer.gate_up, rows, true)) {
                gate_normed_on_device(config_.gelu, x, layer.product_norm, config_.eps, layer.gate_up, rows, inner);
            } else {
                multiply_normed(x, layer.product_norm, layer.gate_up, rows, none, gate_up_.address());
                gate_on_device(config_.gelu, gate_up_.address(), config_.inner, rows, inner);
            }
        };
        step(gated);
        add("down", layer.down, layer.after_product,
            [=, &layer](const Added &more, uint64_t y) { multiply_on_device(inner, layer.down, rows, more, y); });
    }
    last_x_ = x;
}

// Whether many rows go by weights in f16. Gemma's activations leave the range of f16.
bool CudaDecoder::has_half_layers() const {
    const auto is_plain = [](const WeightsOnDevice::Layer &layer) { return !layer.after_attention && !layer.after_product; };
    return !config_.gelu && std::all_of(weights_->layers.begin(), weights_->layers.end(), is_plain) && weights_->half();
}

// Rows in f16 between kernels, and sums in f32. What a product adds to the rows is added by the norm behind it.
void CudaDecoder::queue_half_layers(int rows, int keys) {
    const Input input(rows, config_.width);
    const uint64_t positions = input_.address() + input.positions, normed = half_rows_.address(), context = half_context_.address();
    const AttentionOf attention_of = attention_of_prompt(rows, keys);
    const int width = config_.width, queries = config_.heads * config_.head_width;
    uint64_t x = input_.address() + input.rows, next = x_.address(), more = 0;
    queue_angles(positions, rows);
    const auto norm = [&](uint64_t weight) {
        half_norm_on_device(x, more, weight, width, rows, config_.eps, normed, next);
        if (more) {
            x = next;
            next = next == x_.address() ? next_.address() : x_.address();
        }
    };
    for (int i = 0; i < config_.layers; i++) {
        const WeightsOnDevice::Layer &layer = weights_->layers[size_t(i)];
        const HalfWeights::Layer &half = weights_->half()->layers[size_t(i)];
        norm(layer.attention_norm);
        half_product_on_device(normed, half.query_key_value, half.bias, width, layer.query_key_value.columns(), rows, qkv_.address());
        attention_of(i).queue();
        more = normed_.address();
        half_product_on_device(context, half.attention_output, 0, queries, width, rows, more);
        norm(layer.product_norm);
        half_swiglu_on_device(normed, half.gate, half.up, width, config_.inner, rows, inner_.address());
        half_product_on_device(inner_.address(), half.down, 0, config_.inner, width, rows, more);
    }
    add_on_device(x, more, width, rows, next);
    last_x_ = next;
}

// For layers that see all, and for local ones, where these have frequencies of their own.
void CudaDecoder::queue_angles(uint64_t positions, int rows) {
    const int pairs = config_.rope_width / 2;
    angles_on_device(positions, weights_->frequencies, pairs, rows, angles_.address());
    if (weights_->local_frequencies) {
        angles_on_device(positions, weights_->local_frequencies, pairs, rows, angles_.address() + bytes_of_angles(rows_));
    }
}

size_t CudaDecoder::bytes_of_angles(int rows) const {
    return size_t(rows) * size_t(config_.rope_width) * sizeof(float);
}

void CudaDecoder::multiply_normed(uint64_t x, uint64_t norm, const ProductOnDevice &w, int rows, const Added &more, uint64_t y) {
    if (is_fused(w, rows)) {
        multiply_normed_on_device(x, norm, config_.eps, w, rows, more, y);
    } else {
        norm_on_device(x, norm, config_.width, rows, config_.eps, normed_.address());
        multiply_on_device(normed_.address(), w, rows, more, y);
    }
}

void CudaDecoder::queue_logits(uint64_t x, int rows, uint64_t to) {
    TokenStep head = work_of("norm, head", weights_->head, rows);
    head.queue = [=] { multiply_normed(x, weights_->output_norm, weights_->head, rows, {weights_->zeros, true}, to); };
    step(head);
}

void CudaDecoder::download_logits(uint64_t from, int rows, float *to) const {
    const size_t count = size_t(rows) * size_t(config_.vocabulary);
    download(to, from, count * sizeof(float));
    const float cap = config_.logit_softcap;
    if (cap > 0) {
        std::for_each(to, to + count, [&](float &v) { v = cap * std::tanh(v / cap); });
    }
    if (!std::all_of(to, to + count, [](float v) { return std::isfinite(v); })) {
        model_.file.fail("its weights give logits that are no numbers");
    }
}

const float *CudaDecoder::logits() {
    if (!has_logits_) {
        return nullptr;
    }
    if (!downloaded_) {
        const Stream::Used used(stream_);
        download_logits(logits_on_device(), 1, logits_values_.data());
        downloaded_ = true;
        is_queued_ = false;
    }
    return logits_values_.data();
}

}  // namespace halyard_llm
