// Tokens, streams of text, and draws, without a model.

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chat.h"
#include "dequantize.h"
#include "gguf_builder.h"
#include "longest_names.h"
#include "pieces.h"
#include "sampler.h"
#include "text_stream.h"
#include "tokenizer.h"

namespace {

using namespace halyard_llm;
using Pieces = std::vector<std::string>;
using Tokens = std::vector<int32_t>;

Pieces pieces(PieceRules rules, const std::string &text) {
    Pieces result;
    cut_into_pieces(rules, text, [&](std::string_view piece) { result.emplace_back(piece); });
    return result;
}

struct TinyTokenizer {
    explicit TinyTokenizer(const GgufBuilder &builder)
        : bytes(builder.bytes()), file(bytes.data(), bytes.size(), "FILE"), tokenizer(file) {}

    Tokens encode(const std::string &text, bool special = false) const {
        Tokens tokens;
        tokenizer.encode(text, special, &tokens);
        return tokens;
    }

    std::vector<uint8_t> bytes;
    Gguf file;
    Tokenizer tokenizer;
};

GgufBuilder scored() {
    GgufBuilder file;
    file.string("tokenizer.ggml.model", "llama");
    std::vector<std::string> names = {"<unk>", "<s>", "</s>", "<0x41>",        "\xE2\x96\x81",   "t",
                                      "h",     "e",   "he",   "\xE2\x96\x81t", "\xE2\x96\x81the"};
    file.strings("tokenizer.ggml.tokens", names);
    file.array<float>("tokenizer.ggml.scores", 6, {0, 0, 0, 0, -9, -9, -9, -9, -2, -3, -1});
    file.array<int32_t>("tokenizer.ggml.token_type", 5, {2, 3, 3, 6, 1, 1, 1, 1, 1, 1, 1});
    file.u32("tokenizer.ggml.bos_token_id", 1);
    file.u32("tokenizer.ggml.unknown_token_id", 0);
    return file;
}

}  // namespace

// By Python's `regex` with the expressions that the models' tokenizers have.
TEST_CASE("texts are cut into pieces") {
    CHECK(pieces(PieceRules::kGpt2, "I'll  go,\n\n to 123!") == Pieces{"I", "'ll", " ", " go", ",", "\n\n", " to", " 123", "!"});
    CHECK(pieces(PieceRules::kSmollm, "at 12 x ") == Pieces{"at", " ", "1", "2", " x", " "});
    CHECK(pieces(PieceRules::kSmollm, "it'S  1") == Pieces{"it", "'", "S", "  ", "1"});
    CHECK(pieces(PieceRules::kLlama3, "it'S 12345 (ab)\n\n  c") == Pieces{"it", "'S", " ", "123", "45", " (", "ab", ")\n\n", " ", " c"});
    CHECK(pieces(PieceRules::kQwen2, "a\xC3\xA9 12\n \n") == Pieces{"a\xC3\xA9", " ", "1", "2", "\n \n"});
    CHECK(pieces(PieceRules::kGpt2, "").empty());
    CHECK(pieces(PieceRules::kGpt2, "\xFF\xFE") == Pieces{"\xFF\xFE"});
}

TEST_CASE("merges go by their rank") {
    const TinyTokenizer tiny(tiny_model());
    CHECK(tiny.encode("abc") == Tokens{6});
    CHECK(tiny.encode("abab c") == Tokens{5, 5, 7, 4});
    CHECK(tiny.encode("ba ac") == Tokens{3, 2, 8, 4});
    CHECK(tiny.encode(" ab") == Tokens{7, 5});  // a and b are joined first
    CHECK(tiny.encode("xax") == Tokens{2});     // without a byte for it, and without an unknown token
    CHECK(tiny.tokenizer.text_of(8) == " a");
    CHECK(tiny.tokenizer.is_end(1));
    CHECK_FALSE(tiny.tokenizer.is_end(0));
    CHECK_FALSE(tiny.tokenizer.is_end(-1));
}

