#ifndef MINILM_ALIGNED_H
#define MINILM_ALIGNED_H

/** \file
 * A grow-only, 64-byte aligned block of floats for weights and scratch.
 */

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace minilm {

class AlignedFloats {
public:
    AlignedFloats() = default;
    explicit AlignedFloats(size_t count) {
        reserve(count);
    }

    /** Make room for count floats. The contents are lost when the block grows. */
    void reserve(size_t count) {
        if (count <= capacity_) {
            return;
        }
        // Blocks over 2 MiB start on a huge page, so that streaming over
        // weights does not miss the TLB on every panel.
        constexpr size_t cache_line = 64, huge_page = size_t(2) << 20;
        const size_t wanted = count * sizeof(float);
        const size_t alignment = wanted >= huge_page ? huge_page : cache_line;
        const size_t bytes = (wanted + alignment - 1) / alignment * alignment;
        block_.reset();
        capacity_ = 0;
        block_.reset(static_cast<float *>(std::aligned_alloc(alignment, bytes)));
        if (!block_) {
            throw std::bad_alloc();
        }
        if (alignment == huge_page) {
            (void)madvise(block_.get(), bytes, MADV_HUGEPAGE);  // Advice only.
        }
        capacity_ = bytes / sizeof(float);
    }

    float *data() {
        return block_.get();
    }
    const float *data() const {
        return block_.get();
    }
    size_t capacity() const {
        return capacity_;
    }

private:
    struct Free {
        void operator()(float *p) const {
            std::free(p);
        }
    };
    std::unique_ptr<float, Free> block_;
    size_t capacity_ = 0;
};

}  // namespace minilm

#endif
