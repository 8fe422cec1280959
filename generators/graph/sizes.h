#ifndef HALYARD_GRAPH_SIZES_H
#define HALYARD_GRAPH_SIZES_H

/** \file
 * Sizes of a graph's arrays: arithmetic over the free dimensions, as text.
 */

#include <cctype>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <Halide.h>
#include <nlohmann/json.hpp>

namespace halyard {

/** Reads `batch*12+1`, `div(tokens+1, 2)`, `max(a, b)`, `min(a, b)`; div rounds down. */
class SizeReader {
public:
    explicit SizeReader(std::map<std::string, Halide::Expr> dimensions) : dimensions_(std::move(dimensions)) {}

    Halide::Expr read(const std::string &text) {
        text_ = text;
        at_ = 0;
        const Halide::Expr result = sum();
        check(at_ == text_.size());
        return result;
    }

    /** Of a list of such texts and of numbers. */
    std::vector<Halide::Expr> read_all(const nlohmann::json &sizes) const {
        SizeReader reader(*this);
        std::vector<Halide::Expr> result;
        for (const auto &s : sizes) {
            result.push_back(s.is_number() ? number(s.get<int64_t>()) : reader.read(s.get<std::string>()));
        }
        return result;
    }

private:
    void check(bool right) const {
        if (!right) {
            throw Halide::CompileError("\"" + text_ + "\" is not a size of this graph");
        }
    }

    static Halide::Expr number(int64_t value) {
        if (value != int32_t(value)) {
            throw Halide::CompileError("a size of " + std::to_string(value) + " has more than 32 bits");
        }
        return int32_t(value);
    }

    char next() const {
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    bool take(char c) {
        if (next() != c) {
            return false;
        }
        at_++;
        return true;
    }

    Halide::Expr sum() {
        Halide::Expr value = take('-') ? -product() : product();
        while (next() == '+' || next() == '-') {
            value = take('+') ? value + product() : (at_++, value - product());
        }
        return value;
    }

    Halide::Expr product() {
        Halide::Expr value = factor();
        while (take('*')) {
            value = value * factor();
        }
        return value;
    }

    Halide::Expr factor() {
        if (take('(')) {
            const Halide::Expr value = sum();
            check(take(')'));
            return value;
        }
        if (std::isdigit(static_cast<unsigned char>(next()))) {
            char *end = nullptr;
            const long value = std::strtol(text_.c_str() + at_, &end, 10);
            at_ = size_t(end - text_.c_str());
            return number(value);
        }
        std::string name;
        while (std::isalnum(static_cast<unsigned char>(next())) || next() == '_') {
            name += text_[at_++];
        }
        if (take('(')) {
            const Halide::Expr a = sum();
            check(take(','));
            const Halide::Expr b = sum();
            check(take(')') && (name == "div" || name == "max" || name == "min"));
            return name == "div" ? a / b : name == "max" ? max(a, b) : min(a, b);
        }
        const auto found = dimensions_.find(name);
        check(found != dimensions_.end());
        return found->second;
    }

    std::map<std::string, Halide::Expr> dimensions_;
    std::string text_;
    size_t at_ = 0;
};

}  // namespace halyard

#endif
