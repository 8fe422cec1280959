#ifndef HALYARD_MMA_H
#define HALYARD_MMA_H

/** \file
 * Matrix products in tiles, as the word mma calls them:
 *
 *   c[row][col] += sum over group, member of a[row][group][member] * b[group][col][member]
 *
 * or, where the sums are fresh, = for +=.
 *
 * The sum may have two more loops around the groups, as over the window of a convolution, and rows may be those of several
 * lines, as of an image.
 *
 * A group is the 32 bits that one step of a tile instruction multiplies and adds up: 2 of bf16, 4 of
 * 8 bits. b is so in packed weights (generators/math/weights.h), a is so by itself.
 *
 * Tiles are eight registers of up to 16 rows of 64 bytes. The loop over them is written over a class
 * of tile instructions, so that tests run it on processors without any.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace halyard_mma {

constexpr int kTileRows = 16, kTileGroups = 16;  // 16 groups of 32 bits, or results of 32 bits, a row

/** What ldtilecfg reads. */
struct TileConfig {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64, "the processor reads 64 bytes");

/** A matrix of 32-bit units: groups of a or b, elements of c. */
template<typename T>
struct Matrix {
    T *data;
    ptrdiff_t stride;  // bytes between rows

    T *at(int row, int unit) const {
        using Byte = typename Bytes<T>::type;
        return reinterpret_cast<T *>(reinterpret_cast<Byte *>(data) + row * stride + 4 * ptrdiff_t(unit));
    }

private:
    template<typename U>
    struct Bytes {
        using type = char;
    };
    template<typename U>
    struct Bytes<const U> {
        using type = const char;
    };
};

/** Rows of something that the caller will touch next, which are prefetched while the product is computed. */
struct Rows {
    const char *data = nullptr;
    ptrdiff_t stride = 0;     // bytes between rows
    int rows = 0, bytes = 0;  // bytes of a row
};

/** A loop of the sum around the groups. */
struct Taps {
    int count = 1;
    ptrdiff_t a = 0, b = 0;  // bytes from one to the next
};

/** Rows of several lines, as many of each; of none, behind the last line of an image, nothing is read or written. */
struct Lines {
    int count = 1;
    ptrdiff_t a = 0, c = 0;  // bytes from one to the next
};

struct Product {
    Matrix<void> c;
    Matrix<const void> a, b;
    int rows, cols, groups;
    bool fresh = false;  // nothing is in c yet
    Rows written, read;  // after it
    Taps outer, inner;
    Lines lines = {};

    int taps() const {
        return outer.count * inner.count;
    }
    /** The operands of a tap, of all of them. */
    Matrix<const void> a_of(int tap) const {
        return {static_cast<const char *>(a.data) + tap / inner.count * outer.a + tap % inner.count * inner.a, a.stride};
    }
    Matrix<const void> b_of(int tap) const {
        return {static_cast<const char *>(b.data) + tap / inner.count * outer.b + tap % inner.count * inner.b, b.stride};
    }
};

inline int least(int a, int b) {
    return a < b ? a : b;
}

/** The product of a line. What is touched after all of them is with the first. */
inline Product line_of(Product p, int line) {
    p.a.data = static_cast<const char *>(p.a.data) + line * p.lines.a;
    p.c.data = static_cast<char *>(p.c.data) + line * p.lines.c;
    p.lines = {};
    if (line > 0) {
        p.written = p.read = {};
    }
    return p;
}

/** All lines as one, if they lie so: what is between the rows of two lines, the same in a and in c, becomes rows that nobody reads.
 * Lines of 7 pixels fill half of a tile, and each would read all of b. */
inline Product joined(const Product &p) {
    const ptrdiff_t pitch = p.a.stride > 0 ? p.lines.a / p.a.stride : 0;
    const bool alike = pitch >= p.rows && p.lines.a == pitch * p.a.stride && p.lines.c == pitch * p.c.stride;
    if (p.lines.count <= 1 || !p.fresh || !alike || 2 * p.rows < pitch) {
        return p;
    }
    Product all = p;
    all.rows += int(pitch) * (p.lines.count - 1);
    all.lines = {};
    return all;
}

/** Whole tiles, all eight of them. What multiplies finds them so, and leaves them so. */
inline TileConfig whole_tiles() {
    TileConfig config;
    for (int t = 0; t < 8; t++) {
        config.rows[t] = kTileRows;
        config.row_bytes[t] = 4 * kTileGroups;
    }
    return config;
}

