// Pairs of a token and an expert in the order of the experts, as grouped_gemm takes them: a counting sort that keeps the order of pairs of
// one expert. Ids that are no expert's, as -1 for padding or those of experts on other devices, are left out.
//
// Pairs are counted in chunks. The place of a pair is where its expert begins, and as many further as its expert has in the chunks
// before and in front of it in its own: no pair waits for another, and nothing is counted by atomics.

#include <Halide.h>

#include "math/number.h"
#include "math/search.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;

constexpr int kBits = 24;  // of the numbers of experts and of chunks

constexpr int kMostPairs = 1 << kBits;

class ExpertSort : public Generator<ExpertSort> {
public:
    Number chunk{"chunk", 64, 1, 4096};  // pairs

    Input<Buffer<int32_t, 2>> ids{"ids"};               // [top_k, tokens]
    Output<Buffer<int32_t, 1>> offsets{"offsets"};      // [experts + 1]: the first place of each expert, and how many there are
    Output<Buffer<int32_t, 1>> order{"order"};          // [top_k * tokens]: pair slot + top_k * token of each place; -1 behind the last
    Output<Buffer<int32_t, 1>> row_index{"row_index"};  // [top_k * tokens]: its token; -1 there
    Output<Buffer<int32_t, 2>> place{"place"};          // [top_k, tokens]: where a pair is; -1 if it is left out

    void generate() {
        const Expr top_k = ids.dim(0).extent(), tokens = ids.dim(1).extent();
        pairs = top_k * tokens;
        experts = max(offsets.dim(0).extent() - 1, 0);
        chunks = (pairs + (chunk - 1)) / chunk;
        add_requirement(experts < (1 << kBits), "offsets has", experts, "experts, but may have", (1 << kBits) - 1);
        add_requirement(cast<int64_t>(top_k) * tokens < kMostPairs, "ids has", cast<int64_t>(top_k) * tokens, "elements, but may have",
                        kMostPairs - 1);
        ids.dim(0).set_min(0);
        ids.dim(1).set_min(0);
        offsets.dim(0).set_min(0);
        order.dim(0).set_bounds(0, pairs);
        row_index.dim(0).set_bounds(0, pairs);
        place.dim(0).set_bounds(0, top_k);
        place.dim(1).set_bounds(0, tokens);
        read_only_if(*this, pairs > 0, {"ids", "place"}, Granted::kNo);

        // Of a pair that is none, and of one that is left out, -1.
        const Expr inside = clamp(p, 0, max(pairs - 1, 0)), given = ids(inside % max(top_k, 1), inside / max(top_k, 1));
        id(p) = select(p < pairs && given >= 0 && given < experts, given, -1);
        const bool on_gpu = get_target().has_gpu_feature();
        const Expr last = max(experts - 1, 0);

        RDom in_chunk(0, Expr(chunk), "j");
        counts(e, c) = 0;
        if (on_gpu) {
            counts(e, c) += select(id(c * chunk + in_chunk) == e, 1, 0);
        } else {
            in_chunk.where(id(c * chunk + in_chunk) >= 0);
            counts(clamp(id(c * chunk + in_chunk), 0, last), c) += 1;
        }
        if (on_gpu) {  // sums of a thread each, in place of scans
            RDom in_front(0, chunks, "earlier"), others(0, experts, "n");
            in_front.where(in_front < c);
            before(e, c) += counts(e, in_front);
            others.where(others < e);
            first(e) += before(others, chunks);
        } else {
            RDom before_c(1, chunks, "later"), before_e(1, experts, "n");
            before(e, c) = 0;
            before(e, before_c) = before(e, before_c - 1) + counts(e, before_c - 1);
            first(e) = 0;
            first(before_e) = first(before_e - 1) + before(before_e - 1, chunks);
        }

        RDom others(0, Expr(chunk), "j");
        const Expr of_chunk = p / chunk * chunk;
        others.where(of_chunk + others < p);
        rank(p) += select(id(of_chunk + others) == id(p), 1, 0);
        const Expr of = clamp(id(p), 0, last);
        placed(p) = select(id(p) < 0, -1, first(of) + before(of, p / chunk) + rank(p));

        if (!on_gpu) {
            // Where no schedule says otherwise: Halide 21 has bounds that name what is computed inside of them.
            for (Func *f : {&counts, &before, &first, &placed}) {
                f->compute_root();
            }
        }
        on_gpu ? find_pairs(last) : scatter_pairs();
        offsets(e) = first(e);
        order(row) = sorted(row);
        row_index(row) = select(sorted(row) < 0, -1, sorted(row) / max(top_k, 1));
        place(slot, token) = placed(token * top_k + slot);
    }

private:
    /** The pair of each place, from its own: on the host. */
    void scatter_pairs() {
        sorted(row) = -1;
        RDom r(0, pairs, "p");
        r.where(placed(r) >= 0);
        sorted(clamp(placed(r), 0, max(pairs - 1, 0))) = r;
    }

    /** The pair of each place, as threads find it: the expert, then the chunk, each digit by digit, then the pair in the chunk. */
    void find_pairs(const Expr &last) {
        find_last(expert, row, kBits, experts, [&](const Expr &e) { return first(clamp(e, 0, last)) <= row; });
        const Expr of = clamp(expert(row), 0, last), number = row - first(of), last_chunk = max(chunks - 1, 0);
        find_last(chunk_of, row, kBits, chunks, [&](const Expr &c) { return before(of, clamp(c, 0, last_chunk)) <= number; });
        // How many of the chunk's pairs end before the one with this number.
        const Expr at = clamp(chunk_of(row), 0, last_chunk), in_chunk = number - before(of, at);
        RDom j(0, Expr(chunk), "j");
        found(row) = Tuple(0, 0);
        const Expr seen = found(row)[0], is_next = id(at * chunk + j) == of;
        found(row) = Tuple(seen + select(is_next, 1, 0), select(is_next && seen == in_chunk, j, found(row)[1]));
        sorted(row) = select(row < first(experts), at * chunk + found(row)[1], -1);
    }

    Var e{"e"}, c{"c"}, p{"p"}, row{"row"}, slot{"slot"}, token{"token"};
    Expr pairs, experts, chunks;
    Func id{"id"}, counts{"counts"}, before{"before"}, first{"first"}, rank{"rank"}, placed{"placed"}, sorted{"sorted"};
    Func expert{"expert"}, chunk_of{"chunk_of"}, found{"found"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(ExpertSort, expert_sort)
