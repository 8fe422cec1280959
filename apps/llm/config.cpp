#include "config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

namespace halyard_llm {

namespace {

// What an architecture is, where its file does not say it.
struct Architecture {
    const char *name;
    bool rope_halves;
    bool gemma;  // scaled embeddings, gelu
    int global_every;
};

constexpr Architecture kArchitectures[] = {
    {"llama", false, false, 0}, {"mistral", false, false, 0}, {"qwen2", true, false, 0},
    {"qwen3", true, false, 0},  {"gemma", true, true, 0},     {"gemma3", true, true, 6},
};

constexpr int kMost = 1 << 20;

[[noreturn]] void unknown(const Gguf &file, const std::string &what) {
    throw std::runtime_error(fmt::format("{}: {}, which this program does not compute. It computes llama, mistral, qwen2, qwen3, gemma and "
                                         "gemma3, without experts: take such a model",
                                         shown(file.name()), what));
}

void read_rope(const Gguf &file, const std::string &prefix, Config *config) {
    config->rope_width = int(file.integer_or(prefix + "rope.dimension_count", config->head_width, 2, config->head_width));
    if (config->rope_width % 2 != 0) {
        file.fail(fmt::format("rope.dimension_count is {}, which is odd", config->rope_width));
    }
    config->rope_base = float(file.number_or(prefix + "rope.freq_base", 10000));
    const std::string scaling = file.text_or(prefix + "rope.scaling.type", "none");
    if (scaling != "none" && scaling != "linear") {
        unknown(file, fmt::format("its positions are scaled by '{}'", shown(scaling)));
    }
    const bool linear = scaling == "linear" || file.has(prefix + "rope.scale_linear");
    config->rope_factor = float(file.number_or(prefix + "rope.scaling.factor", file.number_or(prefix + "rope.scale_linear", 1)));
    if (!linear) {
        config->rope_factor = 1;
    }
    if (!(config->rope_base > 0) || !(config->rope_factor > 0)) {
        file.fail("the base or the factor of its positions is not above 0");
    }
}

}  // namespace

Config read_config(const Gguf &file) {
    Config config;
    config.architecture = file.text("general.architecture");
    const auto *found = std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                                     [&](const Architecture &a) { return config.architecture == a.name; });
    if (found == std::end(kArchitectures)) {
        unknown(file, fmt::format("its architecture is '{}'", shown(config.architecture)));
    }
    const std::string prefix = config.architecture + ".";
    if (file.integer_or(prefix + "expert_count", 0, 0, kMost) > 0) {
        unknown(file, "it has experts");
    }
    if (file.number_or(prefix + "attn_logit_softcapping", 0) != 0) {
        unknown(file, "its scores of attention have a softcap");
    }
    const auto count = [&](const char *key, int64_t least) { return int(file.integer(prefix + key, least, kMost)); };
    config.layers = int(file.integer(prefix + "block_count", 1, 4096));
    config.width = count("embedding_length", 1);
    config.inner = count("feed_forward_length", 1);
    config.heads = count("attention.head_count", 1);
    config.key_heads = int(file.integer_or(prefix + "attention.head_count_kv", config.heads, 1, config.heads));
    if (config.heads % config.key_heads != 0) {
        file.fail(fmt::format("{} heads of queries are no multiple of {} of keys", config.heads, config.key_heads));
    }
    config.head_width = int(file.integer_or(prefix + "attention.key_length", config.width / config.heads, 2, 4096));
    if (file.integer_or(prefix + "attention.value_length", config.head_width, 1, kMost) != config.head_width) {
        unknown(file, "its values are not as wide as its keys");
    }
    if (int64_t(config.heads) * config.head_width > kMost) {
        file.fail(fmt::format("{} heads of {} are wider than {}", config.heads, config.head_width, kMost));
    }
    config.context = count("context_length", 1);
    config.eps = float(file.number(prefix + "attention.layer_norm_rms_epsilon"));
    if (!(config.eps >= 0)) {
        file.fail("the epsilon of its norms is below 0");
    }
    config.attention_scale = float(file.number_or(prefix + "attention.scale", 1 / std::sqrt(double(config.head_width))));
    if (!(config.attention_scale > 0)) {
        file.fail("the scale of its attention is not above 0");
    }
    config.logit_softcap = float(file.number_or(prefix + "final_logit_softcapping", 0));
    if (config.logit_softcap < 0) {
        file.fail("the softcap of its logits is below 0");
    }
    config.rope_halves = found->rope_halves;
    config.gelu = found->gemma;
    config.embedding_scale = found->gemma ? std::sqrt(float(config.width)) : 1;
    read_rope(file, prefix, &config);
    config.window = int(file.integer_or(prefix + "attention.sliding_window", 0, 0, INT32_MAX));
    config.global_every = found->global_every;
    if (found->global_every > 0) {
        config.local_rope_base = 10000;
    }

    const Tensor *words = file.find("token_embd.weight");
    if (!words || words->shape.size() != 2 || words->shape[0] != config.width) {
        file.fail(fmt::format("there is no tensor 'token_embd.weight' of {} columns", config.width));
    }
    config.vocabulary = int(words->shape[1]);
    return config;
}

}  // namespace halyard_llm
