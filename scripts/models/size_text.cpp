#include "models/size_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/terminal_guard.h"

namespace halyard {

namespace {

class SizeText {
public:
    SizeText(const std::string &text, const std::map<std::string, int64_t> &dimensions) : text_(text), dimensions_(dimensions) {}

    double value() {
        const double v = sum();
        check(at_ == text_.size());
        return v;
    }

private:
    void check(bool right) const {
        if (!right) {
            throw Failure(fmt::format("\"{}\" is not a size of this model", visible(text_.substr(0, 80))));
        }
    }
    bool take(char c) {
        const bool there = at_ < text_.size() && text_[at_] == c;
        at_ += there ? 1 : 0;
        return there;
    }
    double sum() {
        check(++depth_ < 100);
        double v = take('-') ? -product() : product();
        for (;;) {
            if (take('+')) {
                v += product();
            } else if (take('-')) {
                v -= product();
            } else {
                depth_--;
                return v;
            }
        }
    }
    double product() {
        double v = factor();
        while (take('*')) {
            v *= factor();
        }
        return v;
    }
    double factor() {
        if (take('(')) {
            const double v = sum();
            check(take(')'));
            return v;
        }
        std::string word;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
            word += text_[at_++];
        }
        check(!word.empty());
        if (std::isdigit(static_cast<unsigned char>(word[0]))) {
            return std::strtod(word.c_str(), nullptr);
        }
        if (take('(')) {
            const double a = sum();
            check(take(','));
            const double b = sum();
            check(take(')') && (word == "div" || word == "max" || word == "min"));
            return word == "div" ? std::floor(a / b) : word == "max" ? std::max(a, b) : std::min(a, b);
        }
        const auto found = dimensions_.find(word);
        check(found != dimensions_.end());
        return double(found->second);
    }

    const std::string &text_;
    const std::map<std::string, int64_t> &dimensions_;
    size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

double value_of_size(const std::string &text, const std::map<std::string, int64_t> &dimensions) {
    return SizeText(text, dimensions).value();
}

}  // namespace halyard
