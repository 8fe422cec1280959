#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "json_text.h"
#include "sink.h"
#include "common/utf8.h"

namespace minilm {

namespace {

// Wider tables do not fit a terminal; more rows go to a program anyway.
constexpr size_t max_readable = 16;
constexpr size_t label_length = 48;

/** A sentence for people: one line, no control characters, not too long. */
std::string label_of(const std::string &sentence) {
    std::string label;
    size_t position = 0, length = 0;
    while (position < sentence.size()) {
        const char32_t c = halyard_apps::decode_utf8(sentence, &position);
        if (++length > label_length) {
            return label + "...";
        }
        halyard_apps::append_utf8(halyard_apps::controls_terminal(c) ? U' ' : c, &label);
    }
    return label;
}

class SimilaritySink : public Sink {
public:
    SimilaritySink(Format format, int width) : format_(format), width_(size_t(width)) {}

    void add(const std::string &sentence, const float *embedding) override {
        sentences_.push_back(sentence);
        values_.insert(values_.end(), embedding, embedding + width_);
    }

    bool finish() override {
        switch (format_) {
        case Format::Json: write_json(); break;
        case Format::F32:
            for_rows([](size_t, const std::vector<float> &row) { std::fwrite(row.data(), sizeof(float), row.size(), stdout); });
            break;
        case Format::Text: sentences_.size() <= max_readable ? write_table() : write_tsv(); break;
        }
        return true;
    }

private:
    template<typename Visit>
    void for_rows(Visit visit) const {
        const size_t count = sentences_.size();
        std::vector<float> row(count);
        for (size_t i = 0; i < count; i++) {
            for (size_t j = 0; j < count; j++) {
                const float *a = &values_[i * width_], *b = &values_[j * width_];
                double dot = 0;
                for (size_t c = 0; c < width_; c++) {
                    dot += double(a[c]) * double(b[c]);
                }
                row[j] = float(dot);
            }
            visit(i, row);
        }
    }

    void write_table() const {
        for (size_t i = 0; i < sentences_.size(); i++) {
            fmt::print("{:>3}  {}\n", i + 1, label_of(sentences_[i]));
        }
        fmt::print("\n   ");
        for (size_t i = 0; i < sentences_.size(); i++) {
            fmt::print(" {:>6}", i + 1);
        }
        fmt::print("\n");
        for_rows([](size_t i, const std::vector<float> &row) {
            fmt::print("{:>3}", i + 1);
            for (float value : row) {
                fmt::print(" {:>6.3f}", value);
            }
            fmt::print("\n");
        });
    }

    void write_tsv() const {
        for_rows([](size_t, const std::vector<float> &row) {
            for (size_t j = 0; j < row.size(); j++) {
                fmt::print("{}{:.6f}", j == 0 ? "" : "\t", row[j]);
            }
            fmt::print("\n");
        });
    }

    void write_json() const {
        fmt::print("{{\"sentences\":[");
        for (size_t i = 0; i < sentences_.size(); i++) {
            fmt::print("{}{}", i == 0 ? "" : ",", json_text(sentences_[i]));
        }
        fmt::print("],\n\"similarity\":[");
        for_rows([](size_t i, const std::vector<float> &row) {
            fmt::print("{}\n[", i == 0 ? "" : ",");
            for (size_t j = 0; j < row.size(); j++) {
                fmt::print("{}{}", j == 0 ? "" : ",", row[j]);
            }
            fmt::print("]");
        });
        fmt::print("]}}\n");
    }

    Format format_;
    size_t width_;
    std::vector<std::string> sentences_;
    std::vector<float> values_;
};

}  // namespace

std::unique_ptr<Sink> make_similarity_sink(Format format, int width) {
    return std::make_unique<SimilaritySink>(format, width);
}

}  // namespace minilm
