#ifndef HALYARD_MMA_PARTS_H
#define HALYARD_MMA_PARTS_H

/** \file
 * Numbers of float32 as sums of three of bf16, in the order in which tiles of them are multiplied (mma_f32.h): the
 * nearest, the first eight bits of what that leaves, and the rest.
 *
 *   x = high + middle + low,   |middle| <= 2^-8 |x|,  |low| <= 2^-7 |middle|
 *
 * Middle has either sign, whatever x has, and so have the products that are left out. Parts are made by integer instructions, 13 for
 * two vectors; with middle and low rounded as well they would be 20. It takes longer by vcvtne2ps2bf16, as its results have to be
 * widened, and pairs put side by side.
 */

#include <stdlib.h>

#include "mma_plain.h"

namespace halyard_mma {

constexpr int kParts = 3, kTileBytes = 1024, kRowBytes = 64, kTileDepth = 32;  // elements of a row of a tile of bf16

/** Memory for at least so many bytes; what was in it is lost. False: there is none. */
inline bool reserve(char **data, size_t *bytes, size_t wanted) {
    if (*bytes < wanted) {
        free(*data);
        *data = static_cast<char *>(aligned_alloc(64, wanted));
        *bytes = *data ? wanted : 0;
    }
    return *data || wanted == 0;
}

/** What vectors do for such products, an element at a time. */
struct PlainVectors {
    /** A row of a tile of each part, kTileBytes apart: 16 pairs of x and y, of which there are that many; zeros behind them. */
    static void split(const float *x, int count_x, const float *y, int count_y, char *row) {
        for (int i = 0; i < kTileGroups; i++) {
            put(i < count_x ? x[i] : 0, row + i * 4);
            put(i < count_y ? y[i] : 0, row + i * 4 + 2);
        }
    }
    static void split(const float *x, const float *y, char *row) {
        split(x, kTileGroups, y, kTileGroups, row);
    }

    static bool finite(const float *x, int count) {
        for (int i = 0; i < count; i++) {
            if (x[i] - x[i] != 0) {
                return false;
            }
        }
        return true;
    }

    /** A product of few rows, without parts. */
    static void multiply_few(const Product &p) {
        multiply_plainly<float, float, float>(p);
    }

    /** c = sums, or c += sums. */
    static void put(const float *sums, int count, bool fresh, float *c) {
        for (int i = 0; i < count; i++) {
            c[i] = fresh ? sums[i] : c[i] + sums[i];
        }
    }

private:
    static void put(float x, char *at) {
        for (int part = 0; part < kParts; part++) {
            uint32_t bits;
            memcpy(&bits, &x, sizeof(bits));
            const uint16_t upper = uint16_t((bits + (part == 0 ? 0x8000 : 0)) >> 16);
            memcpy(at + part * kTileBytes, &upper, sizeof(upper));
            x -= widen(upper);
        }
    }
};

inline int steps_of(int depth) {
    return (depth + kTileDepth - 1) / kTileDepth;
}

/** 16 rows of a each, tile by tile as they are multiplied: [strip][step of 32 along k][part, the largest first][1 KiB], with zeros
 * where there is nothing. An element of k is in a pair with that 16 behind it, so that two vectors of a row of a, and of two
 * rows of b, become pairs by a shuffle. */
struct RowParts {
    Matrix<const void> of = {nullptr, 0};
    int rows = 0, depth = 0;
    char *data = nullptr;
    size_t bytes = 0;  // of memory
    bool made = false;

    char *tile(int strip, int step) const {
        return data + (ptrdiff_t(strip) * steps_of(depth) + step) * kParts * kTileBytes;
    }

    /** Makes them, if they are not made. */
    template<typename Vectors>
    void make() {
        for (int r = 0; !made && r < (rows + kTileRows - 1) / kTileRows * kTileRows; r++) {
            const float *x = static_cast<const float *>(of.at(least(r, rows - 1), 0));
            for (int step = 0, left = r < rows ? depth : 0; step < steps_of(depth); step++, x += kTileDepth, left -= kTileDepth) {
                char *row = tile(r / kTileRows, step) + r % kTileRows * kRowBytes;
                if (left >= kTileDepth) {
                    Vectors::split(x, x + kTileDepth / 2, row);
                } else {
                    Vectors::split(x, left, x + kTileDepth / 2, left - kTileDepth / 2, row);
                }
            }
        }
        made = true;
    }
};

/** Those of the rows of a task: kept as long as they do not change, those begun last. */
template<int kCount>
class KeptRowParts {
public:
    /** Those of a matrix, made or not. Null: no memory. */
    RowParts *find(const Matrix<const void> &m, int rows, int depth) {
        for (RowParts &p : parts_) {
            if (p.of.data == m.data && p.of.stride == m.stride && p.rows == rows && p.depth == depth) {
                return &p;
            }
        }
        RowParts &p = parts_[next_];
        next_ = (next_ + 1) % kCount;
        p.of = {nullptr, 0};
        p.rows = rows;
        p.depth = depth;
        p.made = false;
        const size_t strips = size_t(rows + kTileRows - 1) / kTileRows;
        if (!reserve(&p.data, &p.bytes, strips * size_t(steps_of(depth)) * kParts * kTileBytes)) {
            return nullptr;
        }
        p.of = m;
        return &p;
    }

    /** What is made next takes the memory that was used first, which is in the cache. */
    void forget() {
        for (RowParts &p : parts_) {
            p.of = {nullptr, 0};
        }
        next_ = 0;
    }

    void release() {
        for (RowParts &p : parts_) {
            free(p.data);
            p = RowParts();
        }
    }

    size_t bytes() const {
        size_t all = 0;
        for (const RowParts &p : parts_) {
            all += p.bytes;
        }
        return all;
    }

private:
    RowParts parts_[kCount];
    int next_ = 0;
};

}  // namespace halyard_mma

#endif
