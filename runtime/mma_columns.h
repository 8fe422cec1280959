#ifndef HALYARD_MMA_COLUMNS_H
#define HALYARD_MMA_COLUMNS_H

#include "mma_parts.h"

namespace halyard_mma {

/** Columns of b in parts (mma_parts.h), in units of 32 of them by a step of 32 along k: [tile][part][1 KiB]. Each unit is made beside
 * the products of the one before it, so that parts are written and read in L1, and again for each block of 32 rows of a. To make them
 * once is slower for one block, and no faster for several: beside all blocks of the 32 columns before, and kept in L2, or with the sums
 * of 32 of k in memory between their blocks.
 */
class ColumnParts {
public:
    static constexpr int kColumns = 2 * kTileGroups;

    struct Of {
        Matrix<const void> b = {nullptr, 0};
        int cols = 0, depth = 0;

        int units() const {
            return (cols + kColumns - 1) / kColumns * steps_of(depth);
        }
        bool operator==(const Of &o) const {
            return b.data == o.b.data && b.stride == o.b.stride && cols == o.cols && depth == o.depth;
        }
    };

    /** What is multiplied now, in so many turns without any other between them, and then, if not null, `next` of the same size.
     * False: no memory. */
    template<typename Vectors>
    bool begin(const Of &of, const void *next, int turns) {
        turn_ = of == now_ ? turn_ + 1 : 1;
        if (!ahead_ || !(of == making_)) {
            if (!reserve(&data_, &bytes_, 2 * kUnitBytes)) {
                return false;
            }
            making_ = of;
            unit_ = 0;
            if (of.units() > 0) {
                make<Vectors>();
            }
        }
        now_ = of;
        first_ = 1 - slot_;
        after_ = turn_ < turns ? of : Of{{next, of.b.stride}, of.cols, of.depth};
        ahead_ = false;
        return true;
    }

    const char *unit(int u) const {
        return data_ + (first_ + u) % 2 * kUnitBytes;
    }

    /** Whether there is a unit to be made beside the products of one. */
    bool more() {
        if (unit_ == making_.units() && after_.b.data) {
            making_ = after_;
            after_ = Of();
            unit_ = 0;
            ahead_ = true;
        }
        return unit_ < making_.units();
    }

    /** How many tiles it has if they are whole, to be made by rows(), and then made(); else 0, and make(). */
    int whole() const {
        const int cols = least(kColumns, making_.cols - column());
        return making_.depth - depth() >= kTileDepth && cols % kTileGroups == 0 ? cols / kTileGroups : 0;
    }

    /** The rows of tiles of a unit, to be made one after the other. */
    struct Rows {
        const char *x, *in_order;  // of b: the next that is made, and what is read then if b is read row by row
        ptrdiff_t stride;
        char *to;

        // Lines are prefetched in the order in which they lie, 16 rows ahead. More rows ahead are slower, and so is each line 16 rows
        // below the one that is read.
        template<typename Tiles, typename Vectors, int Count>
        void make_one() {
#pragma GCC unroll 2
            for (int tile = 0; tile < Count; tile++) {
                const char *ahead = in_order + kAhead * stride + tile * kRowBytes;
                Tiles::template prefetch<false>(ahead);
                Tiles::template prefetch<false>(ahead + stride);
            }
            const float *upper = reinterpret_cast<const float *>(x), *lower = reinterpret_cast<const float *>(x + kTileRows * stride);
#pragma GCC unroll 2
            for (int tile = 0; tile < Count; tile++) {
                Vectors::split(upper + tile * kTileGroups, lower + tile * kTileGroups, to + tile * kParts * kTileBytes);
            }
            x += stride;
            in_order += 2 * stride;
            to += kRowBytes;
        }
    };

    Rows rows() const {
        const char *first = static_cast<const char *>(making_.b.at(depth(), column()));
        return {first, first, making_.b.stride, data_ + slot_ * kUnitBytes};
    }
    void made() {
        unit_++;
        slot_ = 1 - slot_;
    }

    /** Makes a unit, with zeros below the end of b. */
    template<typename Vectors>
    void make() {
        const Of &of = making_;
        for (int r = 0; r < kTileRows; r++) {
            const int first = depth() + r, second = first + kTileRows;
            for (int col = column(), tile = 0; tile < 2 && col < of.cols; tile++, col += kTileGroups) {
                const float *x = static_cast<const float *>(of.b.at(least(first, of.depth - 1), col)),
                            *y = static_cast<const float *>(of.b.at(least(second, of.depth - 1), col));
                Vectors::split(x, first < of.depth ? of.cols - col : 0, y, second < of.depth ? of.cols - col : 0,
                               data_ + slot_ * kUnitBytes + tile * kParts * kTileBytes + r * kRowBytes);
            }
        }
        made();
    }

    void forget() {
        now_ = Of();
        ahead_ = false;
    }
    void release() {
        forget();
        free(data_);
        data_ = nullptr;
        bytes_ = 0;
    }
    size_t bytes() const {
        return bytes_;
    }

private:
    static constexpr int kUnitBytes = 2 * kParts * kTileBytes, kAhead = 16;  // rows

    int column() const {
        return unit_ / steps_of(making_.depth) * kColumns;
    }
    int depth() const {
        return unit_ % steps_of(making_.depth) * kTileDepth;
    }

    char *data_ = nullptr;  // two units
    size_t bytes_ = 0;
    Of now_;
    int turn_ = 0, first_ = 0;  // of now_: turns begun; where its first unit is
    Of making_;
    int unit_ = 0, slot_ = 0;  // the next to be made, and where to
    Of after_;                 // what is made when that is
    bool ahead_ = false;       // the first unit of what comes after now_ is being made or is made
};

}  // namespace halyard_mma

#endif
