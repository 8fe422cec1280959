#include "sequence.h"

#include <stdexcept>

namespace halyard_llm {

void check_together(const std::vector<Feed> &feeds) {
    for (const Feed &feed : feeds) {
        for (const Feed &other : feeds) {
            if (&other != &feed && other.sequence == feed.sequence) {
                throw std::runtime_error("a sequence is fed twice in one call: give it all of its tokens at once");
            }
        }
        if (!feed.sequence->is_like(*feeds.front().sequence)) {
            throw std::runtime_error("sequences that are fed together have one model, and rows of one kind, f32 or 8 bits");
        }
    }
}

}  // namespace halyard_llm
