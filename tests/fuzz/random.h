#ifndef HALYARD_TESTS_FUZZ_RANDOM_H
#define HALYARD_TESTS_FUZZ_RANDOM_H

/** \file
 * Random numbers that are the same everywhere, unlike the distributions of <random>.
 */

#include <cstdint>
#include <string>
#include <vector>

namespace fuzz {

class Random {
public:
    explicit Random(uint64_t seed) : state_((seed + 1) * 0x9e3779b97f4a7c15u) {
        for (int n = 0; n < 4; n++) {
            next();
        }
    }

    uint64_t below(uint64_t n) {
        return next() % n;
    }

    bool percent(uint64_t p) {
        return below(100) < p;
    }

    template<typename T>
    const T &of(const std::vector<T> &values) {
        return values[below(values.size())];
    }

private:
    uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_ >> 11;
    }

    uint64_t state_;
};

}  // namespace fuzz

#endif
