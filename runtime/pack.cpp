// Weights in the layout of `_packed` arguments (halyard/pack.h).

#include "halyard/pack.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "float_bits.h"
#include "shared_memory.h"

namespace {

using halyard::BFloat16;
using halyard::Float16;

// Dimensions of a packed argument, and of what is packed into it.
constexpr int kPackedMatrix = 4, kPackedWindow = 7;

// The format is for `what`, `a` and `b`.
int fail(const char *function, const char *format, const char *what = "", int64_t a = 0, int64_t b = 0) {
    char text[halyard::kMaxMessage];
    const int n = snprintf(text, sizeof(text), "%s: ", function);
    snprintf(text + n, sizeof(text) - n, format, what, static_cast<long long>(a), static_cast<long long>(b));
    halyard::set_last_error(text);
    return halide_error_code_generic_error;
}

bool is_packed(const halide_filter_argument_t &a) {
    const size_t n = strlen(a.name), suffix = strlen("_packed");
    return a.kind == halide_argument_kind_input_buffer && n > suffix && strcmp(a.name + n - suffix, "_packed") == 0 &&
           (a.dimensions == kPackedMatrix || a.dimensions == kPackedWindow);
}

// What the generator fixes of an extent, or 0.
int64_t fixed_extent(const halide_filter_argument_t &a, int d) {
    const int64_t *const *estimates = a.buffer_estimates;
    return estimates && estimates[2 * d + 1] ? *estimates[2 * d + 1] : 0;
}

const halide_filter_argument_t *find_argument(const char *function, const halide_filter_metadata_t *library, const char *name) {
    if (!library) {
        fail(function, "there is no metadata; give what the library's NAME_metadata() returns");
        return nullptr;
    }
    const halide_filter_argument_t *found = nullptr;
    for (int i = 0; i < library->num_arguments; i++) {
        const halide_filter_argument_t &a = library->arguments[i];
        if (!is_packed(a) || (name && strcmp(name, a.name) != 0)) {
            continue;
        }
        if (found) {
            fail(function, "%s has several packed arguments; give the name of one", library->name);
            return nullptr;
        }
        found = &a;
    }
    if (!found) {
        fail(function, name ? "the library has no packed argument \"%s\"" : "the library \"%s\" has no packed argument",
             name ? name : library->name);
    } else if (fixed_extent(*found, 0) <= 0 || fixed_extent(*found, 1) <= 0) {
        fail(function, "the metadata does not say what panels \"%s\" has", found->name);
        return nullptr;
    }
    return found;
}

bool is_number(halide_type_t t) {
    return t.code == halide_type_bfloat ? t.bits == 16 : t.code == halide_type_float && (t.bits == 16 || t.bits == 32);
}

// The array that the weights become, without memory. Its extents are those of all columns up to the last of the weights.
struct Packing {
    const halide_filter_argument_t *argument;
    int group, panel, column_dimension;  // of the weights
    int64_t panels, elements;
    halyard_array shape;
};

int plan(const char *function, const halide_filter_metadata_t *library, const char *name, const halide_buffer_t *weights, Packing &p) {
    p.argument = find_argument(function, library, name);
    if (!p.argument) {
        return halide_error_code_generic_error;
    }
    const halide_filter_argument_t &a = *p.argument;
    if (!weights || (weights->dimensions > 0 && !weights->dim)) {
        return fail(function, "there are no weights for \"%s\"", a.name);
    }
    if (weights->dimensions != a.dimensions - 2) {
        return fail(function, "\"%s\" is made of weights of %lld dimensions, not of %lld", a.name, a.dimensions - 2, weights->dimensions);
    }
    if (weights->type.as_u32() != a.type.as_u32() && !(is_number(weights->type) && is_number(a.type))) {
        return fail(function, "\"%s\" is not made of weights of this type; floats of 16 and 32 bits are converted, others are not", a.name);
    }
    p.group = int(fixed_extent(a, 0));
    p.panel = int(fixed_extent(a, 1));
    p.column_dimension = a.dimensions == kPackedMatrix ? 1 : 3;
    const halide_dimension_t &columns = weights->dim[p.column_dimension];
    if (columns.min < 0 || columns.extent < 0 || weights->dim[0].extent < 0) {
        return fail(function, "the weights for \"%s\" have a negative extent, or begin at a negative column", a.name);
    }
    p.panels = (int64_t(columns.min) + columns.extent + p.panel - 1) / p.panel;
    int64_t extents[HALYARD_MAX_DIMENSIONS];
    int at = 0;
    extents[at++] = p.group;
    extents[at++] = p.panel;
    extents[at++] = (int64_t(weights->dim[0].extent) + p.group - 1) / p.group;
    for (int d = 1; d < weights->dimensions; d++) {
        extents[at++] = d == p.column_dimension ? p.panels : weights->dim[d].extent;
    }
    p.elements = 1;
    for (int d = 0; d < a.dimensions; d++) {
        const int64_t fixed = fixed_extent(a, d);
        if (fixed > 0 && fixed != extents[d]) {
            return fail(function, "\"%s\" wants an extent of %lld where the weights have %lld", a.name, fixed, extents[d]);
        }
        if (extents[d] < 0 || __builtin_mul_overflow(p.elements, extents[d], &p.elements) || p.elements > INT64_MAX / 8) {
            return fail(function, "the weights for \"%s\" have a negative extent, or are too large", a.name);
        }
    }
    if (!halyard_array_init(&p.shape, nullptr, "uint8", a.dimensions, extents, nullptr)) {
        return halide_error_code_generic_error;
    }
    p.shape.buffer.type = a.type;
    return 0;
}

// A panel of a matrix: `rows` of weights of its columns [first, last), from an element to the next by the strides.
struct Panel {
    const uint8_t *from;  // the element of row 0 and column 0 of the panel
    uint8_t *to;
    int64_t rows, row_stride, column_stride;
    int first, last, width;
};

template<class From, class To>
void convert(const From &from, To &to) {
    halyard::from_float(halyard::to_float(from), to);
}
template<class T>
void convert(const T &from, T &to) {
    to = from;
}

// Rows of a panel, as many as whole groups have.
template<class From, class To, int kGroup>
void pack_rows(const From *from, int64_t row_stride, int64_t column_stride, int64_t rows, int columns, int width, To *to) {
    for (int64_t row = 0; row < rows; row += kGroup, to += kGroup * width) {
        for (int c = 0; c < columns; c++) {
            for (int g = 0; g < kGroup; g++) {
                convert(from[(row + g) * row_stride + c * column_stride], to[c * kGroup + g]);
            }
        }
    }
}

template<class From, class To, int kGroup>
void pack_panel(const Panel &p) {
    const int columns = p.last - p.first;
    const From *from = reinterpret_cast<const From *>(p.from) + p.first * p.column_stride;
    To *to = reinterpret_cast<To *>(p.to) + p.first * kGroup;
    const int64_t whole = p.rows / kGroup * kGroup;
    // Where the rows of a column lie together, whole cache lines are read and turned in L1.
    constexpr int kLine = 64 / sizeof(From), kMostColumns = 128;
    int64_t row = 0;
    if (p.row_stride == 1 && p.column_stride != 1 && columns <= kMostColumns) {
        From turned[kLine * kMostColumns];
        for (; row + kLine <= whole; row += kLine) {
            for (int c = 0; c < columns; c++) {
                for (int i = 0; i < kLine; i++) {
                    turned[i * columns + c] = from[row + i + c * p.column_stride];
                }
            }
            pack_rows<From, To, kGroup>(turned, columns, 1, kLine, columns, p.width, to + row * p.width);
        }
    }
    from += row * p.row_stride;
    to += row * p.width;
    if (p.column_stride == 1) {
        pack_rows<From, To, kGroup>(from, p.row_stride, 1, whole - row, columns, p.width, to);
    } else {
        pack_rows<From, To, kGroup>(from, p.row_stride, p.column_stride, whole - row, columns, p.width, to);
    }
    from += (whole - row) * p.row_stride;
    to += (whole - row) * p.width;
    if (whole == p.rows) {
        return;
    }
    for (int c = 0; c < columns; c++) {
        for (int g = 0; g < kGroup; g++) {
            if (whole + g < p.rows) {
                convert(from[g * p.row_stride + c * p.column_stride], to[c * kGroup + g]);
            } else {
                memset(&to[c * kGroup + g], 0, sizeof(To));
            }
        }
    }
}

using PackPanel = void (*)(const Panel &);

template<class From, class To>
PackPanel of_group(int group) {
    return group == 1 ? pack_panel<From, To, 1> : group == 2 ? pack_panel<From, To, 2> : group == 4 ? pack_panel<From, To, 4> : nullptr;
}

template<class From>
PackPanel to_number(halide_type_t to, int group) {
    return to.bits == 32                   ? of_group<From, float>(group)
           : to.code == halide_type_bfloat ? of_group<From, BFloat16>(group)
                                           : of_group<From, Float16>(group);
}

PackPanel find_pack_panel(halide_type_t from, halide_type_t to, int group) {
    if (from.as_u32() != to.as_u32()) {
        return from.bits == 32                   ? to_number<float>(to, group)
               : from.code == halide_type_bfloat ? to_number<BFloat16>(to, group)
                                                 : to_number<Float16>(to, group);
    }
    switch (to.bytes()) {
    case 1: return of_group<uint8_t, uint8_t>(group);
    case 2: return of_group<uint16_t, uint16_t>(group);
    case 4: return of_group<uint32_t, uint32_t>(group);
    default: return nullptr;
    }
}

struct Job {
    const halide_buffer_t *weights;
    const Packing *packing;
    uint8_t *memory;
    PackPanel pack;
};

// A panel of one place of the window and one group.
int pack_task(void *, int task, uint8_t *closure) {
    const Job &job = *reinterpret_cast<const Job *>(closure);
    const Packing &p = *job.packing;
    const halide_buffer_t &w = *job.weights;
    const halide_dimension_t &columns = w.dim[p.column_dimension];
    int64_t left = task, from = 0, to = 0;
    int64_t panel = 0;
    for (int d = 1; d < w.dimensions; d++) {
        const halide_dimension_t &packed = p.shape.dim[d + 2];
        int64_t i;
        if (d == p.column_dimension) {
            const int64_t first = columns.min / p.panel, count = p.panels - first;
            i = panel = first + left % count;
            left /= count;
        } else {
            i = left % packed.extent;
            left /= packed.extent;
            from += i * w.dim[d].stride;
        }
        to += i * packed.stride;
    }
    const int64_t first_column = panel * p.panel, end = int64_t(columns.min) + columns.extent;
    from += (first_column - columns.min) * columns.stride;
    Panel one;
    one.from = w.host + from * w.type.bytes();
    one.to = job.memory + to * p.shape.buffer.type.bytes();
    one.rows = w.dim[0].extent;
    one.row_stride = w.dim[0].stride;
    one.column_stride = columns.stride;
    one.first = int(first_column < columns.min ? columns.min - first_column : 0);
    one.last = int(end - first_column < p.panel ? end - first_column : p.panel);
    one.width = p.panel;
    job.pack(one);
    return 0;
}

template<class T>
int32_t sum_of(const halide_buffer_t &w, int64_t start, const bool (&kept)[HALYARD_MAX_DIMENSIONS]) {
    int64_t extents[HALYARD_MAX_DIMENSIONS], strides[HALYARD_MAX_DIMENSIONS], count = 1;
    int n = 0;
    for (int d = 0; d < w.dimensions; d++) {
        if (!kept[d]) {
            extents[n] = w.dim[d].extent;
            strides[n++] = w.dim[d].stride;
            count *= w.dim[d].extent;
        }
    }
    int32_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t left = i, at = start;
        for (int d = 0; d < n; d++) {
            at += left % extents[d] * strides[d];
            left /= extents[d];
        }
        sum += reinterpret_cast<const T *>(w.host)[at];
    }
    return sum;
}

}  // namespace

