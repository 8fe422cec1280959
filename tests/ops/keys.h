#ifndef HALYARD_TESTS_OPS_KEYS_H
#define HALYARD_TESTS_OPS_KEYS_H

/** \file
 * Inputs of attention over keys of which some are padding.
 */

#include <cmath>
#include <vector>

#include "cache.h"
#include "rows.h"

namespace ops_test {

/** The lengths of the sequences, in turn, where the build has them. */
inline void set_lengths(KernelArguments &arguments, const std::vector<int64_t> &in_turn) {
    if (arguments.has_buffer("lengths")) {
        HostBuffer &lengths = arguments.buffer("lengths");
        for (int n = 0; n < lengths.extents()[0]; n++) {
            lengths.set({n}, double(in_turn[size_t(n) % in_turn.size()]));
        }
    }
}

/** A mask of bytes that is neither all ones nor all zeros; sinks about as large as scores, one of them of no weight. */
inline void set_terms(KernelArguments &arguments) {
    if (arguments.has_buffer("mask") && arguments.buffer("mask").type().bits == 8) {
        HostBuffer &mask = arguments.buffer("mask");
        const auto &extents = mask.extents();
        for (int i = 0; i < extents[1]; i++) {
            for (int j = 0; j < extents[0]; j++) {
                mask.set({j, i}, (j * 5 + i * 3) % 7 == 0 ? 0 : (j + i) % 3 + 1);
            }
        }
    }
    if (arguments.has_buffer("bias") && arguments.buffer("bias").type().bits == 8) {
        HostBuffer &bias = arguments.buffer("bias");
        const auto &extents = bias.extents();
        for (int n = 0; n < extents[3]; n++) {
            for (int h = 0; h < extents[2]; h++) {
                for (int i = 0; i < extents[1]; i++) {
                    for (int j = 0; j < extents[0]; j++) {
                        bias.set({j, i, h, n}, (j * 3 + i * 5 + h + n) % 4 == 0 ? 0 : (j + i) % 2 + 1);
                    }
                }
            }
        }
    }
    if (arguments.has_buffer("sinks")) {
        HostBuffer &sinks = arguments.buffer("sinks");
        for (int h = 0; h < sinks.extents()[0]; h++) {
            sinks.set({h}, h == 1 ? -kInfinity : 1.5 - h);
        }
    }
}

/** What is of a mask or of lengths wants them. */
inline void settle_terms(Assignments &build) {
    if (build.count("mask_type") && build["masked"] != "true") {
        build["mask_type"] = "added";
    }
    if (build.count("bias_type") && build["add_bias"] != "true") {
        build["bias_type"] = "added";
    }
    if (build.count("diagonal") && build["diagonal"] == "lengths" && build["padded"] != "true") {
        build["diagonal"] = "bottom_right";
    }
}

/** A window from the sizes of a call: the reference is not told of scalars. Narrow ones, and such without a limit. */
struct KeyWindow {
    int left, right;
};

inline KeyWindow window_of(const Dims &dims) {
    const int keys = int(dims.at("keys"));
    const KeyWindow windows[] = {{keys / 8, keys / 16}, {0, 0}, {-1, 2}, {5, -1}, {keys / 3, 1}, {1 << 30, 1 << 30}};
    return windows[(keys + dims.at("queries")) % 6];
}

inline void set_window(KernelArguments &arguments, const Dims &dims) {
    try {
        const KeyWindow window = window_of(dims);
        arguments.scalar("window_left", window.left);
        arguments.scalar("window_right", window.right);
    } catch (const std::exception &) {  // the build has no window
    }
}

/** A logit of the reference: the score with its terms. */
struct Logit {
    double value, sum_abs, added_abs;  // of the product, and of what joins it
    bool seen;                         // whether the key counts, whatever it holds
};

/** Where query i of a call stands, whose sequence has `length` keys that count. */
inline int position_of(const Problem &p, int i, int length, bool decoding) {
    const bool at_end = !p.is("diagonal", "top_left");
    return !at_end ? i : i + (decoding || p.is("diagonal", "lengths") ? length : p.dim("keys")) - p.dim("queries");
}

inline Logit logit_of(const Problem &p, double score, double sum_abs, int position, int i, int key, int h, int n, int length) {
    Logit l{score, sum_abs, 0, key < length};
    if (p.is("capped", "true")) {
        const double cap = p.scalar("softcap", 1);
        l.value = cap * std::tanh(score / cap);
        l.added_abs += p.on_gpu ? 2 * cap : std::fabs(l.value);
        l.sum_abs = std::isinf(score) ? 0 : sum_abs;  // at the end of the cap
    }
    const bool boolean = p.is("mask_type", "boolean");
    if (p.has("mask") && !boolean) {
        l.value += p["mask"](key, i);
        l.added_abs += std::fabs(p["mask"](key, i));
    }
    const bool seen = !p.has("bias") || (p.is("bias_type", "excluded") ? p["bias"](key, i, h, n) == 0 : p["bias"](key, i, h, n) != 0);
    if (p.has("bias") && (p.is("bias_type", "boolean") || p.is("bias_type", "excluded"))) {
        const double fill = p.scalar("bias_fill", 0);
        l = seen ? l : Logit{fill, 0, std::fabs(fill), l.seen};
    } else if (p.has("bias")) {
        l.value += p["bias"](key, i, h, n);
        l.added_abs += std::fabs(p["bias"](key, i, h, n));
    }
    if (p.has("slopes")) {
        const double alibi = -p["slopes"](h) * std::abs(position - key);
        l.value += alibi;
        l.added_abs += std::fabs(alibi);
    }
    if (p.is("windowed", "true")) {
        const KeyWindow window = window_of(p.dims);
        l.seen = l.seen && !(window.left >= 0 && key < int64_t(position) - window.left) &&
                 !(window.right >= 0 && key > int64_t(position) + window.right);
    }
    l.seen = l.seen && !(p.is("causal", "true") && key > position);
    if (!l.seen || (boolean && p["mask"](key, i) == 0)) {
        l.value = -kInfinity;
    }
    return l;
}

inline double sink_of(const Problem &p, int h) {
    return p.has("sinks") ? p["sinks"](h) : -kInfinity;
}

/** Keys and values of NaN behind a length of 11 in the first sequence, and of `whole_blocks` in the others. */
inline void nan_behind_lengths(KernelArguments &arguments, const Dims &dims, int whole_blocks) {
    for (int n = 0; n < dims.at("batch"); n++) {
        const int length = n == 0 ? 11 : whole_blocks;
        arguments.buffer("lengths").set({n}, length);
        for (const std::string name : {"k", "v"}) {
            for (int key = length; key < dims.at("keys"); key++) {
                for (int c = 0; c < dims.at("d"); c++) {
                    set_in_cache(arguments, name, {c, key, 0, n}, kNaN);
                }
                if (const std::string scale = name_in_cache(arguments, name + "_scale"); arguments.has_buffer(scale)) {
                    const auto at = place_in_cache(arguments, arguments.buffer(name_in_cache(arguments, name)), {0, key, 0, n});
                    arguments.buffer(scale).set({at[1], 0, at[3]}, kNaN);
                }
            }
        }
    }
    if (arguments.has_buffer("page_table")) {
        wrong_pages(arguments, false);
    }
}

/** Scores beyond what f16 holds, and the next key far below the maximum. */
inline void large_scores(KernelArguments &arguments, const Dims &dims) {
    HostBuffer &q = arguments.buffer("q");
    for (int i = 0; i < dims.at("queries"); i++) {
        for (int c = 0; c < dims.at("d"); c++) {
            q.set({c, i, 0, 0}, c % 2 ? 300 : -200);
        }
    }
}

}  // namespace ops_test

#endif
