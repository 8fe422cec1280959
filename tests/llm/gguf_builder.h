#ifndef HALYARD_TESTS_LLM_GGUF_BUILDER_H
#define HALYARD_TESTS_LLM_GGUF_BUILDER_H

/** \file
 * Bytes of a GGUF file, right or wrong, written by a test.
 */

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

class GgufBuilder {
public:
    uint32_t version = 3;

    template<typename T>
    static std::string raw(T value) {
        std::string bytes(sizeof(T), '\0');
        std::memcpy(&bytes[0], &value, sizeof(T));
        return bytes;
    }
    static std::string text(const std::string &value) {
        return raw(uint64_t(value.size())) + value;
    }

    void key(const std::string &name, uint32_t type, const std::string &value) {
        keys_ += text(name) + raw(type) + value;
        key_count++;
    }
    void u32(const std::string &name, uint32_t value) {
        key(name, 4, raw(value));
    }
    void f32(const std::string &name, float value) {
        key(name, 6, raw(value));
    }
    void string(const std::string &name, const std::string &value) {
        key(name, 8, text(value));
    }
    void strings(const std::string &name, const std::vector<std::string> &values) {
        std::string all = raw(uint32_t(8)) + raw(uint64_t(values.size()));
        for (const std::string &v : values) {
            all += text(v);
        }
        key(name, 9, all);
    }
    template<typename T>
    void array(const std::string &name, uint32_t type, const std::vector<T> &values) {
        std::string all = raw(type) + raw(uint64_t(values.size()));
        for (const T v : values) {
            all += raw(v);
        }
        key(name, 9, all);
    }

    void tensor(const std::string &name, const std::vector<uint64_t> &shape, uint32_t type, uint64_t offset) {
        tensors_ += text(name) + raw(uint32_t(shape.size()));
        for (const uint64_t extent : shape) {
            tensors_ += raw(extent);
        }
        tensors_ += raw(type) + raw(offset);
        tensor_count++;
    }
    /** One with bytes of its own behind those before. */
    void tensor(const std::string &name, const std::vector<uint64_t> &shape, uint32_t type, const std::string &bytes) {
        data_.resize((data_.size() + 31) / 32 * 32);
        tensor(name, shape, type, uint64_t(data_.size()));
        data_ += bytes;
    }

    std::vector<uint8_t> bytes() const {
        std::string all = "GGUF" + raw(version) + raw(tensor_count) + raw(key_count) + keys_ + tensors_;
        all.resize((all.size() + 31) / 32 * 32);
        all += data_;
        return {all.begin(), all.end()};
    }

    uint64_t tensor_count = 0, key_count = 0;

private:
    std::string keys_, tensors_, data_;
};

inline std::string raw_halves(const std::vector<uint16_t> &halves) {
    std::string all;
    for (const uint16_t half : halves) {
        all += GgufBuilder::raw(half);
    }
    return all;
}

/** A whole model of one layer, of the smallest sizes. */
inline GgufBuilder tiny_model() {
    GgufBuilder file;
    file.string("general.architecture", "llama");
    for (const auto &[name, value] : {std::pair<const char *, uint32_t>{"block_count", 1},
                                      {"context_length", 64},
                                      {"embedding_length", 32},
                                      {"feed_forward_length", 32},
                                      {"attention.head_count", 2},
                                      {"attention.head_count_kv", 1}}) {
        file.u32(std::string("llama.") + name, value);
    }
    file.f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    file.string("tokenizer.ggml.model", "gpt2");
    file.string("tokenizer.ggml.pre", "smollm");
    file.strings("tokenizer.ggml.tokens", {"<|im_start|>", "<|im_end|>", "a", "b", "c", "ab", "abc", "\xC4\xA0",
                                           "\xC4\xA0"
                                           "a"});
    file.array<int32_t>("tokenizer.ggml.token_type", 5, {3, 3, 1, 1, 1, 1, 1, 1, 1});
    file.strings("tokenizer.ggml.merges", {"a b", "ab c", "\xC4\xA0 a"});
    file.u32("tokenizer.ggml.eos_token_id", 1);
    file.key("tokenizer.ggml.add_bos_token", 7, std::string(1, '\0'));
    file.string("tokenizer.chat_template", "'<|im_start|>system\nBe brief<|im_end|>\n'");

    const auto ones = [](int count) {
        std::string all;
        for (int i = 0; i < count; i++) {
            all += GgufBuilder::raw(1.0f);
        }
        return all;
    };
    // Blocks with a scale (and a minimum), and quants that differ from each other.
    const auto blocks = [](int count, const std::string &head, int quants) {
        std::string all;
        for (int i = 0; i < count; i++) {
            all += head;
            for (int q = 0; q < quants; q++) {
                all += char(uint8_t((i * quants + q) * 167 + q * q));
            }
        }
        return all;
    };
    const auto q4_1 = [&](int k, int n) { return blocks(k / 32 * n, raw_halves({0x2A66, 0xB600}), 16); };  // 0.05, -0.375
    file.tensor("token_embd.weight", {32, 9}, 8, blocks(9, raw_halves({0x2400}), 32));
    file.tensor("blk.0.attn_norm.weight", {32}, 0, ones(32));
    file.tensor("blk.0.ffn_norm.weight", {32}, 0, ones(32));
    file.tensor("output_norm.weight", {32}, 0, ones(32));
    file.tensor("blk.0.attn_q.weight", {32, 32}, 3, q4_1(32, 32));
    file.tensor("blk.0.attn_k.weight", {32, 16}, 3, q4_1(32, 16));
    file.tensor("blk.0.attn_v.weight", {32, 16}, 3, q4_1(32, 16));
    file.tensor("blk.0.attn_output.weight", {32, 32}, 3, q4_1(32, 32));
    for (const char *name : {"blk.0.ffn_gate.weight", "blk.0.ffn_up.weight", "blk.0.ffn_down.weight"}) {
        file.tensor(name, {32, 32}, 3, q4_1(32, 32));
    }
    return file;
}

#endif
