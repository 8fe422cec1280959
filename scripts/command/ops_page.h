#ifndef HALYARD_COMMAND_OPS_PAGE_H
#define HALYARD_COMMAND_OPS_PAGE_H

/** \file
 * The part of docs/reference/ops.md that holds for all ops.
 */

namespace halyard {

constexpr const char *kOpsPageHead = R"(# Ops

Made by `scripts/halyard list --markdown` from generators/ops.inc and the schedules. Extents are given innermost first;
`?` marks what only some variants have. Parameters are those of the generator, the default first. How far
results may be from float64: [accuracy](accuracy.md).

## What holds for every op

**Arrays without elements.** A call none of whose outputs has an element succeeds and writes nothing, and an array without elements
may have a null pointer, on the host and in `halyard_cuda_wrap`; it is no bounds query. A sum over nothing is 0: a product with k = 0 gives the epilogue of 0,
attention over no keys gives zeros, a maximum or a logsumexp over no columns -infinity, the best of none the
index -1. An error are a cross-entropy without columns, as no label is one of them, attention whose k and v have no heads
while q has some, and 0 groups. Types, the number of dimensions and fixed extents are checked as ever.

**Heads and groups.** The heads of k and v divide those of q, and groups the channels of x; anything else is an error of the call.

**-infinity, +infinity, NaN.** A row of nothing but -infinity is a row in which all is masked: softmax and attention give zeros (torch
gives NaN), log-softmax -infinity, a logsumexp -infinity; a cross-entropy and the weights of moe_router NaN. A row with a NaN or +infinity among
what it may see is NaN in softmax, in the cross-entropies and in all weights of moe_router; a logsumexp of +infinity is +infinity. With
`scoring=sigmoid` an infinity among the logits is an expert of weight 1 or 0, and a NaN, which is chosen before all others, makes its own weight NaN, or all
of the token's with `renormalise`.
Columns that label smoothing gives no weight (all but the label with 0, the label with 1 and one column) do not count, not even with a logit of -infinity. In
8 bits a NaN is the zero point.

**Experts.** What moe_router names is what expert_sort takes, and what that gives grouped_gemm takes: offsets and row_index for the gated product of
tokens that are gathered (`gated=true gather=true activation=silu`), then offsets, place and scores for the product back (`combine=true`). Ids that are
no expert's are left out: their place is -1, and of row_index and order as many at the end are. Rows of no expert are zeros in y, and add
nothing to their tokens. An expert without rows is not read. Sums over the experts of a token are f32, on processors in the order of the experts, on CUDA
in that of the slots. A row is of one slot: of a place that is given twice processors take the last, CUDA each. Whatever is in offsets, row_index and
place, nothing outside of the arrays is read or written; where offsets decrease, rows of y may keep what they had.

**Causal.** Queries, and the rows of a causal softmax, are aligned to the last key (bottom right): query i stands at key
i + keys - queries, so that the last one sees every key, as in FlashAttention since 2.1 and unlike the `is_causal` of torch, which is
aligned to the first key. Where there are more queries than keys, the first ones see none and give zeros.

**Ranges.** Sums and statistics are f32. The squares of RMSNorm are, and those of LayerNorm and GroupNorm from the mean are, beyond it
from about 1e19 on (less over many columns), and the result is then 0 or NaN. A cross-entropy, a logsumexp, softmax and
attention have no such limit. float16 has no numbers between 0 and 6e-8, and below 6e-5 they are 6e-8 apart: probabilities of very
long rows show it (300,000 columns of a normal distribution: 3.1e-3 of the norm, all of it this rounding); bfloat16 and `output=float32` do not have that.

**8 bits.** q = clamp(round(v * (1 / scale)) + zero_point), to nearest, ties to even. ONNX's QuantizeLinear divides by the scale: where v / scale is within a rounding
of f32 of a tie, the two may be one step apart.

**Positions.** `rope` turns the first `width` elements of a head and copies the others; `width` is twice the columns of the tables, or twice
the number of frequencies. Angles are position * frequency without rounding, for a product of up to 2^20. A position for which the tables have no row takes
the nearest that they have. Several arrays side by side, as q and k of one product, are turned in one call, as heads of one view.

**The front of attention.** `qkv_rope` stores k and v as decode_attention reads them, in any `cache_type` and in pages or not; of 8 bits with
a scale for each token and head, by which the largest of the row becomes the largest number of the type. A slot counts the rows of all sequences or
pages, one after the other: keys * sequence + key, or page * number + place in it, which is vLLM's slot_mapping. A slot that is none, as -1, stores
nothing, and what no slot names is left as it was. Where tokens share a slot, each element there is one of theirs, whichever. Projections, norm
(`qk_norm=weight`, or `one_plus_weight` as Gemma has it) and rotation are f32 and not rounded in between.

**Large arrays.** An array has fewer than 2^31 elements, counted with its strides, or the call is an error. On the host
`--target avx2-large_buffers` (a suffix to any level) makes a library with indices of 64 bits.

**In place.** No output may share memory with an input or with another output, as tails of tiles may be computed twice: such a call is an error, and
computes nothing. Views that lie between each other's rows, as columns of one matrix, share nothing.

**Errors.** A call that ends with an error of its arguments has written nothing. With any other, outputs hold anything: a bound that a schedule gives a Func
within a tile is asked where the tile is computed, when others may have been stored, and kernels of a GPU run when the call has returned.

)";

}  // namespace halyard

#endif