extern "C" {

int64_t halyard_packed_bytes(const halide_filter_metadata_t *library, const char *argument, const halide_buffer_t *weights) {
    Packing p;
    return plan("halyard_packed_bytes", library, argument, weights, p) == 0 ? p.elements * p.shape.buffer.type.bytes() : -1;
}

int halyard_pack(const halide_filter_metadata_t *library, const char *argument, const halide_buffer_t *weights, void *memory,
                 halyard_array *packed) {
    const char *const function = "halyard_pack";
    Packing p;
    if (const int error = plan(function, library, argument, weights, p)) {
        return error;
    }
    int64_t tasks = 1;
    for (int d = 1; d < weights->dimensions; d++) {
        tasks *= d == p.column_dimension ? p.panels - weights->dim[d].min / p.panel : weights->dim[d].extent;
    }
    if (weights->dim[0].extent == 0 || weights->dim[p.column_dimension].extent == 0) {
        tasks = 0;
    }
    if (!packed || (tasks > 0 && (!memory || !weights->host))) {
        return fail(function, "the weights for \"%s\", the memory to pack them into, or the array to make of it is NULL", p.argument->name);
    }
    Job job = {weights, &p, static_cast<uint8_t *>(memory), find_pack_panel(weights->type, p.argument->type, p.group)};
    if (!job.pack || tasks > INT_MAX) {
        return fail(function, "the panels of \"%s\" are of no kind that is packed here, or too many", p.argument->name);
    }
    p.shape.buffer.dim = p.shape.dim;
    p.shape.buffer.host = job.memory;
    if (tasks > 0 && halyard::share_memory(weights, &p.shape.buffer)) {
        return fail(function, "the memory to pack \"%s\" into shares some with the weights", p.argument->name);
    }
    if (tasks > 0) {
        if (const int error = halide_do_par_for(nullptr, pack_task, 0, int(tasks), reinterpret_cast<uint8_t *>(&job))) {
            return error;
        }
    }
    *packed = p.shape;
    packed->buffer.dim = packed->dim;
    return 0;
}

int halyard_sum_weights(const halide_buffer_t *weights, halide_buffer_t *sums) {
    const char *const function = "halyard_sum_weights";
    if (!weights || !sums || !weights->dim || !sums->dim) {
        return fail(function, "the weights or the sums are NULL");
    }
    const halide_type_t of = weights->type;
    if (of.bits != 8 || (of.code != halide_type_int && of.code != halide_type_uint) || sums->type != halide_type_t(halide_type_int, 32)) {
        return fail(function, "the weights have to be int8 or uint8, the sums int32");
    }
    // Which dimension of the weights each one of the sums is.
    static constexpr int kColumns[] = {1}, kChannels[] = {3, 4}, kTaps[] = {3, 1, 2, 4};
    const int *dims = weights->dimensions == 2 && sums->dimensions == 1   ? kColumns
                      : weights->dimensions == 5 && sums->dimensions == 2 ? kChannels
                      : weights->dimensions == 5 && sums->dimensions == 4 ? kTaps
                                                                          : nullptr;
    if (!dims) {
        return fail(function, "there are sums of 1 dimension of weights of 2, and of 2 or 4 dimensions of weights of 5");
    }
    for (int d = 0; d < weights->dimensions; d++) {
        if (weights->dim[d].extent < 0) {
            return fail(function, "%sthe weights have the extent %lld", "", weights->dim[d].extent);
        }
    }
    bool kept[HALYARD_MAX_DIMENSIONS] = {};
    int64_t count = 1;
    for (int d = 0; d < sums->dimensions; d++) {
        if (sums->dim[d].extent != weights->dim[dims[d]].extent) {
            return fail(function, "%sthe sums have %lld elements where the weights have %lld", "", sums->dim[d].extent,
                        weights->dim[dims[d]].extent);
        }
        kept[dims[d]] = true;
        if (__builtin_mul_overflow(count, sums->dim[d].extent, &count)) {
            return fail(function, "there are too many sums");
        }
    }
    if (!halyard::has_elements(sums)) {
        return 0;
    }
    if (!sums->host || (!weights->host && halyard::has_elements(weights))) {
        return fail(function, "the weights or the sums are NULL");
    }
    if (halyard::elements_may_share(sums) || halyard::share_memory(sums, weights)) {
        return fail(function, "the sums share memory with each other or with the weights");
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t left = i, from = 0, to = 0;
        for (int d = 0; d < sums->dimensions; d++) {
            const int64_t at = left % sums->dim[d].extent;
            left /= sums->dim[d].extent;
            from += at * weights->dim[dims[d]].stride;
            to += at * sums->dim[d].stride;
        }
        reinterpret_cast<int32_t *>(sums->host)[to] =
            of.code == halide_type_int ? sum_of<int8_t>(*weights, from, kept) : sum_of<uint8_t>(*weights, from, kept);
    }
    return 0;
}

}  // extern "C"
