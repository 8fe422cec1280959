#ifndef HALYARD_LLM_CUDA_SLOTS_H
#define HALYARD_LLM_CUDA_SLOTS_H

/** \file
 * Places on a GPU for what sequences of one model keep: so many bytes each, which begin the same distance apart, so that one kernel finds
 * those of several sequences by their numbers. Their addresses are reserved at once; a place is memory while somebody has it.
 */

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "common/device_block.h"

namespace halyard_llm {

class Slots {
public:
    /** `count` places. Where the driver reserves no addresses without memory, one. */
    Slots(size_t bytes, int count);
    ~Slots();
    Slots(const Slots &) = delete;
    Slots &operator=(const Slots &) = delete;

    /** A place that somebody has. */
    class Taken {
    public:
        ~Taken();
        Taken(const Taken &) = delete;
        Taken &operator=(const Taken &) = delete;

        int number() const {
            return number_;
        }
        uint64_t address() const {
            return slots_->base_ + uint64_t(number_) * slots_->stride_;
        }
        /** Whether the other one is a place among the same. */
        bool is_beside(const Taken &other) const {
            return slots_ == other.slots_;
        }
        /** Bytes from one to the next; at least as many as were asked for. */
        size_t stride() const {
            return slots_->stride_;
        }

    private:
        friend class Slots;
        Taken(std::shared_ptr<Slots> slots, int number) : slots_(std::move(slots)), number_(number) {}
        const std::shared_ptr<Slots> slots_;
        const int number_;
    };

    /** A free one of those of `owner` that have so many bytes, the number of which `most` limits; or the first one of new ones. The owner's
     * address is all that counts of it. Throws std::runtime_error where the GPU has no room. */
    static std::unique_ptr<Taken> take(const void *owner, size_t bytes, int most);

private:
    bool map(int number);
    void unmap(int number);

    size_t stride_ = 0;
    uint64_t base_ = 0;
    halyard_apps::DeviceBlock alone_;  // the one place, where addresses cannot be reserved
    bool reserved_ = false;
    std::mutex mutex_;
    std::vector<uint64_t> memory_;  // the driver's handle of a place; 0: it is free
};

}  // namespace halyard_llm

#endif
