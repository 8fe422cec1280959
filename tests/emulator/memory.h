#ifndef HALYARD_TESTS_EMULATOR_MEMORY_H
#define HALYARD_TESTS_EMULATOR_MEMORY_H

#include <sys/mman.h>

#include <cstdint>
#include <iterator>
#include <map>

/** The memory of a device. Its addresses cannot be accessed by the host: the bytes are elsewhere. What is
 * new is poisoned, and between two allocations is a gap. */
class DeviceMemory {
    static constexpr uint64_t kAddresses = uint64_t(1) << 36, kAlignment = 512, kGap = 512;

public:
    struct Allocation {
        uint64_t bytes;
        void *owner;  // the context that it goes with
        bool in_graph;
        bool reserved = false;  // addresses, of which map() makes parts memory; those count as one array
    };

    DeviceMemory() {
        void *forbidden = map(PROT_NONE), *bytes = map(PROT_READ | PROT_WRITE);
        base_ = reinterpret_cast<uint64_t>(forbidden);
        bytes_ = static_cast<char *>(bytes);
        next_ = base_;
    }

    bool holds(uint64_t address) const {
        return address >= base_ && address < base_ + kAddresses;
    }

    uint64_t used() const {
        return used_;
    }

    /** 0 where there is no room. */
    uint64_t allocate(uint64_t bytes, uint64_t limit, void *owner, bool in_graph) {
        if (bytes == 0 || bytes > limit - used_) {
            return 0;
        }
        const uint64_t at = place({bytes, owner, in_graph});
        if (at) {
            used_ += bytes;
            poison(at, bytes);
        }
        return at;
    }

    /** Addresses without memory, 0 where there are not so many. */
    uint64_t reserve(uint64_t bytes, void *owner) {
        return bytes == 0 ? 0 : place({bytes, owner, false, true});
    }

    /** Makes a part of such addresses memory, or no longer. Whether it was the other before is the caller's to know. */
    bool map(uint64_t address, uint64_t bytes, uint64_t limit) {
        if (!is_reserved(address, bytes) || bytes > limit - used_) {
            return false;
        }
        used_ += bytes;
        poison(address, bytes);
        return true;
    }
    bool unmap(uint64_t address, uint64_t bytes) {
        if (!is_reserved(address, bytes)) {
            return false;
        }
        used_ -= bytes;
        give_back(address, bytes);
        return true;
    }

    bool release(uint64_t address) {
        const auto a = live_.find(address);
        if (a == live_.end()) {
            return false;
        }
        if (!a->second.reserved) {
            used_ -= a->second.bytes;
        }
        give_back(address, a->second.bytes);
        live_.erase(a);
        return true;
    }

    template<typename Keep>
    void release_if(Keep gone) {
        for (auto a = live_.begin(); a != live_.end();) {
            const uint64_t address = a->first;
            const bool go = gone(a->second);
            ++a;
            if (go) {
                release(address);
            }
        }
    }

    /** The allocation that the address is in. */
    const std::pair<const uint64_t, Allocation> *find(uint64_t address) const {
        auto a = live_.upper_bound(address);
        if (a == live_.begin()) {
            return nullptr;
        }
        --a;
        return address < a->first + a->second.bytes ? &*a : nullptr;
    }

    /** Where the bytes of an address are. */
    char *host(uint64_t address) const {
        return bytes_ + (address - base_);
    }

    size_t count() const {
        return live_.size();
    }

private:
    static void *map(int protection) {
        return mmap(nullptr, kAddresses, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }

    bool is_reserved(uint64_t address, uint64_t bytes) const {
        const auto *a = find(address);
        return a && a->second.reserved && address + bytes <= a->first + a->second.bytes;
    }

    uint64_t place(const Allocation &allocation) {
        const uint64_t room = (allocation.bytes + kGap + kAlignment - 1) / kAlignment * kAlignment;
        uint64_t at = fit(next_, room);
        if (!at) {
            at = fit(base_, room);
        }
        if (at) {
            live_[at] = allocation;
            next_ = at + room;
        }
        return at;
    }

    // What nobody has stored is NaN as a float of 16 and 32 bits, and as an index leads nowhere.
    void poison(uint64_t address, uint64_t bytes) const {
        char *const memory = host(address);
        for (uint64_t i = 0; i < bytes; i++) {
            memory[i] = char(i % 2 ? 0x7f : 0xd5);
        }
    }

    // The whole pages, which no neighbour has a part of.
    void give_back(uint64_t address, uint64_t bytes) {
        constexpr uint64_t kPage = 4096;
        const uint64_t first = (address + kPage - 1) / kPage * kPage, end = (address + bytes) / kPage * kPage;
        if (first < end) {
            madvise(host(first), end - first, MADV_DONTNEED);
        }
    }

    uint64_t fit(uint64_t from, uint64_t room) const {
        auto after = live_.lower_bound(from);
        if (after != live_.begin()) {
            const auto &before = *std::prev(after);
            const uint64_t end = (before.first + before.second.bytes + kGap + kAlignment - 1) / kAlignment * kAlignment;
            from = end > from ? end : from;
        }
        for (; after != live_.end(); ++after) {
            if (from + room <= after->first) {
                return from;
            }
            from = (after->first + after->second.bytes + kGap + kAlignment - 1) / kAlignment * kAlignment;
        }
        return from + room <= base_ + kAddresses ? from : 0;
    }

    uint64_t base_ = 0, next_ = 0, used_ = 0;
    char *bytes_ = nullptr;
    std::map<uint64_t, Allocation> live_;
};

#endif
