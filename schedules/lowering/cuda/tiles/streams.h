#ifndef HALYARD_LOWERING_CUDA_STREAMS_H
#define HALYARD_LOWERING_CUDA_STREAMS_H

/** \file
 * How tiles of operands come to the products of a block program: through shared memory, each in a ring of slots of its own, which
 * some warps fill and others empty.
 *
 *   warps that fetch -> tiles as they are in device memory -> warps that multiply
 *                   \-> sources -> warps that compute -> tiles of computed columns -> warps that multiply
 *                   \-> sources of computed rows, which stay in registers -> warps that multiply
 *
 * All of them go over the same loops. A ring has a barrier for each slot that is full and one for each that is empty, so they are as
 * far apart as there are slots. What no loop changes is fetched before it.
 */

#include <map>
#include <string>
#include <vector>

#include "lowering/cuda/tiles/block_program.h"

namespace halyard {

enum class Role { kFetch, kCompute, kMultiply };

/** A tile in shared memory. An operand of a product is panels of 128 bytes across, each of all lines, with their
 * swizzle; so are sources of rows, where their lines are as long, or half as long. Other sources are lines one after the other. */
struct StagedTile {
    const Operand *operand = nullptr;
    bool source = false, of_rows = false;
    std::string name;
    int offset = 0;  // bytes, in a slot

    int across() const;  // elements of a line that count
    int lines() const;
    int elements() const;  // that it takes
    int bytes() const;     // a multiple of 1024
    int swizzle() const;   // the bytes of lines that are swizzled, 128 or 64; 0: they are not
};

/** What a ring is filled with by one loop. */
struct StreamUse {
    const TileBody *level = nullptr;  // whose turns each take a slot ..
    size_t first = 0, last = 0;       // .. for these of its nodes
    std::vector<StagedTile> tiles;
};

/** A ring, and the loops that take it one after the other. */
struct Stream {
    std::string name;
    Role from = Role::kFetch, to = Role::kMultiply;
    std::vector<StreamUse> uses;
    int slots = 1;
    int offset = 0;  // of the first slot

    int bytes() const;  // of a slot
};

/** Where an operand of a product lies. */
struct OperandPlace {
    const Stream *stream = nullptr;
    const StreamUse *use = nullptr;
    const StagedTile *tile = nullptr;
};

/** Bytes up to where a tile may begin, as the swizzle of 128 bytes has it. */
int in_whole_tiles(int bytes);

class Streams {
public:
    /** `room`: bytes of shared memory. Rings have as many slots as the schedule says, those outside of all loops two, or fewer where
     * there is less room; more than the room, where one each is. The program is to stay where it is.
     * `parts`: groups of the warps that multiply, which take the turns of a loop one after the other. The slots of its rings are a
     * multiple, so that each is one group's: a barrier tells a turn from the next, and not from the one after that, and a group
     * knows nothing of the turns of others. */
    Streams(const BlockProgram &program, int room, int parts);
    Streams(const Streams &) = delete;

    const std::vector<Stream> &all() const {
        return all_;
    }
    /** No stream, where it is held in registers. */
    OperandPlace place_of(const Operand &o) const;
    /** The tiles, and behind them the barriers. */
    int bytes_of_tiles() const;
    int bytes() const;

private:
    struct Around {
        const TileBody *body;
        size_t node;
        std::string loop;
    };
    void visit(const TileBody &body, std::vector<Around> around);
    size_t add(const Operand &o, bool source, Role from, Role to, const std::vector<Around> &around, size_t deepest);
    static size_t level_of(const std::vector<Halide::Expr> &all, const std::vector<Around> &around);
    void join();
    void share();
    void check_sources() const;
    void take_slots(int room, int parts);

    const BlockProgram &program_;
    std::vector<Stream> all_;
    std::map<const Operand *, std::string> names_;  // of tiles
    std::map<const TileBody *, int> stages_;        // as asked by a product there
    int count_ = 0;
};

}  // namespace halyard

#endif