/** Asks for the lines of rows, some of them each time. */
template<typename Tiles, bool kWrite>
class Prefetch {
public:
    Prefetch(const Rows &r, int times) : r_(r) {
        // A row may begin amid a line.
        const int lines = r.rows > 0 && r.bytes > 0 ? (r.bytes + kLine - 1) / kLine : 0;
        each_ = times > 0 ? (lines * r.rows + times - 1) / times : 0;
    }

    void some() {
        for (int i = 0; i < each_ && row_ < r_.rows; i++) {
            Tiles::template prefetch<kWrite>(r_.data + row_ * r_.stride + at_);
            at_ += kLine;
            if (at_ >= r_.bytes) {
                at_ = 0;
                row_++;
            }
        }
    }

private:
    static constexpr int kLine = 64;

    const Rows &r_;
    int each_, row_ = 0, at_ = 0;
};

/** Both kinds. */
template<typename Tiles>
struct Prefetches {
    Prefetch<Tiles, true> written;
    Prefetch<Tiles, false> read;

    void some() {
        written.some();
        read.some();
    }
};

/** Tile registers: results in 0 to 3, rows of a in 4 and 5, columns of b in 6 and 7. With six results in 0 to 5 rows of a
 * take turns in 6, columns of b in 7. */
constexpr int kA = 4, kB = 6, kTurnsA = 6, kTurnsB = 7;

/** A block of Rows x Cols result tiles (2 x 1, 2 x 2, 2 x 3, or 1 x 1 to 1 x 4), of which one row of tiles, and the last column but
 * for 2 x 3, may be partly filled.
 *
 * Products run at their rate, 16 cycles each, as long as four or more do not wait for each other and operands are in L1; where
 * operands are in L2, what is loaded decides. A load stands where its register becomes free, which is faster than all loads before the
 * products. Blocks of 2 x 3 are as fast as 2 x 2, although some of their columns may be idle. What is slower: prefetches into L1,
 * tileloaddt1, and sums of half of k, so that b stays in L1. A copy of a in the order of tiles gains little. */
template<typename Tiles, int Rows, int Cols>
class Block {
public:
    Block(const Product &p, int row, int col, int rows, int cols, Prefetches<Tiles> &prefetches)
        : p_(p), row_(row), col_(col), rows_(rows), cols_(cols), prefetches_(prefetches) {}

    void run() {
        // While tiles are configured, here and on the way back, nothing else runs. So rows of the second tile are moved up instead,
        // and some are computed twice.
        const bool partly = rows_ < kTileRows || cols_ < Cols * kTileGroups;
        if (partly) {
            configure();
        }
        each_result<0>([&](auto t) {
            if (p_.fresh) {
                Tiles::template zero<t.value>();
            } else {
                Tiles::template load<t.value>(p_.c.at(row_of(t), col_of(t)), p_.c.stride);
            }
        });
        go_on(0);
        store();
        if (partly) {
            Tiles::configure(whole_tiles());
        }
    }

    /** Steps of all taps from that one on, if tiles are whole; what is there of the sums is in their registers, and of a square
     * maybe the operands of the first. */
    void go_on(int first, bool loaded = false) {
        const int whole = p_.groups / kTileGroups, rest_of_groups = p_.groups - whole * kTileGroups, taps = p_.taps();
        int tap = whole > 0 ? first / whole : 0, skip = first - tap * whole;
        for (Operands now = operands(tap); tap < taps; tap++, skip = 0) {
            const bool goes_on = tap + 1 < taps && rest_of_groups == 0;
            const Operands next = tap + 1 < taps ? operands(tap + 1) : Operands();
            steps(now.after(skip), whole - skip, loaded, goes_on ? &next : nullptr);
            if (rest_of_groups > 0) {
                rest(now, whole * kTileGroups, rest_of_groups);
            }
            loaded = rest_of_groups == 0;
            now = next;
        }
    }

    void store() {
        each_result<0>([&](auto t) { Tiles::template store<t.value>(p_.c.at(row_of(t), col_of(t)), p_.c.stride); });
    }

private:
    static constexpr bool kTurns = Rows == 2 && Cols == 3, kSquare = Rows == 2 && Cols == 2;

    template<int I>
    struct Index {
        static constexpr int value = I;
    };

    template<int I, typename F>
    static void each_result(F f) {
        if constexpr (I < Rows * Cols) {
            f(Index<I>());
            each_result<I + 1>(f);
        }
    }

