#include <fmt/format.h>

#include <cstdio>
#include <iterator>

#include "json_text.h"
#include "sink.h"

namespace minilm {

namespace {

/** Shortest decimals that read back as the same f32, separated. */
void append_numbers(const float *values, int count, const char *separator, fmt::memory_buffer *line) {
    for (int i = 0; i < count; i++) {
        fmt::format_to(std::back_inserter(*line), "{}{}", i == 0 ? "" : separator, values[i]);
    }
}

void write(const fmt::memory_buffer &line) {
    std::fwrite(line.data(), 1, line.size(), stdout);
}

class TextSink : public Sink {
public:
    explicit TextSink(int width) : width_(width) {}

    void add(const std::string &, const float *embedding) override {
        line_.clear();
        append_numbers(embedding, width_, " ", &line_);
        line_.push_back('\n');
        write(line_);
    }

private:
    int width_;
    fmt::memory_buffer line_;
};

/** One array with a record a line, so that line tools can read it too. */
class JsonSink : public Sink {
public:
    explicit JsonSink(int width) : width_(width) {}

    void add(const std::string &sentence, const float *embedding) override {
        line_.clear();
        fmt::format_to(std::back_inserter(line_), "{}{{\"text\":{},\"embedding\":[", first_ ? "[\n" : ",\n", json_text(sentence));
        first_ = false;
        append_numbers(embedding, width_, ",", &line_);
        fmt::format_to(std::back_inserter(line_), "]}}");
        write(line_);
    }

    bool finish() override {
        std::fputs(first_ ? "[]\n" : "\n]\n", stdout);
        return true;
    }

private:
    int width_;
    bool first_ = true;
    fmt::memory_buffer line_;
};

class F32Sink : public Sink {
public:
    explicit F32Sink(int width) : width_(width) {}

    void add(const std::string &, const float *embedding) override {
        std::fwrite(embedding, sizeof(float), size_t(width_), stdout);
    }

private:
    int width_;
};

}  // namespace

std::unique_ptr<Sink> make_embedding_sink(Format format, int width) {
    switch (format) {
    case Format::Text: return std::make_unique<TextSink>(width);
    case Format::Json: return std::make_unique<JsonSink>(width);
    case Format::F32: return std::make_unique<F32Sink>(width);
    }
    return nullptr;
}

}  // namespace minilm
