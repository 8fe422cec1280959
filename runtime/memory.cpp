// The memory that a library asks for within a call (halide_malloc): replaces the weak default of Halide's runtime. What is
// freed stays with the thread, for its next task or call.
//
// malloc hands a large block back to the system when it is freed, or does not, by where it happens to lie. Where it does, each
// call gets new pages, which the system first has to clear, and that takes a good part of the time of an attention.

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "HalideRuntime.h"
#include "halyard/runtime.h"
#include "of_thread.h"

namespace {

constexpr size_t kAlignment = 128;  // of a block and of what its user gets, which begins behind the header
constexpr size_t kBeyond = 8;       // bytes after the end that Halide may read

// What malloc keeps at the most of its own accord. A sanitizer is to see what is used after it was freed.
#if defined(__SANITIZE_ADDRESS__)
std::atomic<size_t> kept_bytes{0};
#else
std::atomic<size_t> kept_bytes{32 << 20};
#endif

struct Block {
    size_t bytes;  // with this header

    void *data() {
        return reinterpret_cast<char *>(this) + kAlignment;
    }
    static Block *of(void *data) {
        return reinterpret_cast<Block *>(static_cast<char *>(data) - kAlignment);
    }
};

// Steps of an eighth of the size, so that calls of almost the same size find each other's blocks.
size_t block_bytes(size_t asked) {
    const size_t bytes = kAlignment + asked + kBeyond;
    size_t step = kAlignment;
    while (step <= bytes / 16) {
        step *= 2;
    }
    return (bytes + step - 1) / step * step;
}

// The freed blocks of a thread, the oldest first.
class FreeBlocks {
public:
    /** The smallest that is large enough, of at most twice the size; null: none. */
    Block *take(size_t bytes) {
        int best = -1;
        for (int i = 0; i < count_; i++) {
            const size_t has = blocks_[i]->bytes;
            if (has >= bytes && has <= 2 * bytes && (best < 0 || has <= blocks_[best]->bytes)) {
                best = i;
            }
        }
        return best < 0 ? nullptr : remove(best);
    }

    void add(Block *block, size_t most) {
        make_room(block->bytes, most);
        if (block->bytes > most) {
            free(block);
            return;
        }
        if (count_ == kMostBlocks) {
            free(remove(0));
        }
        blocks_[count_++] = block;
        bytes_ += block->bytes;
    }

    /** Frees the oldest until `bytes` more are at most `most`. */
    void make_room(size_t bytes, size_t most) {
        while (count_ > 0 && bytes_ + bytes > most) {
            free(remove(0));
        }
    }

    void release() {
        make_room(0, 0);
    }

private:
    static constexpr int kMostBlocks = 32;

    Block *remove(int i) {
        Block *block = blocks_[i];
        count_--;
        bytes_ -= block->bytes;
        memmove(blocks_ + i, blocks_ + i + 1, size_t(count_ - i) * sizeof(Block *));
        return block;
    }

    Block *blocks_[kMostBlocks];
    int count_ = 0;
    size_t bytes_ = 0;
};

using OfThisThread = halyard::OfThread<FreeBlocks>;

__attribute__((destructor(halyard::kLastDestructor))) void end() {
    OfThisThread::end();
}

}  // namespace

extern "C" {

void *halide_default_malloc(void *, size_t asked) {
    const size_t bytes = block_bytes(asked);
    if (bytes < asked) {
        return nullptr;
    }
    FreeBlocks *free_blocks = OfThisThread::get();
    Block *block = free_blocks ? free_blocks->take(bytes) : nullptr;
    if (!block) {
        void *memory = nullptr;
        if (posix_memalign(&memory, kAlignment, bytes) != 0) {
            return nullptr;
        }
        block = static_cast<Block *>(memory);
        block->bytes = bytes;
    }
    return block->data();
}

void halide_default_free(void *, void *data) {
    if (!data) {
        return;
    }
    Block *block = Block::of(data);
    if (FreeBlocks *free_blocks = OfThisThread::make()) {
        free_blocks->add(block, kept_bytes);
    } else {
        free(block);
    }
}

void halyard_set_kept_bytes(size_t bytes) {
    kept_bytes = bytes;
    if (FreeBlocks *free_blocks = OfThisThread::get()) {
        free_blocks->make_room(0, bytes);
    }
}

}  // extern "C"
