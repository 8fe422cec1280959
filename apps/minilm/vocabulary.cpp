#include "vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "common/mapped_file.h"

namespace minilm {

namespace {

constexpr std::string_view continuation_mark = "##";
constexpr uint64_t max_file_bytes = 16 << 20;

bool is_boundary(std::string_view text, size_t position) {
    return position >= text.size() || (uint8_t(text[position]) & 0xC0) != 0x80;
}

}  // namespace

Vocabulary::Vocabulary(const std::string &path) : path_(path) {
    const halyard_apps::MappedFile file(path, max_file_bytes);
    text_.assign(reinterpret_cast<const char *>(file.data()), file.size());
    std::string_view rest = text_;
    while (!rest.empty()) {
        const size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view piece = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (!piece.empty() && piece.back() == '\r') {
            piece.remove_suffix(1);
        }
        const bool continues = piece.size() > continuation_mark.size() && piece.substr(0, continuation_mark.size()) == continuation_mark;
        if (continues) {
            piece.remove_prefix(continuation_mark.size());
        }
        (continues ? continuations_ : starts_)[piece] = size_++;
        longest_ = std::max(longest_, piece.size());
    }
    unknown_ = id("[UNK]");
}

int32_t Vocabulary::id(std::string_view piece) const {
    const auto it = starts_.find(piece);
    if (it == starts_.end()) {
        throw std::runtime_error(
            fmt::format("{}: no line '{}'. The vocabulary of an uncased BERT model has one: get the model again", path_, piece));
    }
    return it->second;
}

void Vocabulary::split(const Word &word, std::vector<int32_t> *ids) const {
    const size_t before = ids->size();
    const std::string_view text = word.text;
    size_t begin = 0;
    bool covered = word.length <= Word::max_length;
    while (covered && begin < text.size()) {
        const Pieces &pieces = begin == 0 ? starts_ : continuations_;
        size_t end = std::min(text.size(), begin + longest_);
        auto found = pieces.end();
        for (; end > begin; end--) {
            if (is_boundary(text, end) && (found = pieces.find(text.substr(begin, end - begin))) != pieces.end()) {
                break;
            }
        }
        covered = found != pieces.end();
        if (covered) {
            ids->push_back(found->second);
            begin = end;
        }
    }
    if (!covered) {
        ids->resize(before);
        ids->push_back(unknown_);
    }
}

}  // namespace minilm
