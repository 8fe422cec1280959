#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "common/mapped_file.h"
#include "sink.h"

namespace minilm {

namespace {

// What f32 arithmetic in another order leaves of 1 is over 0.999999; a wrong
// weight, token or missing epilogue falls far below this.
// Rounding what is stored to bf16 leaves over 0.9999 (8 bits of a number, tens of roundings on the way).
double required_cosine(Precision precision) {
    return precision == Precision::F32 ? 0.99999 : 0.9999;
}

constexpr double not_close = 1e30;

/** A NaN must fail the check, and JSON cannot say it. */
double number_or(double value, double otherwise) {
    return std::isfinite(value) ? value : otherwise;
}

class CheckSink : public Sink {
public:
    CheckSink(const std::string &path, int width, Format format, Precision precision)
        : path_(path), file_(path), width_(size_t(width)), format_(format), required_(required_cosine(precision)), expected_(width_) {
        if (file_.size() == 0 || file_.size() % (width_ * sizeof(float)) != 0) {
            throw std::runtime_error(fmt::format("{}: {} bytes are not a whole number of embeddings of {} f32", path, file_.size(), width));
        }
        stored_ = file_.size() / (width_ * sizeof(float));
    }

    void add(const std::string &, const float *embedding) override {
        const size_t index = count_++;
        if (index >= stored_) {
            return;  // finish() reports the two counts.
        }
        std::memcpy(expected_.data(), file_.data() + index * width_ * sizeof(float), width_ * sizeof(float));
        double dot = 0, a = 0, b = 0;
        for (size_t i = 0; i < width_; i++) {
            const double x = double(embedding[i]), y = double(expected_[i]);
            dot += x * y;
            a += x * x;
            b += y * y;
            max_difference_ = std::max(max_difference_, number_or(std::abs(x - y), not_close));
        }
        const double cosine = number_or(dot / std::sqrt(a * b), -1);
        if (cosine < min_cosine_) {
            min_cosine_ = cosine;
            worst_ = index;
        }
    }

    bool finish() override {
        if (count_ != stored_) {
            throw std::runtime_error(fmt::format("{} holds {} embeddings, but the input has {} lines", path_, stored_, count_));
        }
        const bool good = min_cosine_ > required_;
        if (format_ == Format::Json) {
            fmt::print("{{\"sentences\":{},\"min_cosine\":{:.9f},\"worst_line\":{},"
                       "\"max_abs_difference\":{:.3e},\"passed\":{}}}\n",
                       count_, min_cosine_, worst_ + 1, max_difference_, good);
        } else {
            fmt::print("{} sentences, min cosine {:.9f} (line {}), max abs difference {:.3e}: {}\n", count_, min_cosine_, worst_ + 1,
                       max_difference_, good ? "passed" : "FAILED");
        }
        return good;
    }

private:
    std::string path_;
    halyard_apps::MappedFile file_;
    size_t width_;
    Format format_;
    double required_;
    std::vector<float> expected_;
    size_t stored_ = 0, count_ = 0, worst_ = 0;
    double min_cosine_ = 2, max_difference_ = 0;
};

}  // namespace

std::unique_ptr<Sink> make_check_sink(const std::string &path, int width, Format format, Precision precision) {
    return std::make_unique<CheckSink>(path, width, format, precision);
}

}  // namespace minilm
