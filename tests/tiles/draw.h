#ifndef HALYARD_TESTS_TILES_DRAW_H
#define HALYARD_TESTS_TILES_DRAW_H

/** \file
 * What the tests with drawn pipelines share.
 */

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "kernel/buffer.h"

namespace tiles_test {

/** A number of the environment. */
inline int setting(const char *name, int otherwise) {
    const char *given = std::getenv(name);
    return given ? std::atoi(given) : otherwise;
}

/** Of the emulated device, for libraries that are loaded after it. */
inline void set_capability(int capability) {
    static void *const driver = dlopen(std::getenv("HALYARD_CUDA_DRIVER"), RTLD_NOW);
    REQUIRE(driver);
    const auto set = reinterpret_cast<void (*)(const char *, int)>(dlsym(driver, "halyard_emulator_set"));
    REQUIRE(set);
    set("capability", capability);
}

/** What the emulator has counted so far (tests/emulator/driver.h). */
inline int count(const char *what) {
    static void *const driver = dlopen(std::getenv("HALYARD_CUDA_DRIVER"), RTLD_NOW);
    REQUIRE(driver);
    const auto counted = reinterpret_cast<int (*)(const char *)>(dlsym(driver, "halyard_emulator_count"));
    REQUIRE(counted);
    return counted(what);
}

class Draw {
public:
    explicit Draw(uint64_t seed) : random_(uint32_t(seed)) {}
    int below(int n) {
        return int(random_() % unsigned(n));
    }
    bool one_in(int n) {
        return below(n) == 0;
    }
    template<typename T>
    T of(const std::vector<T> &all) {
        return all[size_t(below(int(all.size())))];
    }

private:
    std::mt19937 random_;
};

/** That a result of so many columns is what it should be, to the bit. */
inline void check_equal(const std::vector<double> &should, const std::vector<double> &is, int columns) {
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < should.size(); i++) {
        if (!(should[i] == is[i]) && wrong++ == 0) {
            first = i;
        }
    }
    if (wrong != 0) {
        INFO(wrong << " of " << should.size() << " are wrong, the first at column " << first % size_t(columns) << ", row "
                   << first / size_t(columns) << ": " << is[first] << " for " << should[first]);
        CHECK(wrong == 0);
    }
}

/** Rows of some pitch, from some offset on. */
inline halyard::Layout drawn_layout(const std::vector<int> &extents, Draw &d) {
    halyard::Layout l(extents);
    l.strides = {1};
    int stride = extents[0];
    for (size_t i = 1; i < extents.size(); i++) {
        stride += d.of<int>({0, 0, 1, 3, 8, 16});
        l.strides.push_back(stride);
        stride *= extents[i];
    }
    l.offset = d.of<int>({0, 0, 1, 2, 5, 8});
    return l;
}

}  // namespace tiles_test

#endif
