#ifndef HALYARD_MMA_PARTS_H
#define HALYARD_MMA_PARTS_H

/** \file
 * Numbers of float32 as sums of three of bf16, in the order in which tiles of them are multiplied (mma_f32.h): the
 * nearest, the nearest to what that leaves, and the rest.
 *
 *   x = high + middle + low,   |middle| <= 2^-8 |x|,  |low| <= 2^-16 |x|
 *
 * By integers, a half away from 0: with vcvtne2ps2bf16, and what widens its results and puts pairs side by side, a number takes
 * 0.25 ns (Emerald Rapids).
 */

#include <stdlib.h>

#include "mma_plain.h"

namespace halyard_mma {

constexpr int kParts = 3, kTileBytes = 1024, kTileDepth = 32;  // elements of a row of a tile of bf16

/** What vectors do for such products, an element at a time. */
struct PlainVectors {
    /** A row of each of some tiles, `bytes` from one to the next: 16 pairs of x and y, of which there are that many; zeros
     * behind them. For the next tile both have moved by `step`. */
    static void split(const float *x, int count_x, const float *y, int count_y, int step, char *tiles, int count, ptrdiff_t bytes) {
        for (int t = 0; t < count; t++, x += step, y += step, count_x -= step, count_y -= step, tiles += bytes) {
            for (int i = 0; i < kTileGroups; i++) {
                put(i < count_x ? x[i] : 0, tiles + i * 4);
                put(i < count_y ? y[i] : 0, tiles + i * 4 + 2);
            }
        }
    }

    static bool finite(const float *x, int count) {
        for (int i = 0; i < count; i++) {
            if (x[i] - x[i] != 0) {
                return false;
            }
        }
        return true;
    }

private:
    static void put(float x, char *at) {
        for (int part = 0; part < kParts; part++) {
            uint32_t bits;
            memcpy(&bits, &x, sizeof(bits));
            const uint16_t nearest = uint16_t((bits + 0x8000) >> 16);
            memcpy(at + part * kTileBytes, &nearest, sizeof(nearest));
            x -= widen(nearest);
        }
    }
};

/** Strips of 16 rows of a, or 16 columns of b, in parts, tile by tile as they are multiplied:
 * [strip][step of 32 along k][part, the largest first][1 KiB], with zeros where there is nothing. An element of k is in a pair
 * with that 16 behind it, so that two vectors of a row of a, and of two rows of b, become pairs by a shift. */
struct Parts {
    Matrix<const void> of = {nullptr, 0};
    int units = 0, depth = 0;  // rows of a, columns of b; along k
    char *data = nullptr;
    size_t bytes = 0;  // of memory
    int made = 0;      // rows of tiles, of each strip

    int strips() const {
        return (units + kTileRows - 1) / kTileRows;
    }
    int steps() const {
        return (depth + kTileDepth - 1) / kTileDepth;
    }
    int rows() const {
        return steps() * kTileRows;
    }
    char *tile(int strip, int step, int part = 0) const {
        return data + ((ptrdiff_t(strip) * steps() + step) * kParts + part) * kTileBytes;
    }

    /** Makes all of rows of a, if they are not made. */
    template<typename Vectors>
    void split_rows() {
        for (int r = 0; made == 0 && r < strips() * kTileRows; r++) {
            const float *x = static_cast<const float *>(of.at(least(r, units - 1), 0));
            const int count = r < units ? depth : 0;
            Vectors::split(x, count, x + kTileDepth / 2, count - kTileDepth / 2, kTileDepth,
                           tile(r / kTileRows, 0) + r % kTileRows * kRowBytes, steps(), kParts * kTileBytes);
        }
        made = rows();
    }

    /** Makes the next rows of tiles of columns of b: a pair of rows of b each. */
    template<typename Tiles, typename Vectors>
    void split_columns(int count) {
        for (const int end = least(rows(), made + count); made < end; made++) {
            const int step = made / kTileRows, pair = made % kTileRows;
            const int first = step * kTileDepth + pair, second = first + kTileDepth / 2;
            const float *x = static_cast<const float *>(of.at(least(first, depth - 1), 0)),
                        *y = static_cast<const float *>(of.at(least(second, depth - 1), 0));
            for (int i = 0; i < units; i += kTileGroups) {
                Tiles::template prefetch<false>(x + i + kAhead);
                Tiles::template prefetch<false>(y + i + kAhead);
            }
            Vectors::split(x, first < depth ? units : 0, y, second < depth ? units : 0, kTileGroups,
                           tile(0, step) + pair * kRowBytes, strips(), ptrdiff_t(steps()) * kParts * kTileBytes);
        }
    }

private:
    static constexpr int kRowBytes = 64;
    static constexpr int kAhead = 1024;  // elements: over the end of a page
};

/** Parts that are kept as long as what they are of does not change: those begun last. */
template<int kCount>
class KeptParts {
public:
    /** Those of a matrix, as far as they are made, in the place of any but `used`. Null: no memory. */
    Parts *find(const Matrix<const void> &m, int units, int depth, const Parts *used = nullptr) {
        for (Parts &p : parts_) {
            if (p.of.data == m.data && p.of.stride == m.stride && p.units == units && p.depth == depth) {
                return &p;
            }
        }
        if (&parts_[next_] == used) {
            next_ = (next_ + 1) % kCount;
        }
        Parts &p = parts_[next_];
        next_ = (next_ + 1) % kCount;
        p.of = {nullptr, 0};
        p.units = units;
        p.depth = depth;
        p.made = 0;
        const size_t bytes = size_t(p.strips()) * size_t(p.steps()) * kParts * kTileBytes;
        if (p.bytes < bytes) {
            free(p.data);
            p.data = static_cast<char *>(aligned_alloc(64, bytes));
            p.bytes = p.data ? bytes : 0;
        }
        if (!p.data) {
            return nullptr;
        }
        p.of = m;
        return &p;
    }

    /** What is made next takes the memory that was used first, which is in the cache. */
    void forget() {
        for (Parts &p : parts_) {
            p.of = {nullptr, 0};
        }
        next_ = 0;
    }

    void release() {
        for (Parts &p : parts_) {
            free(p.data);
            p = Parts();
        }
    }

    size_t bytes() const {
        size_t all = 0;
        for (const Parts &p : parts_) {
            all += p.bytes;
        }
        return all;
    }

private:
    Parts parts_[kCount];
    int next_ = 0;
};

/** What a task keeps: the rows of its blocks, and a panel and the next. */
struct TaskParts {
    KeptParts<16> a;  // 32 rows each
    KeptParts<2> b;

    void forget() {
        a.forget();
        b.forget();
    }
    void release() {
        a.release();
        b.release();
    }
    size_t bytes() const {
        return a.bytes() + b.bytes();
    }
};

}  // namespace halyard_mma

#endif
