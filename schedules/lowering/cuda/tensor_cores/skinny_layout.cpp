#include "lowering/cuda/tensor_cores/skinny_layout.h"

#include "lowering/cuda/print/code_text.h"

namespace halyard {

namespace {

constexpr int kDepthOfSlice = 32;  // bytes
constexpr int kMaxLines = 4;       // of 128 bytes, in a step of a row
constexpr int kSumsOfSkinnyThread = 128;

}  // namespace

SkinnyLayout::SkinnyLayout(const TileProgram &program, FetchedBy form) : program_(program), form_(form) {
    if (!program.rows.empty()) {
        program.asked.fail("has tiles of " + number(tile().rows) + " rows, whose sums are not reduced by rows; take 64 rows or more");
    }
    for (const auto &p : program.parts.products) {
        check_tile(*p.asked);
    }
    const bool engine = form == FetchedBy::kEngine;
    const int room = engine ? kSharedBytesOfHopper : kSharedOfBlock;
    stages_ = program.asked.stages;
    while (!engine && stages_ > 2 && shared_bytes(form) > room) {
        stages_--;
    }
    if (shared_bytes(form) > room) {
        program.asked.fail("takes " + number(shared_bytes(form)) + " bytes of shared memory, and a block has " + number(room) +
                           "; take fewer stages or smaller tiles");
    }
}

void SkinnyLayout::check_tile(const TensorCores &product) const {
    const int rows = tile().rows, columns = tile().columns;
    if (rows % kRowsOfFragment != 0) {
        product.fail("has tiles of " + number(rows) + " rows; take 16, 32, 64, 128 or 192");
    }
    if (columns % 16 != 0 || sums_of_warp() * program_.products() > kSumsOfSkinnyThread) {
        product.fail("has tiles of " + number(columns) + " columns; with " + number(rows) + " rows take a multiple of 16, up to " +
                     number(kSumsOfSkinnyThread * kWarp / rows / program_.products()));
    }
    const int line = elements_of_line(tile().a.type), depth = tile().depth;
    if (depth != line && depth != 2 * line && depth != kMaxLines * line) {
        product.fail("has steps of " + number(depth) + "; for tiles of " + number(rows) + " rows take " + number(line) + ", " +
                     number(2 * line) + " or " + number(kMaxLines * line));
    }
    if (product.cluster > 1) {
        product.fail("has tiles of " + number(rows) + " rows, whose steps the warps of a block share; take split_k_cluster(1)");
    }
}

int SkinnyLayout::warps() const {
    return tile().depth * tile().a.type.bytes() / kDepthOfSlice;
}

int SkinnyLayout::blocks() const {
    constexpr int kRegistersBesideSums = 40;
    const int registers = program_.products() * sums_of_warp() + kRegistersBesideSums;
    return std::clamp(std::min(multiprocessor(90).blocks_of(shared_bytes(form_)), kRegisters / ((threads() + kWarp) * registers)), 1,
                      kMaxSkinnyBlocks);
}

int SkinnyLayout::offset_barriers(FetchedBy form) const {
    return std::max(offset_b(form) + stages(form) * program_.products() * elements_b() * tile().b.type.bytes(),
                    program_.products() * sums_of_slices() * 4);
}

int SkinnyLayout::shared_bytes(FetchedBy form) const {
    return offset_barriers(form) + (form == FetchedBy::kEngine ? 2 * 8 * stages(form) : 0);
}

}  // namespace halyard
