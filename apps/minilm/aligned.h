#ifndef MINILM_ALIGNED_H
#define MINILM_ALIGNED_H

/** \file
 * A grow-only, 64-byte aligned block of memory for weights and scratch.
 */

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace minilm {

class AlignedBlock {
public:
    AlignedBlock() = default;
    explicit AlignedBlock(size_t bytes) {
        reserve(bytes);
    }

    /** Make room for so many bytes. The contents are lost when the block grows. */
    void reserve(size_t wanted) {
        if (wanted <= capacity_) {
            return;
        }
        // Blocks over 2 MiB start on a huge page, so that streaming over
        // weights does not miss the TLB on every panel.
        constexpr size_t cache_line = 64, huge_page = size_t(2) << 20;
        const size_t alignment = wanted >= huge_page ? huge_page : cache_line;
        const size_t bytes = (wanted + alignment - 1) / alignment * alignment;
        block_.reset();
        capacity_ = 0;
        block_.reset(static_cast<char *>(std::aligned_alloc(alignment, bytes)));
        if (!block_) {
            throw std::bad_alloc();
        }
        if (alignment == huge_page) {
            (void)madvise(block_.get(), bytes, MADV_HUGEPAGE);  // Advice only.
        }
        capacity_ = bytes;
    }

    char *data() {
        return block_.get();
    }
    const char *data() const {
        return block_.get();
    }
    size_t capacity() const {
        return capacity_;
    }

private:
    struct Free {
        void operator()(char *p) const {
            std::free(p);
        }
    };
    std::unique_ptr<char, Free> block_;
    size_t capacity_ = 0;
};

}  // namespace minilm

#endif
