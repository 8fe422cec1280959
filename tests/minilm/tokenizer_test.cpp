#include "tokenizer.h"

#include <catch2/catch.hpp>

#include "support.h"
#include "unicode.h"
#include "common/utf8.h"

namespace {

using namespace minilm;

using Ids = std::vector<int32_t>;

struct Golden {
    std::string text;
    Ids ids;
};

Tokenizer make_tokenizer(int max_tokens) {
    return Tokenizer(model_directory() + "/vocab.txt", max_tokens);
}

Ids encode(Tokenizer *tokenizer, const std::string &text, bool *cut = nullptr) {
    Ids ids;
    const bool was_cut = tokenizer->encode(text, &ids);
    if (cut) {
        *cut = was_cut;
    }
    return ids;
}

}  // namespace

TEST_CASE("ids are those of Hugging Face tokenizers") {
    const std::vector<Golden> cases = {
#include "golden_tokens.inc"
    };
    Tokenizer tokenizer = make_tokenizer(256);
    for (const Golden &golden : cases) {
        CAPTURE(golden.text);
        bool cut = true;
        CHECK(encode(&tokenizer, golden.text, &cut) == golden.ids);
        CHECK_FALSE(cut);
    }
}

// Ids would not show it: marks that survive the stripping end up in [UNK].
TEST_CASE("words are normalised: marks in canonical order, accents gone, lower case") {
    const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
        {"a\u302e\u1b44", {"a\u1b44\u302e"}},
        {"a\U0001d16d\u302e\u1b44\U0001d165b", {"a\u1b44\U0001d165\u302e\U0001d16db"}},
        {"a\u302e\u0301 \u1b44", {"a\u302e", "\u1b44"}},
        {"\u00c5ngstr\u00f6m\u2019S", {"angstrom", "\u2019", "s"}},
        {"x\uac00y", {"x\u1100\u1161y"}},
        {"x\u4e00\uf900y", {"x", "\u4e00", "\u8c48", "y"}},
        {"\u0130\u01c5\u212a", {"i\u01c6k"}},
        {"A\u1ac1\u302e", {"a\u1ac1\u302e"}},
    };
    for (const auto &[text, expected] : cases) {
        WordReader reader;
        reader.start(text);
        Word word;
        std::vector<std::string> words;
        while (reader.next(&word)) {
            words.push_back(word.text);
        }
        CAPTURE(text);
        CHECK(words == expected);
    }
}

TEST_CASE("a text is cut so that [SEP] is the last of max_tokens") {
    Tokenizer unlimited = make_tokenizer(512);
    // Pieces of one word and special tokens stand on both sides of the cut.
    const std::string text = "unaffable [MASK] words [SEP][SEP] supercalifragilistic!";
    const Ids whole = encode(&unlimited, text);
    for (int limit = 2; limit < int(whole.size()) + 3; limit++) {
        Tokenizer tokenizer = make_tokenizer(limit);
        bool cut = false;
        const Ids ids = encode(&tokenizer, text, &cut);
        Ids expected = whole;
        if (limit < int(whole.size())) {
            expected.resize(size_t(limit) - 1);
            expected.push_back(102);
        }
        CAPTURE(limit);
        CHECK(ids == expected);
        CHECK(cut == (limit < int(whole.size())));
    }
}

TEST_CASE("encode appends, and its limit counts from where it began") {
    Tokenizer tokenizer = make_tokenizer(5);
    Ids ids = {7, 8, 9};
    CHECK_FALSE(tokenizer.encode("a b c", &ids));
    CHECK(ids == Ids{7, 8, 9, 101, 1037, 1038, 1039, 102});
    CHECK(tokenizer.encode("a b c d", &ids));
    CHECK(ids.size() == 13);
}

TEST_CASE("a text of megabytes is cut without being read to its end") {
    Tokenizer tokenizer = make_tokenizer(256);
    bool cut = false;
    std::string text;
    for (int i = 0; i < 1 << 20; i++) {
        text += "word ";
    }
    CHECK(encode(&tokenizer, text, &cut).size() == 256);
    CHECK(cut);
    CHECK(encode(&tokenizer, std::string(1 << 22, 'x'), &cut) == Ids{101, 100, 102});
    CHECK_FALSE(cut);
}

TEST_CASE("of a word that no piece covers just the beginning is kept") {
    const std::string text = std::string(1 << 20, 'x') + " y";
    WordReader reader;
    reader.start(text);
    Word word;
    REQUIRE(reader.next(&word));
    CHECK(word.text == std::string(101, 'x'));
    CHECK(word.length == 101);
    REQUIRE(reader.next(&word));
    CHECK(word.text == "y");
    CHECK_FALSE(reader.next(&word));
}

TEST_CASE("a vocabulary without the special tokens is refused") {
    const ScratchFolder folder;
    const std::string path = folder.write("vocab.txt", "[UNK]\n[SEP]\na\n");
    CHECK_THROWS_WITH(Tokenizer(path, 8), Catch::Contains(path + ": no line '[CLS]'"));
    CHECK_THROWS_WITH(Tokenizer(folder.path() + "/none", 8), Catch::Contains("No such file"));
}

TEST_CASE("UTF-8 of every code point reads back") {
    for (char32_t c = 0; c < 0x110000; c++) {
        if (c >= 0xD800 && c < 0xE000) {
            continue;
        }
        std::string text;
        halyard_apps::append_utf8(c, &text);
        size_t position = 0;
        if (halyard_apps::decode_utf8(text, &position) != c || position != text.size()) {
            FAIL("code point " << uint32_t(c));
        }
    }
}

TEST_CASE("Unicode classes where utf8proc and tokenizers disagree follow tokenizers") {
    CHECK_FALSE(is_dropped(0x08E2));
    CHECK(is_dropped(0x06DD));
    CHECK_FALSE(is_accent(0x1AC1));
    CHECK(is_accent(0x1734));
    CHECK_FALSE(is_punctuation(0x2E43));
    CHECK(is_punctuation(0x166D));
    CHECK(to_lower(0x1C89) == 0x1C8A);
    CHECK(combining_class(0x1AC1) == 0);
    CHECK(combining_class(0x0301) == 230);
}
