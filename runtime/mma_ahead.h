#ifndef HALYARD_MMA_AHEAD_H
#define HALYARD_MMA_AHEAD_H

/** \file
 * A product that is begun while something else is done with the sums of the one before it.
 *
 *   for block:  take(sums of block);  begin(next block);  for row: { step(turn++); the epilogue of a row }
 *
 * Tile instructions and vectors overlap where a few of the one stand between a few of the other, and hardly in any other way, as
 * products that wait fill what the processor looks ahead. step() is compiled into the loop over rows (lowering/mma_step.cpp), from
 * which it takes no registers, and multiplies one pair of tiles, or a few. take() does what is left. All pairs of a step of k at a
 * time gain nothing over one block after the other.
 */

#include "mma.h"

namespace halyard_mma {

/** What step() reads, whose compiled form knows where each field is. step() writes nothing: a number that is read, counted up and
 * written for each row would wait for the stores of tiles before it. A step of k is kPairs pairs of tiles: rows of a in kA and
 * kA + 1, columns of b in kB and kB + 1. */
struct Pairs {
    static constexpr int32_t kNone = -1;  // a mask that costs the least

    int32_t turns = 0;                // of loops with step(), since begin()
    int32_t mask = kNone, shift = 0;  // turns with none of these bits set multiply; of how many bits
    int32_t each = 0, count = 0;      // pairs a turn, at most, and of all turns
    const char *a = nullptr, *b = nullptr;
    int64_t a_stride = 0, b_stride = 0;
    int64_t second = 0;  // bytes from the first row of tiles of a to the second

    static constexpr int kMostSteps = 64, kPairs = 4;
    struct Step {
        int64_t a, b;         // bytes from the first
    } steps[kMostSteps + 1];  // and what comes after them, or the last again
};
static_assert(sizeof(void *) == 8, "lowering/mma_step.cpp counts bytes");

constexpr int kAheadBytes = 2048;  // of memory for one

/** Of a task. The first number of its memory counts turns, a loop of them at a time: what calls step() does it. */
template<typename Tiles>
class Ahead : public Pairs {
public:
    /** Of products of a shape, that differ in where they begin, in rows and in columns. */
    explicit Ahead(const Product &shape) : p_(shape), all_(shape.groups / kTileGroups * shape.taps()) {}

    /** What the caller touches after the next product. */
    void touch(const Rows &written, const Rows &read) {
        p_.written = written;
        p_.read = read;
    }

    /** The product, what of it is done or not. */
    void take(void *c_data, const void *a_data, const void *b_data, int rows, int cols, const Lines &lines) {
        const bool same = begun_ && a_data == p_.a.data && b_data == p_.b.data && rows == p_.rows && cols == p_.cols && lines.count == 1;
        begun_ = false;
        place(c_data, a_data, b_data, rows, cols, lines);
        if (same) {
            finish();
        } else {
            multiply<Tiles>(p_);
        }
        mask = kNone;
        count = 0;
    }

    /** The same product, for who has no tiles. */
    const Product &place(void *c_data, const void *a_data, const void *b_data, int rows, int cols, const Lines &lines) {
        p_.c.data = c_data;
        p_.a.data = a_data;
        p_.b.data = b_data;
        p_.rows = rows;
        p_.cols = cols;
        p_.lines = lines;
        return p_;
    }

    /** Begins a product, if it is one of those that step() can do. So many turns may come, each with time for so many pairs. */
    void begin(const void *a_data, const void *b_data, int rows, int cols, int turns_to_come, int pairs) {
        const bool square = rows > kTileRows && rows <= 2 * kTileRows && cols >= 2 * kTileGroups && cols % (2 * kTileGroups) == 0;
        if (!square || p_.lines.count != 1 || p_.groups % kTileGroups != 0 || all_ < kWorth) {
            return;
        }
        if (!listed_) {
            list_steps();
        }
        p_.a.data = a_data;
        p_.b.data = b_data;
        p_.rows = rows;
        p_.cols = cols;
        a = static_cast<const char *>(a_data);
        b = static_cast<const char *>(b_data);
        a_stride = p_.a.stride;
        b_stride = p_.b.stride;
        second = (rows - kTileRows) * p_.a.stride;
        begin_square();
        turns = 0;
        count = kPairs * least(all_, kMostSteps);
        for (shift = 0; (2 << shift) * kPairs * all_ <= turns_to_come; shift++) {
        }
        mask = (1 << shift) - 1;
        each = turns_to_come > 0 ? least(pairs, (kPairs * all_ + turns_to_come - 1) / turns_to_come) : pairs;
        begun_ = true;
    }

