#include "tokenizer.h"

namespace minilm {

Tokenizer::Tokenizer(const std::string &vocabulary_path, int max_tokens)
    : vocabulary_(vocabulary_path), max_tokens_(max_tokens), begin_(vocabulary_.id("[CLS]")), end_(vocabulary_.id("[SEP]")) {
    for (std::string_view name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
        special_.emplace_back(name, vocabulary_.id(name));
    }
}

/** Stops soon after the ids pass the limit. */
bool Tokenizer::encode_segment(std::string_view text, size_t limit, std::vector<int32_t> *ids) {
    words_.start(text);
    while (ids->size() <= limit && words_.next(&word_)) {
        vocabulary_.split(word_, ids);
    }
    return ids->size() > limit;
}

bool Tokenizer::encode(std::string_view text, std::vector<int32_t> *ids) {
    const size_t limit = ids->size() + size_t(max_tokens_) - 1;  // [SEP] follows.
    ids->push_back(begin_);
    bool cut = false;
    size_t segment = 0, scan = 0;
    while (!cut) {
        scan = text.find('[', scan);
        if (scan == std::string_view::npos) {
            cut = encode_segment(text.substr(segment), limit, ids);
            break;
        }
        for (const auto &[name, id] : special_) {
            if (text.substr(scan, name.size()) == name) {
                cut = encode_segment(text.substr(segment, scan - segment), limit, ids);
                ids->push_back(id);
                cut = cut || ids->size() > limit;
                scan += name.size();
                segment = scan--;
                break;
            }
        }
        scan++;
    }
    if (cut) {
        ids->resize(limit);
    }
    ids->push_back(end_);
    return cut;
}

}  // namespace minilm
