#ifndef MINILM_BATCH_H
#define MINILM_BATCH_H

/** \file
 * Sentences one behind the other, without padding.
 */

#include <cstddef>
#include <cstdint>
#include <vector>

namespace minilm {

struct TokenBatch {
    std::vector<int32_t> ids;
    std::vector<int> ends;  // where each sentence ends in ids

    int sentences() const {
        return int(ends.size());
    }
    int tokens() const {
        return int(ids.size());
    }
    int begin(int sentence) const {
        return sentence == 0 ? 0 : ends[size_t(sentence) - 1];
    }
    int length(int sentence) const {
        return ends[size_t(sentence)] - begin(sentence);
    }

    /** What was appended to ids since the last call is a sentence. */
    void end_sentence() {
        ends.push_back(int(ids.size()));
    }
    void clear() {
        ids.clear();
        ends.clear();
    }
};

}  // namespace minilm

#endif
