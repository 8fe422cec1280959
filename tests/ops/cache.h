#ifndef HALYARD_TESTS_OPS_CACHE_H
#define HALYARD_TESTS_OPS_CACHE_H

/** \file
 * Keys and values that are stored otherwise than queries are.
 */

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "rows.h"

namespace ops_test {

/** Whether keys and values have 8 bits, and scales. */
inline bool is_of_bytes(const Assignments &build) {
    const auto type = build.find("cache_type");
    return type != build.end() && (type->second == "int8" || type->second.rfind("float8", 0) == 0);
}

/** Of a sign, `exponent_bits` and the rest of 8 bits. Of e4m3 all ones alone are a NaN, and nothing is infinite. */
inline double float8(int byte, int exponent_bits) {
    const int digits = 7 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (byte & 127) >> digits, rest = byte & ((1 << digits) - 1);
    const double sign = byte & 128 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1 && (exponent_bits == 5 || rest == (1 << digits) - 1)) {
        return exponent_bits == 5 && rest == 0 ? sign * kInfinity : kNaN;
    }
    const double mantissa = exponent == 0 ? rest : rest + (1 << digits);
    return sign * std::ldexp(mantissa, std::max(exponent, 1) - bias - digits);
}

/** The keys or values of a call, "k" or "v", as what they stand for. */
inline const Tensor &cache_of(const Problem &p, const std::string &name) {
    const bool scaled = p.has(name + "_scale");
    if (!scaled) {
        return p[name];
    }
    Tensor &made = p.made[name];
    if (made.values.empty()) {
        made = p[name];
        const Tensor &scales = p[name + "_scale"];
        const auto row = size_t(made.extents[0]);
        for (size_t i = 0; i < made.values.size(); i++) {
            double &x = made.values[i];
            x = p.is("cache_type", "float8_e4m3") ? float8(int(x), 4) : p.is("cache_type", "float8_e5m2") ? float8(int(x), 5) : x;
            x *= scales.values[i / row];
        }
    }
    return made;
}

/** Sets one element of them; bytes get a NaN or the infinity of e5m2, and integers their largest. */
inline void set_in_cache(KernelArguments &arguments, const std::string &name, const std::vector<int> &index, double value) {
    HostBuffer &buffer = arguments.buffer(name);
    const halide_type_t type = buffer.type();
    const bool integer = type.code == halide_type_int, byte = type.code == halide_type_uint;
    buffer.set(index, integer ? 127 : byte ? (std::isnan(value) ? 0x7f : 0x7c) : value);
}

/** Numbers of 8 bits about as large as others are, without a NaN and an infinity, some of them subnormal. */
inline void set_cache(KernelArguments &arguments, uint64_t seed) {
    if (!arguments.has_buffer("k_scale")) {
        return;
    }
    for (const std::string name : {"k", "v"}) {
        HostBuffer &buffer = arguments.buffer(name), &scale = arguments.buffer(name + "_scale");
        const bool integer = buffer.type().code == halide_type_int;
        scale.fill_random(seed++, integer ? 0.004 : 0.05, integer ? 0.012 : 0.15);
        if (integer) {
            continue;
        }
        constexpr int kMost = 0x50;  // 8 of e4m3, 32 of e5m2
        const std::vector<double> bytes = buffer.values();
        const auto &extents = buffer.extents();
        std::vector<int> index(extents.size(), 0);
        for (double byte : bytes) {
            buffer.set(index, (int(byte) & 128) + (int(byte) & 127) % kMost);
            for (size_t d = 0; d < index.size() && ++index[d] == extents[d]; d++) {
                index[d] = 0;
            }
        }
    }
}

/** One key, whose value has every byte there is. */
inline Case every_byte() {
    return {"every byte",
            {{"d", 256}, {"queries", 1}, {"keys", 1}, {"heads", 1}, {"key_heads", 1}, {"batch", 1}},
            [](KernelArguments &arguments, const Dims &) {
                for (int i = 0; i < 256; i++) {
                    arguments.buffer("k").set({i, 0, 0, 0}, 0);
                    arguments.buffer("v").set({i, 0, 0, 0}, arguments.buffer("v").type().code == halide_type_int ? i - 128 : i);
                }
                arguments.buffer("v_scale").set({0, 0, 0}, 0.75);
                if (arguments.has_buffer("lengths")) {
                    arguments.buffer("lengths").set({0}, 1);
                }
            }};
}

}  // namespace ops_test

#endif