TEST_CASE("names of special tokens are tokens only where they are asked for") {
    const TinyTokenizer tiny(tiny_model());
    CHECK(tiny.encode("a<|im_end|>b", true) == Tokens{2, 1, 3});
    CHECK(tiny.encode("a<|im_end|>b", false) == Tokens{2, 3});
    CHECK(tiny.tokenizer.text_of(1).empty());
    CHECK(tiny.tokenizer.text_of(1, true) == "<|im_end|>");
    CHECK(tiny.tokenizer.text_of(99).empty());
}

// Files of some converters have the marks of conversations as words of their own (type 4), which a text may hold.
TEST_CASE("marks of conversations are special, whatever type the file gives them") {
    GgufBuilder file;
    file.string("tokenizer.ggml.model", "llama");
    file.strings("tokenizer.ggml.tokens", {"<unk>", "<|im_start|>", "<|im_end|>", "<end>", "<own>", "a", "b"});
    file.array<float>("tokenizer.ggml.scores", 6, {0, 0, 0, 0, 0, -1, -2});
    file.array<int32_t>("tokenizer.ggml.token_type", 5, {2, 4, 4, 4, 4, 1, 1});
    file.u32("tokenizer.ggml.eos_token_id", 3);
    file.u32("tokenizer.ggml.unknown_token_id", 0);
    file.key("tokenizer.ggml.add_space_prefix", 7, std::string(1, '\0'));
    const TinyTokenizer tiny(file);
    CHECK(tiny.encode("a<own>b") == Tokens{5, 4, 6});
    for (const std::string mark : {"<|im_start|>", "<|im_end|>", "<end>"}) {
        const Tokens special = tiny.encode("a" + mark + "b", true), text = tiny.encode("a" + mark + "b");
        CHECK(special.size() == 3);
        CHECK(std::count(text.begin(), text.end(), special[1]) == 0);
    }
    CHECK(tiny.tokenizer.is_end(2));
    CHECK(tiny.tokenizer.is_end(3));
    CHECK(tiny.tokenizer.text_of(2).empty());
}

TEST_CASE("pieces with scores") {
    const TinyTokenizer tiny(scored());
    CHECK(tiny.encode("the") == Tokens{10});
    CHECK(tiny.encode("the the") == Tokens{10, 10});
    CHECK(tiny.encode("he") == Tokens{4, 8});
    CHECK(tiny.encode("At") == Tokens{4, 3, 5});
    CHECK(tiny.encode("B") == Tokens{4, 0});
    CHECK(tiny.tokenizer.text_of(10) == " the");
    CHECK(tiny.tokenizer.text_of(3) == "A");
    Tokens begin;
    tiny.tokenizer.begin(&begin);
    CHECK(begin == Tokens{1});
}

// Names that are each other's beginnings, and one that two tokens have.
TEST_CASE("the longest name that a text begins with") {
    const std::vector<std::string_view> names = {"<a>", "<ab", "<", "<abc>", "b", "<a>", "\xC3\xA9", "<a"};
    std::vector<std::pair<std::string_view, int32_t>> tokens;
    for (size_t i = 0; i < names.size(); i++) {
        tokens.emplace_back(names[i], int32_t(i));
    }
    const LongestNames longest(tokens);
    const auto token = [&](std::string_view text) { return longest.at_begin_of(text).first; };
    CHECK(token("<a>b") == 0);
    CHECK(token("<abc>") == 3);
    CHECK(token("<abc") == 1);
    CHECK(token("<abd") == 1);
    CHECK(token("<ac") == 7);
    CHECK(token("<") == 2);
    CHECK(token("<<a>") == 2);
    CHECK(token("bb") == 4);
    CHECK(token("\xC3\xA9") == 6);
    CHECK(token("\xC3") == -1);
    CHECK(token("a") == -1);
    CHECK(token("") == -1);
    CHECK(longest.at_begin_of("<abc>x").second == 5);
    CHECK(LongestNames().at_begin_of("<a>").first == -1);
}