    /** The pairs of a turn; as lowering/mma_step.cpp does it. */
    void step(int turn) const {
        if ((turn & mask) == 0) {
            const int first = (turn >> shift) * each;
            for (int number = first; number < least(first + each, count); number++) {
                pair(number);
            }
        }
    }

private:
    int64_t offset_of_a(int step) const {
        const int each_tap = p_.groups / kTileGroups;
        return static_cast<const char *>(p_.a_of(step / each_tap).at(0, step % each_tap * kTileGroups)) -
               static_cast<const char *>(p_.a.data);
    }
    int64_t offset_of_b(int step) const {
        const int each_tap = p_.groups / kTileGroups;
        return static_cast<const char *>(p_.b_of(step / each_tap).at(step % each_tap * kTileGroups, 0)) -
               static_cast<const char *>(p_.b.data);
    }

    void list_steps() {
        listed_ = true;
        for (int s = 0; s <= least(all_, kMostSteps); s++) {
            steps[s] = {offset_of_a(least(s, all_ - 1)), offset_of_b(least(s, all_ - 1))};
        }
    }

    void begin_square() const {
        Tiles::template load<kB>(b, b_stride);
        Tiles::template load<kA>(a, a_stride);
        Tiles::template load<kB + 1>(b + 4 * kTileGroups, b_stride);
        Tiles::template load<kA + 1>(a + second, a_stride);
        Tiles::template zero<0>();
        Tiles::template zero<1>();
        Tiles::template zero<2>();
        Tiles::template zero<3>();
    }

    // Its operands are loaded; what the next step needs is, once nothing else reads the register.
    void pair(int number) const {
        const Step &next = steps[number / kPairs + 1];
        const char *const next_a = a + next.a, *const next_b = b + next.b;
        switch (number % kPairs) {
        case 0: Tiles::template multiply<0, kA, kB>(); break;
        case 1:
            Tiles::template multiply<1, kA, kB + 1>();
            Tiles::template load<kA>(next_a, a_stride);
            break;
        case 2:
            Tiles::template multiply<2, kA + 1, kB>();
            Tiles::template load<kB>(next_b, b_stride);
            break;
        default:
            Tiles::template multiply<3, kA + 1, kB + 1>();
            Tiles::template load<kA + 1>(next_a + second, a_stride);
            Tiles::template load<kB + 1>(next_b + 4 * kTileGroups, b_stride);
        }
    }

    void finish() {
        Prefetches<Tiles> prefetches = {{p_.written, 1}, {p_.read, 1}};
        prefetches.some();
        int done = least(((turns + mask) >> shift) * each, count);
        for (; done % kPairs != 0; done++) {
            pair(done);
        }
        Block<Tiles, 2, 2> block(p_, 0, 0, p_.rows, 2 * kTileGroups, prefetches);
        block.go_on(done / kPairs, true);
        block.store();
        for (int col = 2 * kTileGroups; col < p_.cols; col += 2 * kTileGroups) {
            Block<Tiles, 2, 2>(p_, 0, col, p_.rows, 2 * kTileGroups, prefetches).run();
        }
    }

    Product p_;  // what was taken last, or is begun
    int all_;    // steps
    bool listed_ = false, begun_ = false;

    // Fewer steps take less time than it takes to begin them ahead.
    static constexpr int kWorth = 4;
};

}  // namespace halyard_mma

#endif
