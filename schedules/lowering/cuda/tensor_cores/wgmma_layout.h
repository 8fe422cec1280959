#ifndef HALYARD_LOWERING_CUDA_WGMMA_LAYOUT_H
#define HALYARD_LOWERING_CUDA_WGMMA_LAYOUT_H

/** \file
 * How a block of a kernel for wgmma divides a tile among its warpgroups, and what lies where in its shared memory: stages of a,
 * stages of b, a tile of each result, tiles that the epilogue reads, barriers.
 */

#include <optional>
#include <vector>

#include "lowering/cuda/tensor_cores/tile_program.h"

namespace halyard {

/** Who moves tiles: TMA both ways, TMA in and the threads out, or the threads. */
enum class WgmmaForm { kWhole, kFetching, kElements };

inline bool by_tma(WgmmaForm f) {
    return f != WgmmaForm::kElements;
}

class WgmmaLayout {
public:
    /** `leaving`: of each nest behind the products the bytes of an element, where its result may leave by TMA,
     * else 0. */
    WgmmaLayout(const TileProgram &program, const std::vector<int> &leaving);

    /** Whether two warpgroups take turns, with a tile each. */
    bool ping_pong() const {
        return program_.asked.ping_pong;
    }
    /** Those that multiply; and of a tile, which has one where they take turns. */
    int warpgroups() const;
    int warpgroups(WgmmaForm form) const;
    int cluster(WgmmaForm form) const;
    int stages(WgmmaForm form) const;
    /** On a multiprocessor: of small tiles two or three, so that one multiplies while results of others leave. */
    int blocks() const;
    /** Of each product a thread has so many. */
    int sums() const;
    /** How many times it has those of a step apart, as the tensor cores keep too few bits of them: of two steps in turns where registers are
     * enough, so that the ones are added up while the others come. */
    int sums_of_steps() const;

    int bytes_a() const;
    int bytes_b() const;     // of one product
    int elements_b() const;  // the same
    int rows_of_results() const;
    /** Of those of the first nests that leave by TMA, in parts one after the other. */
    int bytes_of_results(size_t nests, WgmmaForm form) const;
    int bytes_of_results(WgmmaForm form) const {
        return bytes_of_results(leaving_.size(), form);
    }
    /** In which results leave: as many as shared memory makes necessary. */
    int parts() const {
        return parts_;
    }

    int offset_b(WgmmaForm form) const;
    int offset_results(WgmmaForm form) const;
    int offset_barriers(WgmmaForm form) const;
    int shared_bytes(WgmmaForm form) const;

    /** Room for a tile that the epilogue reads, of elements of so many bytes: where the result of a nest leaves from, or one of
     * its own. Its offset; nothing where that is too much for a block, or for two on a multiprocessor. */
    std::optional<int> place_early(int bytes, std::optional<size_t> result);

private:
    const TileOfProduct &tile() const {
        return program_.tile();
    }
    int bytes_of_sums() const;
    int offset_early(WgmmaForm form) const;
    void take_parts();

    const TileProgram &program_;
    const std::vector<int> leaving_;
    int parts_ = 1;
    int tiles_early_ = 0;
    int bytes_early_ = 0;  // of tiles that have a place of their own
};

}  // namespace halyard

#endif
