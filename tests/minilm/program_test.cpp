// The program with input and models that it cannot compute: exit code 1 or 2, and a sentence that says why.

#include <catch2/catch.hpp>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "support.h"

namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

struct Run {
    int exit_code;
    std::string text;  // of both outputs
};

/** The program with what a shell understands behind its name. */
Run run(const std::string &arguments) {
    FILE *pipe = popen(("exec 2>&1; exec " MINILM_PROGRAM " " + arguments).c_str(), "r");
    REQUIRE(pipe);
    Run r = {0, ""};
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof(block), pipe)) > 0;) {
        r.text.append(block, n);
    }
    const int status = pclose(pipe);
    r.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return r;
}

std::string with_model(const std::string &more) {
    return "--model '" + model_directory() + "' " + more;
}

}  // namespace

TEST_CASE("standard input that cannot be read is no empty one") {
    const ScratchFolder folder;
    const std::string file = folder.write("written", "");
    for (const auto &[redirection, reason] : {std::pair("<" + folder.path(), "standard input: is a directory"),
                                              std::pair(std::string("<&-"), "standard input: cannot be read: Bad file descriptor"),
                                              std::pair("0>" + file, "standard input: cannot be read: Bad file descriptor")}) {
        CAPTURE(redirection);
        const Run r = run(with_model(redirection));
        CHECK(r.exit_code == 1);
        CHECK_THAT(r.text, Contains(reason));
    }
    CHECK(run(with_model("--serve-bench 0>" + file)).exit_code == 1);
    const Run empty = run(with_model("</dev/null"));
    CHECK((empty.exit_code == 0 && empty.text.empty()));
    CHECK(run(with_model("--similarity <<'END'\none\nother\nEND")).exit_code == 0);
}

TEST_CASE("a name that is empty is an error") {
    for (const std::string wrong : {"--check ''", "--serve-bench --sentences ''", "''"}) {
        CAPTURE(wrong);
        const Run r = run(with_model(wrong + " </dev/null"));
        CHECK(r.exit_code == 2);
        CHECK_THAT(r.text, Contains("the name is empty"));
    }
}

TEST_CASE("heads of a size that the kernels do not have are an error before weights are read") {
    const ScratchFolder folder;
    folder.write("config.json", R"({"model_type":"bert","hidden_act":"gelu","hidden_size":384,"intermediate_size":1536,
        "num_hidden_layers":6,"num_attention_heads":6,"vocab_size":5,"max_position_embeddings":512,"type_vocab_size":2,
        "layer_norm_eps":1e-12})");
    folder.write("sentence_bert_config.json", R"({"max_seq_length":256})");
    folder.write("1_Pooling/config.json", R"({"pooling_mode_cls_token":false,"pooling_mode_mean_tokens":true,
        "pooling_mode_max_tokens":false,"pooling_mode_mean_sqrt_len_tokens":false})");
    folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n");
    folder.write("model.safetensors", "no weights");
    for (const std::string type : {"f32", "bf16"}) {
        const Run r = run("--model " + folder.path() + " --type " + type + " </dev/null");
        CHECK(r.exit_code == 1);
        CHECK_THAT(r.text, StartsWith("minilm: " + folder.path() +
                                      "/config.json: hidden_size 384 / num_attention_heads 6 is 64, but the kernels of this program are "
                                      "compiled for heads of 32"));
    }
}

TEST_CASE("standard output that cannot be written is one error of its name") {
    for (const std::string &arguments :
         {std::string("--help"), with_model("<<'END'\none\nEND"), with_model("--format json <<'END'\none\nEND"),
          with_model("--serve-bench <<'END'\nrun 1x4 0\nEND")}) {
        CAPTURE(arguments);
        const std::string full = arguments.find("<<") == std::string::npos
                                     ? arguments + " >/dev/full"
                                     : std::string(arguments).insert(arguments.find("<<"), ">/dev/full ");
        const Run r = run(full);
        CHECK(r.exit_code == 1);
        CHECK(r.text == "minilm: standard output: cannot be written: No space left on device\n");
    }
}

TEST_CASE("what a caller says reaches a terminal as text") {
    const Run model = run("--model $(printf 'no\\033[31m\\342\\200\\256x')"), format = run("--format $(printf 'x\\033[2J')");
    CHECK((model.exit_code == 1 && format.exit_code == 2));
    CHECK_THAT(model.text, Contains("no\\u001b[31m\\u202ex"));
    CHECK_THAT(format.text, Contains("x\\u001b[2J"));
}