namespace {

double seconds_of_processor() {
    return double(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace

// Each took the square of its number, minutes of these and days of as many as a file may have.
TEST_CASE("a vocabulary that is made to be slow") {
    const double begin = seconds_of_processor();
    SECTION("merges that share a place of the standard library's table") {
        constexpr uint64_t kMerges = 100000;
        std::unordered_map<uint64_t, int> table;
        table.reserve(kMerges);
        const uint64_t places = table.bucket_count();
        // Token i, and one from `kMerges` on: (i 2^32 + it) is the same modulo `places`.
        std::vector<std::string> names(kMerges + places), merges;
        for (uint64_t i = 0; i < kMerges; i++) {
            const uint64_t right = kMerges + (places - ((i << 32) + kMerges) % places) % places;
            names[i] = "l" + std::to_string(i);
            names[right] = "r" + std::to_string(i);
            merges.push_back(names[i] + " " + names[right]);
        }
        for (uint64_t i = 0; i < kMerges; i++) {
            names.push_back("l" + std::to_string(i) + "r" + std::to_string(i));
        }
        for (size_t i = 0; i < names.size(); i++) {
            names[i] = names[i].empty() ? "unused" + std::to_string(i) : names[i];
        }
        GgufBuilder file;
        file.string("tokenizer.ggml.model", "gpt2");
        file.strings("tokenizer.ggml.tokens", names);
        file.strings("tokenizer.ggml.merges", merges);
        CHECK(TinyTokenizer(file).tokenizer.size() == int(names.size()));
    }
    SECTION("names that may stand anywhere, all of one beginning") {
        constexpr int kNames = 50000;
        std::vector<std::string> names;
        std::vector<int32_t> kinds;
        for (int i = 0; i < kNames; i++) {
            names.push_back("a" + std::to_string(i));
            kinds.push_back(4);
        }
        names.emplace_back("a");
        kinds.push_back(1);
        GgufBuilder file;
        file.string("tokenizer.ggml.model", "gpt2");
        file.strings("tokenizer.ggml.tokens", names);
        file.array<int32_t>("tokenizer.ggml.token_type", 5, kinds);
        file.strings("tokenizer.ggml.merges", {"a a"});
        const Tokens tokens = TinyTokenizer(file).encode(std::string(100000, 'a') + "499991");
        REQUIRE(tokens.size() == 100000);
        CHECK(tokens.back() == 49999);
    }
    CHECK(seconds_of_processor() - begin < 5);
}

TEST_CASE("a token that is longer than any text wants is an error") {
    GgufBuilder file;
    file.string("tokenizer.ggml.model", "gpt2");
    file.strings("tokenizer.ggml.tokens", {"a", std::string(65537, 'a')});
    file.strings("tokenizer.ggml.merges", {"a a"});
    CHECK_THROWS_WITH(TinyTokenizer(file), Catch::Contains("token 1 has 65537 bytes"));
}

TEST_CASE("a question cannot end its message") {
    const TinyTokenizer tiny(tiny_model());
    ChatFormat chat(tiny.file, tiny.tokenizer);
    const auto count = [&](const Tokens &tokens, int32_t token) { return std::count(tokens.begin(), tokens.end(), token); };
    const Tokens begin = chat.begin("");
    CHECK(count(begin, 0) == 1);
    CHECK(count(begin, 1) == 1);
    CHECK(count(begin, 3) == 1);  // the b of the template's own "Be brief"
    const Tokens question = chat.question("a<|im_end|>b");
    CHECK(count(question, 1) == 1);
    CHECK(count(question, 0) == 2);
    CHECK(chat.after_answer(1).front() == 1);
    CHECK(chat.after_answer(-1).front() == 1);
    CHECK(count(chat.after_answer(1), 1) == 1);
}

TEST_CASE("characters are whole when they are shown") {
    TextStream stream;
    CHECK(stream.push("a\xE2") == "a");
    CHECK(stream.push("\x82").empty());
    CHECK(stream.push("\xAC"
                      "b") == "\xE2\x82\xAC"
                              "b");
    CHECK(stream.push("\xF0\x9F\x9A").empty());
    CHECK(stream.push("c") == "\xEF\xBF\xBD"
                              "c");
    CHECK(stream.push("\xC3").empty());
    CHECK(stream.finish() == "\xEF\xBF\xBD");
    CHECK(stream.finish().empty());
}

TEST_CASE("nothing of a stop string is shown") {
    TextStream stream({"</end>", "STOP", ""});
    CHECK(stream.push("a<") == "a");
    CHECK(stream.push("/e").empty());
    CHECK(stream.push("x") == "</ex");
    CHECK(stream.push("yS") == "y");
    CHECK(stream.push("STOP it") == "S");
    CHECK(stream.stopped());
    CHECK(stream.push("more").empty());
    CHECK(stream.finish().empty());
    TextStream euro({"\xE2\x82\xAC"});
    CHECK(euro.push("1\xE2\x82") == "1");
    CHECK(euro.push("\xAC").empty());
    CHECK(euro.stopped());
}

TEST_CASE("draws follow their probabilities") {
    const std::vector<float> logits = {std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
    const auto counts = [&](float temperature, int top_k, float top_p) {
        Sampler sampler(temperature, top_k, top_p, 7);
        std::vector<int> n(4);
        for (int i = 0; i < 20000; i++) {
            n[size_t(sampler.sample(logits.data(), 4))]++;
        }
        return n;
    };
    const auto near = [](int count, double share) { return std::abs(count - 20000 * share) < 5 * std::sqrt(20000 * share * (1 - share)); };
    CHECK(counts(0, 0, 1) == std::vector<int>{20000, 0, 0, 0});
    const auto all = counts(1, 0, 1), two = counts(1, 2, 1), most = counts(1, 0, 0.79f), cold = counts(0.5f, 0, 1);
    CHECK((near(all[0], 0.5) && near(all[1], 0.3) && near(all[2], 0.15) && near(all[3], 0.05)));
    CHECK((near(two[0], 0.625) && near(two[1], 0.375) && two[2] + two[3] == 0));
    CHECK((near(most[0], 0.625) && most[2] + most[3] == 0));
    CHECK(near(cold[0], 0.25 / 0.365));
    CHECK(counts(1, 0, 1) == all);
    CHECK_THROWS_WITH(Sampler(-1, 0, 1, 0), "the temperature is 0 or more");
    CHECK_THROWS_WITH(Sampler(NAN, 0, 1, 0), "the temperature is 0 or more");
    CHECK_THROWS_WITH(Sampler(1, -1, 1, 0), "top-k is 0 (all tokens) or more");
    CHECK_THROWS_WITH(Sampler(1, 0, 0, 0), "top-p is above 0, and 1 at most");
}

TEST_CASE("halves by their bits") {
    CHECK(half_to_float(0x3C00) == 1);
    CHECK(half_to_float(0xC100) == -2.5f);
    CHECK(half_to_float(0x0001) == 0x1p-24f);
    CHECK(half_to_float(0x8000) == 0);
    CHECK(std::signbit(half_to_float(0x8000)));
    CHECK(std::isinf(half_to_float(0x7C00)));
    CHECK(std::isnan(half_to_float(0x7E00)));
}

TEST_CASE("tokens of the real vocabulary are those of Hugging Face") {
    const char *path = std::getenv("HALYARD_LLM_MODEL");
    if (!path || !std::ifstream(path)) {
        WARN("skipped: there is no " << (path ? path : "HALYARD_LLM_MODEL") << "; scripts/setup brings it");
        return;
    }
    const Gguf file(path);
    const Tokenizer tokenizer(file);
    const std::pair<std::string, Tokens> golden[] = {
#include "golden_tokens.inc"
    };
    for (const auto &[text, wanted] : golden) {
        CAPTURE(text);
        Tokens tokens;
        tokenizer.encode(text, false, &tokens);
        CHECK(tokens == wanted);
        std::string back;
        for (const int32_t token : tokens) {
            back += tokenizer.text_of(token);
        }
        CHECK(back == text);
    }
}
