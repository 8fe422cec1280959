#ifndef HALYARD_TESTS_EMULATED_TILES_H
#define HALYARD_TESTS_EMULATED_TILES_H

/** \file
 * AMX in plain C++: the tile instructions, with what they demand of each other.
 */

#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/mma.h"

namespace emulated {

struct Tile {
    int rows = 0, row_bytes = 0;
    unsigned char data[16][64] = {};
};

inline Tile tiles[8];
inline bool configured = false;
inline int configurations = 0, multiplications = 0, loads = 0;
inline std::vector<const void *> prefetched;

inline void demand(bool holds, const char *what) {
    if (!holds) {
        throw std::logic_error(std::string("a processor with AMX faults here: ") + what);
    }
}

template<typename C, typename A, typename B>
struct Tiles {
    static void configure(const halyard_mma::TileConfig &config) {
        demand(config.palette == 1 && config.start_row == 0, "the palette");
        configured = true;
        configurations++;
        for (int t = 0; t < 8; t++) {
            demand(config.rows[t] <= 16 && config.row_bytes[t] <= 64, "a tile larger than 16 x 64");
            demand((config.rows[t] == 0) == (config.row_bytes[t] == 0), "a tile with rows but no columns");
            tiles[t] = Tile();
            tiles[t].rows = config.rows[t];
            tiles[t].row_bytes = config.row_bytes[t];
        }
    }

    static void release() {
        configured = false;
    }

    template<int T>
    static void load(const void *data, ptrdiff_t stride) {
        demand(configured && tiles[T].rows > 0, "a load to a tile without a shape");
        loads++;
        for (int r = 0; r < tiles[T].rows; r++) {
            memcpy(tiles[T].data[r], static_cast<const char *>(data) + r * stride, size_t(tiles[T].row_bytes));
        }
    }

    template<int T>
    static void zero() {
        demand(configured && tiles[T].rows > 0, "zeros for a tile without a shape");
        memset(tiles[T].data, 0, sizeof(tiles[T].data));
    }

    template<bool kWrite>
    static void prefetch(const void *data) {
        prefetched.push_back(data);
    }

    template<int T>
    static void store(void *data, ptrdiff_t stride) {
        demand(configured && tiles[T].rows > 0, "a store of a tile without a shape");
        for (int r = 0; r < tiles[T].rows; r++) {
            memcpy(static_cast<char *>(data) + r * stride, tiles[T].data[r], size_t(tiles[T].row_bytes));
        }
    }

    template<int TC, int TA, int TB>
    static void multiply() {
        const Tile &a = tiles[TA], &b = tiles[TB];
        Tile &c = tiles[TC];
        demand(configured && c.rows > 0 && a.rows > 0 && b.rows > 0, "a product of tiles without a shape");
        demand(c.rows == a.rows && c.row_bytes == b.row_bytes && a.row_bytes == 4 * b.rows, "tiles that do not match");
        multiplications++;
        for (int r = 0; r < c.rows; r++) {
            for (int g = 0; g < b.rows; g++) {
                for (int col = 0; col < c.row_bytes / 4; col++) {
                    C sum;
                    A as[4 / sizeof(A)];
                    B bs[4 / sizeof(B)];
                    memcpy(&sum, c.data[r] + 4 * col, 4);
                    memcpy(as, a.data[r] + 4 * g, 4);
                    memcpy(bs, b.data[g] + 4 * col, 4);
                    for (size_t i = 0; i < 4 / sizeof(A); i++) {
                        sum += C(as[i]) * C(bs[i]);
                    }
                    memcpy(c.data[r] + 4 * col, &sum, 4);
                }
            }
        }
    }
};

}  // namespace emulated

#endif