    struct Operands {
        Matrix<const void> a = {nullptr, 0}, b = {nullptr, 0};

        Operands after(int steps) const {
            return {{a.at(0, steps * kTileGroups), a.stride}, {b.at(steps * kTileGroups, 0), b.stride}};
        }
    };

    Operands operands(int tap) const {
        const Matrix<const void> a = p_.a_of(tap), b = p_.b_of(tap);
        return {{a.at(row_, 0), a.stride}, {b.at(0, col_), b.stride}};
    }

    template<typename I>
    int row_of(I) const {
        return row_ + (I::value / Cols == 0 ? 0 : second());
    }
    // The first row of the second tile.
    int second() const {
        return rows_ - kTileRows;
    }
    template<typename I>
    int col_of(I) const {
        return col_ + I::value % Cols * kTileGroups;
    }

    void configure() {
        TileConfig config;
        for (int i = 0; i < Rows; i++) {
            const int rows = least(kTileRows, rows_);
            set(config, kTurns ? kTurnsA : kA + i, rows, kTileGroups);
            for (int j = 0; j < Cols; j++) {
                set(config, i * Cols + j, rows, least(kTileGroups, cols_ - j * kTileGroups));
            }
        }
        if (!kTurns) {
            set(config, kB, kTileGroups, kTileGroups);
        }
        set(config, kB + 1, kTileGroups, cols_ - (Cols - 1) * kTileGroups);
        Tiles::configure(config);
    }

    static void set(TileConfig &config, int tile, int rows, int units) {
        config.rows[tile] = uint8_t(rows);
        config.row_bytes[tile] = uint16_t(4 * units);
    }

    // The last column may be partly filled, so it has a register of its own.
    static constexpr int b_tile(int j) {
        return j + 1 == Cols ? kB + 1 : kB;
    }

    template<int J>
    void columns(const Matrix<const void> &b) {
        if constexpr (J < Cols) {
            constexpr int tile = b_tile(J);
            Tiles::template load<tile>(b.at(0, J * kTileGroups), b.stride);
            Tiles::template multiply<J, kA, tile>();
            if constexpr (Rows == 2) {
                Tiles::template multiply<Cols + J, kA + 1, tile>();
            }
            columns<J + 1>(b);
        }
    }

    void step(const Matrix<const void> &a, const Matrix<const void> &b) {
        Tiles::template load<kA>(a.at(0, 0), a.stride);
        if constexpr (Rows == 2) {
            Tiles::template load<kA + 1>(a.at(second(), 0), a.stride);
        }
        columns<0>(b);
    }

    // Steps over whole tiles, 16 groups each. What a square begins with is loaded, or what comes after them goes on.
    void steps(const Operands &o, int count, bool loaded = false, const Operands *next = nullptr) {
        for (int s = 0; s < count; s++) {
            prefetches_.some();
            const Operands now = o.after(s);
            if constexpr (kTurns) {
                in_turns(now.a, now.b);
            } else if constexpr (kSquare) {
                if (s == 0 && !loaded) {
                    load_square(now.a, now.b);
                }
                const bool last = s + 1 == count;
                square(last && next ? *next : now.after(1), !last || next);
            } else {
                step(now.a, now.b);
            }
        }
    }

    template<int I>
    void load_a(const Matrix<const void> &a) {
        Tiles::template load<kTurns ? kTurnsA : kA + I>(a.at(I == 0 ? 0 : second(), 0), a.stride);
    }
    template<int J>
    void load_b(const Matrix<const void> &b) {
        Tiles::template load<kTurns ? kTurnsB : kB + J>(b.at(0, J * kTileGroups), b.stride);
    }

    void load_square(const Matrix<const void> &a, const Matrix<const void> &b) {
        load_b<0>(b);
        load_a<0>(a);
        load_b<1>(b);
        load_a<1>(a);
    }

    // The operands are loaded; those of the next step are as soon as nothing else reads their register.
    void square(const Operands &next, bool more) {
        Tiles::template multiply<0, kA, kB>();
        Tiles::template multiply<1, kA, kB + 1>();
        if (more) {
            load_a<0>(next.a);
        }
        Tiles::template multiply<2, kA + 1, kB>();
        if (more) {
            load_b<0>(next.b);
        }
        Tiles::template multiply<3, kA + 1, kB + 1>();
        if (more) {
            load_b<1>(next.b);
            load_a<1>(next.a);
        }
    }

