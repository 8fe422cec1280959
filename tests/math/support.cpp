#include "support.h"

#include <cstring>
#include <limits>

namespace math_test {

std::vector<Halide::Target> targets() {
    const Halide::Target host = Halide::get_host_target();
    Halide::Target sse41 = host, avx2 = host;
    for (int feature = Halide::Target::JIT; feature < Halide::Target::FeatureEnd; feature++) {
        sse41.set_feature(Halide::Target::Feature(feature), false);
    }
    sse41.set_feature(Halide::Target::SSE41);
    avx2 = sse41;
    avx2.set_features({Halide::Target::AVX, Halide::Target::AVX2, Halide::Target::FMA, Halide::Target::F16C});
    std::vector<Halide::Target> all = {sse41};
    if (host.has_feature(Halide::Target::AVX2) && host.has_feature(Halide::Target::FMA)) {
        all.push_back(avx2);
    }
    if (host.has_feature(Halide::Target::AVX512_Skylake)) {
        avx2.set_features({Halide::Target::AVX512, Halide::Target::AVX512_Skylake});
        all.push_back(avx2);
    }
    return all;
}

std::vector<float> samples(unsigned step, const std::vector<float> &more) {
    std::vector<float> all = more;
    for (uint64_t bits = 0; bits <= 0xffffffffu; bits += step) {
        const uint32_t b = static_cast<uint32_t>(bits);
        float x;
        std::memcpy(&x, &b, sizeof x);
        all.push_back(x);
    }
    for (uint32_t b : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu, 0x80000000u}) {
        float x;
        std::memcpy(&x, &b, sizeof x);
        all.push_back(x);
    }
    const float infinity = std::numeric_limits<float>::infinity();
    all.insert(all.end(), {0.0f, infinity, -infinity});
    return all;
}

}  // namespace math_test
