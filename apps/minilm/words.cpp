#include "words.h"

#include <algorithm>

#include "unicode.h"
#include "common/utf8.h"

namespace minilm {

void WordReader::start(std::string_view text) {
    text_ = text;
    position_ = 0;
    run_.clear();
    ready_.clear();
    ready_position_ = 0;
}

void WordReader::release_run() {
    std::stable_sort(run_.begin(), run_.end(), [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    for (char32_t c : run_) {
        if (!is_accent(c)) {
            ready_.push_back(to_lower(c));
        }
    }
    run_.clear();
}

void WordReader::accept(char32_t c) {
    parts_.clear();
    decompose(c, &parts_);
    for (char32_t part : parts_) {
        if (combining_class(part) == 0) {
            release_run();
        }
        run_.push_back(part);
    }
}

void WordReader::refill() {
    ready_.clear();
    ready_position_ = 0;
    while (ready_.empty() && position_ < text_.size()) {
        const char32_t c = halyard_apps::decode_utf8(text_, &position_);
        if (is_dropped(c)) {
            continue;
        }
        if (is_white_space(c)) {
            accept(' ');
        } else if (is_ideograph(c)) {
            accept(' ');
            accept(c);
            accept(' ');
        } else {
            accept(c);
        }
    }
    if (ready_.empty()) {
        release_run();
    }
}

bool WordReader::peek(char32_t *c) {
    if (ready_position_ == ready_.size()) {
        refill();
        if (ready_.empty()) {
            return false;
        }
    }
    *c = ready_[ready_position_];
    return true;
}

bool WordReader::next(Word *word) {
    word->text.clear();
    word->length = 0;
    char32_t c;
    while (peek(&c)) {
        const bool separates = is_white_space(c);
        const bool alone = !separates && is_punctuation(c);
        if (word->length > 0 && (separates || alone)) {
            return true;
        }
        ready_position_++;
        if (separates) {
            continue;
        }
        if (word->length <= Word::max_length) {
            halyard_apps::append_utf8(c, &word->text);
            word->length++;
        }
        if (alone) {
            return true;
        }
    }
    return word->length > 0;
}

}  // namespace minilm
