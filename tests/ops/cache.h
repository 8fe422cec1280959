#ifndef HALYARD_TESTS_OPS_CACHE_H
#define HALYARD_TESTS_OPS_CACHE_H

/** \file
 * Keys and values that are stored otherwise than queries are.
 */

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "float8.h"
#include "rows.h"

namespace ops_test {

/** Whether keys and values have 8 bits, and scales. */
inline bool is_of_bytes(const Assignments &build) {
    const auto type = build.find("cache_type");
    return type != build.end() && (type->second == "int8" || type->second.rfind("float8", 0) == 0);
}

/** Where key `key` of sequence n is of an array in pages: its token there, and the page, which is the nearest that there is. */
struct InPage {
    int token, page;
};
template<typename Table>
InPage in_page(const Table &table, int key, int n, int tokens, int pages) {
    return {key % tokens, std::clamp(int(table(key / tokens, n)), 0, pages - 1)};
}

/** The keys or values of a call, "k" or "v", as what they stand for, a sequence each. */
inline const Tensor &cache_of(const Problem &p, const std::string &name) {
    const bool paged = p.has("page_table");
    const std::string scales = name + (paged ? "_scale_pages" : "_scale");
    const bool scaled = p.has(scales);
    if (!scaled && !paged) {
        return p[name];
    }
    Tensor &made = p.made[name];
    if (!made.values.empty()) {
        return made;
    }
    const Tensor &stored = p[paged ? name + "_pages" : name];
    const auto value = [&](int d, int token, int head, int n) {
        const double x = stored(d, token, head, n);
        const double element = p.is("cache_type", "float8_e4m3")   ? float8(int(x), 4)
                               : p.is("cache_type", "float8_e5m2") ? float8(int(x), 5)
                                                                   : x;
        return scaled ? element * p[scales](token, head, n) : element;
    };
    made.extents = {stored.extents[0], p.dim("keys"), stored.extents[2], p.dim("batch")};
    for (int n = 0; n < made.extents[3]; n++) {
        for (int head = 0; head < made.extents[2]; head++) {
            for (int key = 0; key < made.extents[1]; key++) {
                const InPage at = paged ? in_page(p["page_table"], key, n, stored.extents[1], stored.extents[3]) : InPage{key, n};
                for (int d = 0; d < made.extents[0]; d++) {
                    made.values.push_back(value(d, at.token, head, at.page));
                }
            }
        }
    }
    return made;
}

/** Where an element of key `index[1]` of sequence `index[3]` is, of an array that may lie in pages. */
inline std::vector<int> place_in_cache(KernelArguments &arguments, const HostBuffer &buffer, std::vector<int> index) {
    if (arguments.has_buffer("page_table")) {
        const HostBuffer &table = arguments.buffer("page_table");
        const std::vector<double> entries = table.values();
        const auto entry = [&](int number, int n) { return entries[size_t(n * table.extents()[0] + number)]; };
        const InPage at = in_page(entry, index[1], index[3], buffer.extents()[1], buffer.extents()[3]);
        index[1] = at.token;
        index[3] = at.page;
    }
    return index;
}

/** The name of an argument, whichever way keys and values lie. */
inline std::string name_in_cache(KernelArguments &arguments, const std::string &name) {
    return arguments.has_buffer("page_table") ? name + "_pages" : name;
}

/** Sets one element of them; bytes get a NaN or the infinity of e5m2, and integers their largest. */
inline void set_in_cache(KernelArguments &arguments, const std::string &name, const std::vector<int> &index, double value) {
    HostBuffer &buffer = arguments.buffer(name_in_cache(arguments, name));
    const halide_type_t type = buffer.type();
    const bool integer = type.code == halide_type_int, byte = type.code == halide_type_uint;
    buffer.set(place_in_cache(arguments, buffer, index), integer ? 127 : byte ? (std::isnan(value) ? 0x7f : 0x7c) : value);
}

/** The pages of the sequences anywhere, in another order, and one of nobody, which is full of NaN. */
inline void set_pages(KernelArguments &arguments) {
    if (!arguments.has_buffer("page_table")) {
        return;
    }
    HostBuffer &table = arguments.buffer("page_table");
    const int pages = table.extents()[0], all = pages * table.extents()[1];
    for (int i = 0; i < all; i++) {
        table.set({i % pages, i / pages}, 1 + (all - 1 - i));
    }
    for (const char *name : {"k_pages", "v_pages"}) {
        HostBuffer &buffer = arguments.buffer(name);
        if (buffer.type().bits == 8) {
            continue;
        }
        for (int head = 0; head < buffer.extents()[2]; head++) {
            for (int token = 0; token < buffer.extents()[1]; token++) {
                for (int d = 0; d < buffer.extents()[0]; d++) {
                    buffer.set({d, token, head, 0}, kNaN);
                }
            }
        }
    }
}

/** Numbers that are none of a page: for what stands behind the length, and, if asked for, of the first page of the first sequence. */
inline void wrong_pages(KernelArguments &arguments, bool first) {
    HostBuffer &table = arguments.buffer("page_table"), &pages = arguments.buffer("k_pages");
    const std::vector<double> lengths = arguments.buffer("lengths").values();
    for (int n = 0; n < table.extents()[1]; n++) {
        for (int i = 0; i < table.extents()[0]; i++) {
            if (i * pages.extents()[1] >= lengths[size_t(n)]) {
                table.set({i, n}, i % 2 ? -5 : 1 << 30);
            }
        }
    }
    if (first) {
        table.set({0, 0}, 1 << 30);  // the last one
    }
}

/** Numbers of 8 bits about as large as others are, without a NaN and an infinity, some of them subnormal. */
inline void set_cache(KernelArguments &arguments, uint64_t seed) {
    if (!arguments.has_buffer(name_in_cache(arguments, "k_scale"))) {
        return;
    }
    for (const std::string name : {"k", "v"}) {
        HostBuffer &buffer = arguments.buffer(name_in_cache(arguments, name)),
                   &scale = arguments.buffer(name_in_cache(arguments, name + "_scale"));
        const bool integer = buffer.type().code == halide_type_int;
        scale.fill_random(seed++, integer ? 0.004 : 0.05, integer ? 0.012 : 0.15);
        if (!integer) {
            make_small_float8(buffer);
        }
    }
}

/** One key, whose value has every byte there is. */
inline Case every_byte() {
    return {"every byte",
            {{"d", 256}, {"queries", 1}, {"keys", 1}, {"heads", 1}, {"key_heads", 1}, {"batch", 1}},
            [](KernelArguments &arguments, const Dims &) {
                for (int i = 0; i < 256; i++) {
                    arguments.buffer("k").set({i, 0, 0, 0}, 0);
                    arguments.buffer("v").set({i, 0, 0, 0}, arguments.buffer("v").type().code == halide_type_int ? i - 128 : i);
                }
                arguments.buffer("v_scale").set({0, 0, 0}, 0.75);
                if (arguments.has_buffer("lengths")) {
                    arguments.buffer("lengths").set({0}, 1);
                }
            }};
}

}  // namespace ops_test

#endif
