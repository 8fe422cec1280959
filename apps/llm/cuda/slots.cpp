#include "slots.h"

#include <algorithm>
#include <map>

#include "driver.h"

namespace halyard_llm {

namespace {

// CUmemLocation, CUmemAllocationProp and CUmemAccessDesc of the driver.
struct Location {
    int type = 1;  // a device
    int id = 0;
};
struct Properties {
    int type = 1;  // pinned, the only one there is
    int handle_types = 0;
    Location location;
    void *security = nullptr;
    unsigned char flags[8] = {};
};
static_assert(sizeof(Properties) == 32, "CUmemAllocationProp");
struct Access {
    Location location;
    int flags = 3;  // to be read and written
};
static_assert(sizeof(Access) == 12, "CUmemAccessDesc");

Properties of_this_device() {
    Properties properties;
    check_driver(call_driver("cuCtxGetDevice", &properties.location.id), "the GPU");
    return properties;
}

constexpr const char *kMemory = "memory of the GPU for keys and values";

}  // namespace

Slots::Slots(size_t bytes, int count) {
    const InContext context;
    const Properties properties = of_this_device();
    size_t granularity = 0;
    if (call_driver("cuMemGetAllocationGranularity", &granularity, &properties, 0) == 0 && granularity > 0) {
        stride_ = (bytes + granularity - 1) / granularity * granularity;
        reserved_ = call_driver("cuMemAddressReserve", &base_, stride_ * size_t(count), size_t(0), uint64_t(0), 0ULL) == 0;
    }
    if (!reserved_) {
        count = 1;
        stride_ = bytes;
    }
    memory_.resize(size_t(count));
}

Slots::~Slots() {
    if (reserved_) {
        const InContext context;
        call_driver("cuMemAddressFree", base_, stride_ * memory_.size());
    }
}

// Whether the place was free.
bool Slots::map(int number) {
    uint64_t &memory = memory_[size_t(number)];
    if (memory != 0) {
        return false;
    }
    if (!reserved_) {
        alone_.reserve(stride_);
        base_ = alone_.address();
        memory = 1;
        return true;
    }
    const InContext context;
    const Properties properties = of_this_device();
    const uint64_t address = base_ + uint64_t(number) * stride_;
    uint64_t made = 0;
    check_driver(call_driver("cuMemCreate", &made, stride_, &properties, 0ULL), kMemory);
    const int mapped = call_driver("cuMemMap", address, stride_, size_t(0), made, 0ULL);
    Access access;
    access.location = properties.location;
    const int code = mapped != 0 ? mapped : call_driver("cuMemSetAccess", address, stride_, &access, size_t(1));
    if (code != 0) {
        if (mapped == 0) {
            call_driver("cuMemUnmap", address, stride_);
        }
        call_driver("cuMemRelease", made);
        check_driver(code, kMemory);
    }
    memory = made;
    return true;
}

void Slots::unmap(int number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    uint64_t &memory = memory_[size_t(number)];
    if (reserved_) {
        const InContext context;
        call_driver("cuMemUnmap", base_ + uint64_t(number) * stride_, stride_);
        call_driver("cuMemRelease", memory);
    }
    memory = 0;
}

Slots::Taken::~Taken() {
    slots_->unmap(number_);
}

std::unique_ptr<Slots::Taken> Slots::take(const void *owner, size_t bytes, int most) {
    static std::mutex mutex;
    static std::multimap<std::pair<const void *, size_t>, std::weak_ptr<Slots>> all;
    const std::lock_guard<std::mutex> lock(mutex);
    const std::pair<const void *, size_t> key{owner, bytes};
    const auto range = all.equal_range(key);
    for (auto at = range.first; at != range.second;) {
        const std::shared_ptr<Slots> slots = at->second.lock();
        if (!slots) {
            at = all.erase(at);
            continue;
        }
        const std::lock_guard<std::mutex> of_slots(slots->mutex_);
        for (size_t i = 0; i < slots->memory_.size(); i++) {
            if (slots->map(int(i))) {
                return std::unique_ptr<Taken>(new Taken(slots, int(i)));
            }
        }
        ++at;
    }
    const auto slots = std::make_shared<Slots>(bytes, std::max(most, 1));
    slots->map(0);
    all.emplace(key, slots);
    return std::unique_ptr<Taken>(new Taken(slots, 0));
}

}  // namespace halyard_llm
