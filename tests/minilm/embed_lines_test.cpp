#include "embed_lines.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <memory>

#include "bench.h"
#include "encoder.h"
#include "reference_ops.h"
#include "support.h"

namespace {

using namespace minilm;

struct Collected : Sink {
    void add(const std::string &sentence, const float *embedding) override {
        sentences.push_back(sentence);
        embeddings.emplace_back(embedding, embedding + 384);
    }
    std::vector<std::string> sentences;
    std::vector<std::vector<float>> embeddings;
};

/** The real model, read once for all tests of this file. */
const Model &real_model() {
    static const Model model(model_directory(), read_config(model_directory()));
    return model;
}

LineCounts embed(const std::string &text, int batch_size, Collected *collected) {
    const ScratchFolder folder;
    LineReader lines(folder.write("lines.txt", text));
    Tokenizer tokenizer(model_directory() + "/vocab.txt", real_model().config().max_tokens);
    Encoder encoder(real_model(), reference_kernels());
    return embed_lines(&lines, &tokenizer, &encoder, 384, batch_size, false, collected);
}

double cosine(const std::vector<float> &a, const std::vector<float> &b) {
    double dot = 0;
    for (size_t i = 0; i < a.size(); i++) {
        dot += double(a[i]) * double(b[i]);
    }
    return dot;
}

}  // namespace

TEST_CASE("lines become unit vectors in order, whatever the batch") {
    const std::string text = "The cat sits outside.\r\n\nA feline rests outdoors.\n  \nbad \xFF utf8";
    Collected one, two, all;
    CHECK(embed(text, 1, &one).lines == 5);
    CHECK(embed(text, 2, &two).lines == 5);
    const LineCounts counts = embed(text, 32, &all);
    CHECK((counts.lines == 5 && counts.cut == 0));
    CHECK(all.sentences[0] == "The cat sits outside.");
    CHECK(all.sentences[4] == "bad \xFF utf8");
    for (size_t i = 0; i < all.embeddings.size(); i++) {
        CAPTURE(i);
        CHECK(cosine(all.embeddings[i], all.embeddings[i]) == Approx(1.0).margin(1e-6));
        CHECK(one.embeddings[i] == all.embeddings[i]);
        CHECK(two.embeddings[i] == all.embeddings[i]);
    }
    // Nothing and white space are both just [CLS] [SEP].
    CHECK(all.embeddings[1] == all.embeddings[3]);
    // The value is torch 2.9.1's on the same weights.
    CHECK(cosine(all.embeddings[0], all.embeddings[2]) == Approx(0.596117).margin(1e-5));
    CHECK(cosine(all.embeddings[0], all.embeddings[1]) < 0.1);
}

TEST_CASE("a line over 256 tokens is cut, counted, and equal to its beginning") {
    std::string fits, over;
    for (int i = 0; i < 300; i++) {
        (i < 254 ? fits : over) += "word ";
    }
    Collected collected;
    const LineCounts counts = embed(fits + "\n" + fits + over + "\n", 32, &collected);
    CHECK((counts.lines == 2 && counts.cut == 1 && counts.cut_bytes == 0));
    CHECK(collected.embeddings[0] == collected.embeddings[1]);
    CHECK(embed(std::string(LineReader::max_bytes + 1, 'x'), 32, &collected).cut_bytes == 1);
}

TEST_CASE("lines end as they do in text files, and one over a megabyte is cut") {
    const ScratchFolder folder;
    const std::string most(LineReader::max_bytes, 'x'), part(4095, 'p'), zero("a\0b", 3);
    LineReader lines(folder.write("lines.txt", "a\r\n\n" + part + "\n" + zero + "\n" + most + "\n" + most + most + "y\nlast"));
    std::string line;
    const std::vector<std::pair<std::string, bool>> expected = {{"a", false},  {"", false},  {part, false},  {zero, false},
                                                                {most, false}, {most, true}, {"last", false}};
    for (const auto &[text, cut] : expected) {
        REQUIRE(lines.next(&line));
        CHECK((line == text));
        CHECK(lines.was_cut() == cut);
    }
    CHECK_FALSE(lines.next(&line));
}

TEST_CASE("no lines are no embeddings") {
    Collected collected;
    CHECK(embed("", 32, &collected).lines == 0);
    CHECK(collected.embeddings.empty());
}

TEST_CASE("bench cases have the ids that every contestant uses") {
    Tokenizer tokenizer(model_directory() + "/vocab.txt", 256);
    const Config config = read_config(model_directory());
    const TokenBatch batch = make_bench_batch("2x4", "", config, &tokenizer);
    CHECK(batch.ends == std::vector<int>{4, 8});
    CHECK(batch.ids == std::vector<int32_t>{101, 8919, 16838, 102, 101, 1000 + 5 * 7919 % 20000, 1000 + 6 * 7919 % 20000, 102});
    for (const char *wrong : {"", "2", "x4", "0x4", "2x1", "2x513", "2x4x", "-1x4", "1e3x4", "99999999999x4", "xnatural"}) {
        CAPTURE(wrong);
        CHECK_THROWS_WITH(make_bench_batch(wrong, "", config, &tokenizer), Catch::Contains("no case"));
    }
    CHECK_THROWS_WITH(make_bench_batch("2xnatural", "", config, &tokenizer), Catch::Contains("--sentences"));
}
