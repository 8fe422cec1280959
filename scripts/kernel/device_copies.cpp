#include "kernel/device_copies.h"

namespace halyard {

namespace {

template<typename F>
void find(const CompiledKernel &kernel, const char *name, F &function) {
    function = reinterpret_cast<F>(kernel.library_function(name));
}

}  // namespace

DeviceCopies::DeviceCopies(const CompiledKernel &kernel, std::vector<HostBuffer *> buffers) {
    const halide_device_interface_t *(*device)() = nullptr;
    find(kernel, "halide_cuda_device_interface", device);
    find(kernel, "halide_copy_to_device", copy_to_device_);
    find(kernel, "halide_copy_to_host", copy_to_host_);
    find(kernel, "halide_device_free", free_);
    find(kernel, "halyard_cuda_wrap", wrap_);
    find(kernel, "halyard_cuda_unwrap", unwrap_);
    device_ = device();
    copies_.resize(buffers.size());
    for (size_t i = 0; i < buffers.size(); i++) {
        Copy &c = copies_[i];
        c = {buffers[i], {0, int32_t(buffers[i]->memory_bytes() / 8), 1}, {}};
        c.whole.host = buffers[i]->memory();
        c.whole.type = halide_type_t(halide_type_uint, 64);
        c.whole.dimensions = 1;
        c.whole.dim = &c.dimension;
    }
}

int DeviceCopies::to_device() {
    for (Copy &c : copies_) {
        c.whole.set_host_dirty();
        if (const int error = copy_to_device_(nullptr, &c.whole, device_)) {
            return error;
        }
        const uint64_t first = c.whole.device + c.own->offset_in_memory();
        if (const int error = wrap_(c.own->raw(), reinterpret_cast<const void *>(first))) {
            return error;
        }
    }
    return 0;
}

int DeviceCopies::to_host() {
    for (Copy &c : copies_) {
        if (c.own->raw()->host_dirty()) {  // a stage on the host has written it
            if (const int error = copy_to_device_(nullptr, c.own->raw(), device_)) {
                return error;
            }
        }
        c.whole.set_device_dirty();
        if (const int error = copy_to_host_(nullptr, &c.whole)) {
            return error;
        }
    }
    return 0;
}

DeviceCopies::~DeviceCopies() {
    for (Copy &c : copies_) {
        if (c.own->raw()->device) {
            unwrap_(c.own->raw());
        }
        if (c.whole.device) {
            free_(nullptr, &c.whole);
        }
        c.own->raw()->flags = 0;
    }
}

}  // namespace halyard
