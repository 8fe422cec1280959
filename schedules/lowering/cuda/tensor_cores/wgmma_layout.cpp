#include "lowering/cuda/tensor_cores/wgmma_layout.h"

#include <algorithm>

#include "lowering/cuda/tensor_cores/warpgroups.h"

namespace halyard {

WgmmaLayout::WgmmaLayout(const TileProgram &program, const std::vector<int> &leaving) : program_(program), leaving_(leaving) {
    take_parts();
}

int WgmmaLayout::warpgroups() const {
    return ping_pong() ? 2 : tile().rows / kRowsOfWarpgroup;
}

int WgmmaLayout::warpgroups(WgmmaForm form) const {
    return ping_pong() && !by_tma(form) ? 1 : warpgroups();
}

int WgmmaLayout::cluster(WgmmaForm form) const {
    return by_tma(form) ? program_.asked.cluster : 1;
}

int WgmmaLayout::stages(WgmmaForm form) const {
    return by_tma(form) ? program_.asked.stages : 1;
}

int WgmmaLayout::blocks() const {
    constexpr int kMostBlocks = 3, kRegistersBesideSums = 48;  // of a thread
    const int threads = (warpgroups() + 1) * kWarpgroup;
    const int of_memory = multiprocessor(90).blocks_of(shared_bytes(WgmmaForm::kWhole));
    const int of_registers =
        Multiprocessor::kRegisters / (threads * (program_.products() * sums() * (1 + sums_of_steps()) + kRegistersBesideSums));
    return std::clamp(std::min(of_memory, of_registers), 1, kMostBlocks);
}

int WgmmaLayout::sums() const {
    return tile().columns / 2;
}

int WgmmaLayout::sums_of_steps() const {
    constexpr int kMostSums = 192;
    const bool room = warpgroups() <= 2 && 3 * program_.products() * sums() <= kMostSums;
    return !tile().a.number().is_float8() ? 0 : room ? 2 : 1;
}

int WgmmaLayout::bytes_a() const {
    return tile().rows * kSwizzledBytes;
}

int WgmmaLayout::bytes_b() const {
    return tile().columns * kSwizzledBytes;
}

int WgmmaLayout::elements_b() const {
    return tile().columns * tile().depth;
}

int WgmmaLayout::rows_of_results() const {
    return warpgroups() * kRowsOfWarpgroup;
}

int WgmmaLayout::bytes_of_results(size_t nests, WgmmaForm form) const {
    int bytes = 0;
    for (size_t i = 0; i < nests && form == WgmmaForm::kWhole; i++) {
        bytes += rows_of_results() * tile().columns / parts_ * leaving_[i];
    }
    return bytes;
}

int WgmmaLayout::offset_b(WgmmaForm form) const {
    return stages(form) * bytes_a();
}

int WgmmaLayout::offset_results(WgmmaForm form) const {
    const int tiles = offset_b(form) + stages(form) * program_.products() * bytes_b();
    return cluster(form) > 1 ? std::max(tiles, program_.products() * bytes_of_sums()) : tiles;
}

// Which other blocks of a cluster leave where the tiles were.
int WgmmaLayout::bytes_of_sums() const {
    return tile().rows * tile().columns * 4;
}

int WgmmaLayout::offset_early(WgmmaForm form) const {
    return offset_results(form) + bytes_of_results(form);
}

int WgmmaLayout::offset_barriers(WgmmaForm form) const {
    return offset_early(form) + (form == WgmmaForm::kWhole ? bytes_early_ : 0);
}

int WgmmaLayout::shared_bytes(WgmmaForm form) const {
    const int early = form == WgmmaForm::kWhole && tiles_early_ > 0 ? warpgroups() : 0;
    return offset_barriers(form) + (by_tma(form) ? 8 * (2 * program_.asked.stages + early) : 0);
}

// As few as fit, each of whole lines.
void WgmmaLayout::take_parts() {
    const auto whole = [&](int bytes) { return bytes == 0 || tile().columns % (parts_ * (kSwizzledBytes / bytes)) == 0; };
    for (parts_ = 1; parts_ * 32 <= tile().columns; parts_++) {
        if (std::all_of(leaving_.begin(), leaving_.end(), whole) && shared_bytes(WgmmaForm::kWhole) <= kSharedBytesOfHopper) {
            return;
        }
    }
    parts_ = 1;
}

std::optional<int> WgmmaLayout::place_early(int bytes, std::optional<size_t> result) {
    const WgmmaForm form = WgmmaForm::kWhole;
    const int blocks_before = blocks();
    const int taken = result ? 0 : rows_of_results() * tile().columns * bytes;
    const int offset = result ? offset_results(form) + bytes_of_results(*result, form) : offset_early(form) + bytes_early_;
    bytes_early_ += taken;
    tiles_early_++;
    if (shared_bytes(form) > kSharedBytesOfHopper || blocks() < blocks_before) {
        bytes_early_ -= taken;
        tiles_early_--;
        return std::nullopt;
    }
    return offset;
}

}  // namespace halyard
