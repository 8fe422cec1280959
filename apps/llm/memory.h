#ifndef HALYARD_LLM_MEMORY_H
#define HALYARD_LLM_MEMORY_H

/** \file
 * Memory that nobody wrote yet: of a long cache, pages are taken as tokens come.
 */

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace halyard_llm {

class Memory {
public:
    /** What it held is lost. Throws std::bad_alloc. */
    void resize(size_t bytes) {
        constexpr size_t kLine = 64;
        memory_.reset();
        memory_.reset(std::aligned_alloc(kLine, (bytes + kLine) / kLine * kLine));
        if (!memory_) {
            throw std::bad_alloc();
        }
    }
    void *data() const {
        return memory_.get();
    }
    float *floats() const {
        return static_cast<float *>(memory_.get());
    }

private:
    struct Free {
        void operator()(void *memory) const {
            std::free(memory);
        }
    };
    std::unique_ptr<void, Free> memory_;
};

}  // namespace halyard_llm

#endif
