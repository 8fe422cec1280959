#include "kernel/strict_memory.h"

#include "kernel/strict_allocation.h"

namespace halyard {

namespace {

using Allocate = void *(*)(void *, size_t);
using Release = void (*)(void *, void *);

void use(const CompiledKernel &kernel, Allocate allocate, Release release) {
    reinterpret_cast<Allocate (*)(Allocate)>(kernel.library_function("halide_set_custom_malloc"))(allocate);
    reinterpret_cast<Release (*)(Release)>(kernel.library_function("halide_set_custom_free"))(release);
}

}  // namespace

StrictMemory::StrictMemory(const CompiledKernel &kernel) : kernel_(kernel) {
    use(kernel, strict_allocate, strict_release);
}

StrictMemory::~StrictMemory() {
    use(kernel_, reinterpret_cast<Allocate>(kernel_.library_function("halide_default_malloc")),
        reinterpret_cast<Release>(kernel_.library_function("halide_default_free")));
}

}  // namespace halyard
