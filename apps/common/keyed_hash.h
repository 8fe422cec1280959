#ifndef HALYARD_APPS_KEYED_HASH_H
#define HALYARD_APPS_KEYED_HASH_H

/** \file
 * Hashes for tables whose keys stand in a file of somebody else. Those of the standard library are known beforehand: keys that share a place
 * of the table make it a list, and what is done for each key takes the square of the time.
 */

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace halyard_apps {

/** Other numbers in each process. The bytes are the coefficients of a polynomial, whose value at a random place, modulo 2^61 - 1, is the hash
 * (Carter and Wegman, Universal classes of hash functions, 1979): two texts of n bytes share it with a probability of (n / 7 + 2) / 2^61. */
class KeyedHash {
public:
    size_t operator()(std::string_view text) const {
        uint64_t hash = text.size();
        constexpr size_t kStep = 7;  // bytes below the modulus
        while (text.size() >= kStep) {
            hash = step(hash, part(text.data(), kStep));
            text.remove_prefix(kStep);
        }
        return size_t(step(hash, part(text.data(), text.size())));
    }

    size_t operator()(uint64_t number) const {
        return size_t(step(step(0, number & 0xffffffff), number >> 32));
    }

private:
    static constexpr uint64_t kModulus = (uint64_t(1) << 61) - 1;

    static uint64_t part(const char *bytes, size_t count) {
        uint64_t number = 0;
        std::memcpy(&number, bytes, count);
        return number & (~uint64_t(0) >> 8);
    }

    // (hash + number) place, modulo 2^61 - 1, of a hash below 2^61 and a number below 2^56.
    static uint64_t step(uint64_t hash, uint64_t number) {
        static const uint64_t place = random_place();
        __extension__ using Wide = unsigned __int128;
        const Wide product = Wide(hash + number) * place;
        const uint64_t folded = uint64_t(product & kModulus) + uint64_t(product >> 61);
        return folded >= kModulus ? folded - kModulus : folded;
    }

    static uint64_t random_place() {
        std::random_device device;
        return ((uint64_t(device()) << 32 | device()) % (kModulus - 1)) + 1;
    }
};

}  // namespace halyard_apps

#endif
