#include "precision.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "half.h"

namespace minilm {

Precision precision_of(const std::string &name) {
    if (name != "f32" && name != "bf16") {
        throw std::invalid_argument(fmt::format("no type '{}'; there are f32 and bf16", name));
    }
    return name == "f32" ? Precision::F32 : Precision::BF16;
}

void store(Precision p, const float *__restrict from, size_t count, void *to) {
    if (p == Precision::F32) {
        std::memcpy(to, from, count * sizeof(float));
        return;
    }
    auto *__restrict stored = static_cast<uint16_t *>(to);
    for (size_t i = 0; i < count; i++) {
        stored[i] = bfloat_from_float(from[i]);
    }
}

void load(Precision p, const void *from, size_t count, float *__restrict to) {
    if (p == Precision::F32) {
        std::memcpy(to, from, count * sizeof(float));
        return;
    }
    const auto *__restrict stored = static_cast<const uint16_t *>(from);
    for (size_t i = 0; i < count; i++) {
        to[i] = float_from_bfloat(stored[i]);
    }
}

}  // namespace minilm
