#include "kernel/strict_allocation.h"

#include <algorithm>

#include <sys/mman.h>
#include <unistd.h>

namespace halyard {

namespace {

constexpr size_t kAlignment = 128;  // of what Halide allocates
constexpr size_t kBeyond = 8;       // bytes after the end that it may read

size_t page_bytes() {
    static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
    return bytes;
}

size_t whole(size_t bytes, size_t to) {
    return (bytes + to - 1) / to * to;
}

}  // namespace

// Pages: one that says how many there are, one that is closed, those of the data, which ends with its last one, and one that is closed.
void *strict_allocate(void *, size_t asked) {
    const size_t data = whole(asked + kBeyond, kAlignment), pages = whole(data, page_bytes()), all = pages + 3 * page_bytes();
    if (all < asked) {
        return nullptr;
    }
    void *const memory = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    auto *const bytes = static_cast<uint8_t *>(memory);
    *reinterpret_cast<size_t *>(bytes) = all;
    std::fill_n(reinterpret_cast<uint16_t *>(bytes + 2 * page_bytes()), pages / sizeof(uint16_t), kUnstored);
    if (mprotect(bytes + page_bytes(), page_bytes(), PROT_NONE) != 0 ||
        mprotect(bytes + all - page_bytes(), page_bytes(), PROT_NONE) != 0) {
        munmap(memory, all);
        return nullptr;
    }
    return bytes + all - page_bytes() - data;
}

void strict_release(void *, void *data) {
    if (data) {
        auto *const memory =
            reinterpret_cast<uint8_t *>(reinterpret_cast<uintptr_t>(data) / page_bytes() * page_bytes()) - 2 * page_bytes();
        munmap(memory, *reinterpret_cast<size_t *>(memory));
    }
}

}  // namespace halyard
