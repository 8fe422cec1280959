#include "lowering/cuda/tensor_cores/mma_layout.h"

#include <algorithm>

#include "lowering/cuda/print/code_text.h"

namespace halyard {

namespace {

constexpr int kSumsOfThread = 128;  // at most, beside two sets of fragments
constexpr int kThreadsOfBlock = 512;

}  // namespace

MmaLayout::MmaLayout(const TileProgram &program) : program_(program) {
    const TensorCores &asked = program_.asked;
    divide_rows_and_columns();
    if (down_ == 0) {
        asked.fail("has tiles of " + number(tile().rows) + " rows and " + number(tile().columns) +
                   " columns, which cannot be divided among warps; take multiples of 32, with up to " +
                   number(kSumsOfThread * kThreadsOfBlock) + " sums of all products");
    }
    if (tile().depth % depth_of_stage() != 0) {
        asked.fail("has steps of " + number(tile().depth) + "; take " + number(depth_of_stage()) + " or " + number(2 * depth_of_stage()));
    }
    // Sums, two sets of fragments, and what addresses take.
    const int fragments = rows() / 4 + program_.products() * columns() / 4;
    const int registers = program_.products() * sums() + 2 * fragments + 60;
    blocks_ = std::clamp(kRegisters / (threads() * registers), 1, 2);
    const int room = std::min(kSharedOfBlock, kSharedOfAmpere / blocks_);
    stages_ = std::min(asked.stages * slices_of_step(), room / stage_bytes());
    if (stages_ < 2) {
        asked.fail("takes " + number(2 * stage_bytes()) + " bytes of shared memory for two stages, of " + number(room) +
                   "; take smaller tiles");
    }
}

// Reads least of shared memory for each step of the depth, rows by all warps across and columns by all down, with as many
// warps for each of the four parts of a multiprocessor.
void MmaLayout::divide_rows_and_columns() {
    const int rows = tile().rows, columns = tile().columns, all = columns * program_.products();
    const auto reads = [&](int down, int across) { return across * rows + down * all; };
    for (int down = 1; down * kRowsOfFragment <= rows; down++) {
        for (int across = 1; across * kRowsOfFragment <= columns; across++) {
            const int threads = down * across * kWarp;
            const bool whole = rows % (down * kRowsOfFragment) == 0 && columns % (across * kRowsOfFragment) == 0;
            const bool fits = threads <= kThreadsOfBlock && down * across % 4 == 0 && rows * all <= kSumsOfThread * threads;
            if (whole && fits && (down_ == 0 || reads(down, across) < reads(down_, across_))) {
                down_ = down;
                across_ = across;
            }
        }
    }
}

int MmaLayout::rows() const {
    return tile().rows / down_;
}

int MmaLayout::columns() const {
    return tile().columns / across_;
}

int MmaLayout::sums() const {
    return rows() * columns() / kWarp;
}

int MmaLayout::row_parts() const {
    return rows() / kRowsOfFragment;
}

int MmaLayout::parts() const {
    return program_.products() * row_parts();
}

int MmaLayout::depth_of_stage() const {
    return kBytesOfStage / tile().a.type.bytes();
}

int MmaLayout::slices_of_step() const {
    return tile().depth / depth_of_stage();
}

int MmaLayout::elements_a() const {
    return tile().rows * depth_of_stage();
}

int MmaLayout::elements_b() const {
    return tile().columns * depth_of_stage();
}

int MmaLayout::stage_bytes() const {
    return (elements_a() + program_.products() * elements_b()) * tile().a.type.bytes();
}

}  // namespace halyard
