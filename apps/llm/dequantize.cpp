#include "dequantize.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

namespace halyard_llm {

namespace {

uint16_t load_u16(const uint8_t *at) {
    uint16_t bits;
    std::memcpy(&bits, at, sizeof(bits));
    return bits;
}

float load_half(const uint8_t *at) {
    return half_to_float(load_u16(at));
}

// Element i of 16 bytes with element i low and element i + 16 high, and its fifth bit.
int with_fifth_bit(const uint8_t *low, uint32_t high, int i) {
    return (i < 16 ? low[i] & 15 : low[i - 16] >> 4) | int((high >> i) & 1) << 4;
}

// Blocks of 32: scale, minimum or none, fifth bits or none, and 16 bytes.
void block_4_or_5(const uint8_t *block, bool minimum, bool fifth, float *y) {
    const float scale = load_half(block);
    const uint8_t *at = block + 2;
    const float least = minimum ? load_half(at) : 0;
    at += minimum ? 2 : 0;
    uint32_t high = 0;
    if (fifth) {
        std::memcpy(&high, at, sizeof(high));
        at += 4;
    }
    const int centre = minimum ? 0 : fifth ? 16 : 8;
    for (int i = 0; i < 32; i++) {
        y[i] = float(with_fifth_bit(at, high, i) - centre) * scale + least;
    }
}

// Scale and minimum of part `i` of 8 of a block of Q4_K and Q5_K, 6 bits each, in 12 bytes.
void scale_of_part(const uint8_t *bytes, int i, int *scale, int *least) {
    if (i < 4) {
        *scale = bytes[i] & 63;
        *least = bytes[i + 4] & 63;
    } else {
        *scale = (bytes[i + 4] & 15) | ((bytes[i - 4] >> 6) << 4);
        *least = (bytes[i + 4] >> 4) | ((bytes[i] >> 6) << 4);
    }
}

void block_4k_or_5k(const uint8_t *block, bool fifth, float *y) {
    const float scale = load_half(block), least = load_half(block + 2);
    const uint8_t *scales = block + 4, *high = block + 16, *low = block + (fifth ? 48 : 16);
    for (int part = 0; part < 8; part++) {
        int s = 0, m = 0;
        scale_of_part(scales, part, &s, &m);
        for (int i = 0; i < 32; i++) {
            const uint8_t byte = low[part / 2 * 32 + i];
            const int q = (part % 2 == 0 ? byte & 15 : byte >> 4) | (fifth ? ((high[i] >> part) & 1) << 4 : 0);
            y[part * 32 + i] = scale * float(s) * float(q) - least * float(m);
        }
    }
}

void block_6k(const uint8_t *block, float *y) {
    const uint8_t *low = block, *high = block + 128;
    const auto *scales = reinterpret_cast<const int8_t *>(block + 192);
    const float scale = load_half(block + 208);
    for (int i = 0; i < 256; i++) {
        const int half = i / 128, row = i % 128 / 32, at = i % 32;
        const uint8_t byte = low[half * 64 + row % 2 * 32 + at];
        const int q = (row < 2 ? byte & 15 : byte >> 4) | (((high[half * 32 + at] >> (2 * row)) & 3) << 4);
        y[i] = scale * float(scales[i / 16]) * float(q - 32);
    }
}

void one_block(TensorType type, const uint8_t *block, float *y) {
    switch (type) {
    case TensorType::kF32: std::memcpy(y, block, sizeof(float)); break;
    case TensorType::kF16: *y = load_half(block); break;
    case TensorType::kBF16: {
        const uint32_t bits = uint32_t(load_u16(block)) << 16;
        std::memcpy(y, &bits, sizeof(bits));
        break;
    }
    case TensorType::kQ4_0: block_4_or_5(block, false, false, y); break;
    case TensorType::kQ4_1: block_4_or_5(block, true, false, y); break;
    case TensorType::kQ5_0: block_4_or_5(block, false, true, y); break;
    case TensorType::kQ5_1: block_4_or_5(block, true, true, y); break;
    case TensorType::kQ8_0:
        for (int i = 0; i < 32; i++) {
            y[i] = float(int8_t(block[2 + i])) * load_half(block);
        }
        break;
    case TensorType::kQ4_K: block_4k_or_5k(block, false, y); break;
    case TensorType::kQ5_K: block_4k_or_5k(block, true, y); break;
    case TensorType::kQ6_K: block_6k(block, y); break;
    default:
        throw std::runtime_error(fmt::format("weights of type {} are not computed: take a model in F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, "
                                             "Q8_0, Q4_K, Q5_K or Q6_K",
                                             block_size(type)->name));
    }
}

}  // namespace

float half_to_float(uint16_t bits) {
    const uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = (bits >> 10) & 31, mantissa = bits & 1023;
    float result;
    if (exponent == 0) {
        result = float(mantissa) * 0x1p-24f;
        return sign ? -result : result;
    }
    const uint32_t all = sign | ((exponent == 31 ? 255 : exponent + 112) << 23) | (mantissa << 13);
    std::memcpy(&result, &all, sizeof(result));
    return result;
}

uint16_t float_to_bf16(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    if (value != value) {
        return uint16_t((bits >> 16) | 0x40);  // or a NaN might become an infinity
    }
    return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

void dequantize(const Tensor &tensor, int64_t first, int64_t count, float *result) {
    const BlockSize *size = block_size(tensor.type);
    const uint8_t *block = tensor.data + first / size->elements * size->bytes;
    for (int64_t i = 0; i < count; i += size->elements, block += size->bytes) {
        one_block(tensor.type, block, result + i);
    }
}

}  // namespace halyard_llm