    // There and back along the columns of b, the second time from L1.
    void in_turns(const Matrix<const void> &a, const Matrix<const void> &b) {
        load_a<0>(a);
        load_b<0>(b);
        Tiles::template multiply<0, kTurnsA, kTurnsB>();
        load_b<1>(b);
        Tiles::template multiply<1, kTurnsA, kTurnsB>();
        load_b<2>(b);
        Tiles::template multiply<2, kTurnsA, kTurnsB>();
        load_a<1>(a);
        Tiles::template multiply<5, kTurnsA, kTurnsB>();
        load_b<1>(b);
        Tiles::template multiply<4, kTurnsA, kTurnsB>();
        load_b<0>(b);
        Tiles::template multiply<3, kTurnsA, kTurnsB>();
    }

    // The groups that do not fill a tile, with zeros behind them.
    void rest(const Operands &o, int group, int groups) {
        alignas(64) uint32_t a[Rows * kTileRows][kTileGroups] = {};
        alignas(64) uint32_t b[kTileGroups][Cols * kTileGroups] = {};
        for (int r = 0; r < rows_; r++) {
            memcpy(a[r], o.a.at(r, group), 4 * size_t(groups));
        }
        for (int g = 0; g < groups; g++) {
            memcpy(b[g], o.b.at(group + g, 0), 4 * size_t(cols_));
        }
        steps({{a, sizeof(a[0])}, {b, sizeof(b[0])}}, 1);
    }

    const Product &p_;
    int row_, col_, rows_, cols_;
    Prefetches<Tiles> &prefetches_;
};

/** A line in blocks. */
template<typename Tiles>
void multiply_line(const Product &p, Prefetches<Tiles> &prefetches) {
    for (int row = 0, rows = 0; row < p.rows; row += rows) {
        rows = least(2 * kTileRows, p.rows - row);
        // Less than a tile would need a configuration of its own: some rows are computed twice.
        if (rows < kTileRows && row > 0 && p.fresh) {
            row = p.rows - kTileRows;
            rows = kTileRows;
        }
        for (int col = 0, cols = 0; col < p.cols; col += cols) {
            const int left = p.cols - col, tiles_left = (left + kTileGroups - 1) / kTileGroups;
            // A block of two tiles would wait for its own sums, so that an odd one goes with the first two.
            const bool three = rows > kTileRows && tiles_left % 2 == 1 && left >= 3 * kTileGroups;
            const int wide = three ? 3 : rows > kTileRows ? 2 : 4;  // tiles of columns
            cols = least(wide * kTileGroups, left);
            const int tiles = (cols + kTileGroups - 1) / kTileGroups;
            if (three) {
                Block<Tiles, 2, 3>(p, row, col, rows, cols, prefetches).run();
            } else if (rows > kTileRows && tiles == 2) {
                Block<Tiles, 2, 2>(p, row, col, rows, cols, prefetches).run();
            } else if (rows > kTileRows) {
                Block<Tiles, 2, 1>(p, row, col, rows, cols, prefetches).run();
            } else if (tiles == 4) {
                Block<Tiles, 1, 4>(p, row, col, rows, cols, prefetches).run();
            } else if (tiles == 3) {
                Block<Tiles, 1, 3>(p, row, col, rows, cols, prefetches).run();
            } else if (tiles == 2) {
                Block<Tiles, 1, 2>(p, row, col, rows, cols, prefetches).run();
            } else {
                Block<Tiles, 1, 1>(p, row, col, rows, cols, prefetches).run();
            }
        }
    }
}

/** The whole product. */
template<typename Tiles>
void multiply(const Product &p) {
    if (p.lines.count != 1) {
        const Product all = joined(p);
        for (int line = 0; line < all.lines.count; line++) {
            multiply<Tiles>(line_of(all, line));
        }
        return;
    }
    const int steps = (p.groups + kTileGroups - 1) / kTileGroups * p.taps();
    const int across = p.cols / kTileGroups / (p.rows > kTileRows ? 2 : 4);  // blocks, at least
    const int times = steps * ((p.rows + 2 * kTileRows - 1) / (2 * kTileRows)) * (across > 1 ? across : 1);
    Prefetches<Tiles> prefetches = {{p.written, times}, {p.read, times}};
    multiply_line(p, prefetches);
}

}  // namespace halyard_mma

#endif
