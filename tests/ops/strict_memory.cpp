#include "strict_memory.h"

#include <algorithm>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace ops_test {

namespace {

constexpr uint16_t kPoison = 0x7fd5;
constexpr size_t kAlignment = 128;  // of what Halide allocates
constexpr size_t kBeyond = 8;       // bytes after the end that it may read

size_t page() {
    static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
    return bytes;
}

size_t rounded_up(size_t bytes, size_t to) {
    return (bytes + to - 1) / to * to;
}

// Pages: one that says how many there are, one that is closed, those of the data, which ends with its last one, and one that is closed.
void *allocate(void *, size_t asked) {
    const size_t data = rounded_up(asked + kBeyond, kAlignment), pages = rounded_up(data, page()), all = pages + 3 * page();
    if (all < asked) {
        return nullptr;
    }
    void *const memory = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    auto *const bytes = static_cast<uint8_t *>(memory);
    *reinterpret_cast<size_t *>(bytes) = all;
    std::fill_n(reinterpret_cast<uint16_t *>(bytes + 2 * page()), pages / sizeof(uint16_t), kPoison);
    if (mprotect(bytes + page(), page(), PROT_NONE) != 0 || mprotect(bytes + all - page(), page(), PROT_NONE) != 0) {
        munmap(memory, all);
        return nullptr;
    }
    return bytes + all - page() - data;
}

void release(void *, void *data) {
    if (data) {
        auto *const memory = reinterpret_cast<uint8_t *>(reinterpret_cast<uintptr_t>(data) / page() * page()) - 2 * page();
        munmap(memory, *reinterpret_cast<size_t *>(memory));
    }
}

using Allocate = void *(*)(void *, size_t);
using Release = void (*)(void *, void *);

void use(const halyard::CompiledKernel &kernel, Allocate allocate, Release release) {
    reinterpret_cast<Allocate (*)(Allocate)>(kernel.library_function("halide_set_custom_malloc"))(allocate);
    reinterpret_cast<Release (*)(Release)>(kernel.library_function("halide_set_custom_free"))(release);
}

}  // namespace

StrictMemory::StrictMemory(const halyard::CompiledKernel &kernel) : kernel_(kernel) {
    use(kernel, allocate, release);
}

StrictMemory::~StrictMemory() {
    use(kernel_, reinterpret_cast<Allocate>(kernel_.library_function("halide_default_malloc")),
        reinterpret_cast<Release>(kernel_.library_function("halide_default_free")));
}

}  // namespace ops_test
