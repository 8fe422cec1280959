// Weights of 4 bits from words of files, and back; blocks side by side (halyard/blocks.h).

#include "halyard/blocks.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "shared_memory.h"

namespace {

constexpr int kBlock = 32, kHalf = 16, kInWord = 8;

int fail(const char *function, const char *text) {
    char message[halyard::kMaxMessage];
    snprintf(message, sizeof(message), "%s: %s", function, text);
    halyard::set_last_error(message);
    return halide_error_code_generic_error;
}

// Where the weight of row k and column n is in the words: the number of the word, and its lowest bit.
struct Place {
    int64_t word;
    int bit;
};

struct Words {
    halyard_words layout;
    const halide_buffer_t *buffer;

    bool along_k() const {
        return layout == HALYARD_WORDS_ALONG_K;
    }
    int64_t rows() const {
        return int64_t(buffer->dim[1].extent) * (along_k() ? kInWord : 1);
    }
    int64_t columns() const {
        return int64_t(buffer->dim[0].extent) * (along_k() ? 1 : kInWord);
    }
    Place place(int64_t k, int64_t n) const {
        static constexpr int kOfAwq[kInWord] = {0, 4, 1, 5, 2, 6, 3, 7};  // in which place column n % 8 is
        const int64_t within = along_k() ? k % kInWord : n % kInWord;
        const int64_t x = along_k() ? n : n / kInWord, y = along_k() ? k / kInWord : k;
        const int64_t nibble = layout == HALYARD_WORDS_AWQ ? kOfAwq[within] : within;
        return {x * buffer->dim[0].stride + y * buffer->dim[1].stride, int(4 * nibble)};
    }
    uint32_t get(int64_t k, int64_t n) const {
        const Place p = place(k, n);
        return reinterpret_cast<const uint32_t *>(buffer->host)[p.word] >> p.bit & 15;
    }
    void put(int64_t k, int64_t n, uint32_t q) const {
        const Place p = place(k, n);
        uint32_t &word = reinterpret_cast<uint32_t *>(buffer->host)[p.word];
        word = (word & ~(15u << p.bit)) | q << p.bit;
    }
};

// "" or what is wrong with two arrays; `shape`: what `bytes` have to be, in words.
const char *why_not(halyard_words layout, const halide_buffer_t *words, const halide_buffer_t *bytes, const char *shape) {
    if (layout != HALYARD_WORDS_ALONG_K && layout != HALYARD_WORDS_ALONG_N && layout != HALYARD_WORDS_AWQ) {
        return "there is no such layout of words";
    }
    if (!words || !bytes || !words->dim || !bytes->dim) {
        return "an array is NULL";
    }
    const bool of_words = (words->type.code == halide_type_int || words->type.code == halide_type_uint) && words->type.bits == 32;
    if (!of_words || words->dimensions != 2) {
        return "the words have to be int32 or uint32, of 2 dimensions";
    }
    if (bytes->type != halide_type_t(halide_type_uint, 8) || bytes->dimensions != 2) {
        return shape;
    }
    for (int d = 0; d < 2; d++) {
        if (bytes->dim[d].extent < 0 || words->dim[d].extent < 0) {
            return "an extent is negative";
        }
    }
    if ((halyard::has_elements(words) && !words->host) || (halyard::has_elements(bytes) && !bytes->host)) {
        return "an array has no memory on the host";
    }
    return "";
}

struct Job {
    Words words;
    const halide_buffer_t *bytes;
    uint32_t more;
};

// Tasks take columns that share words, so that no two write into one.
constexpr int kColumnsOfTask = 8;

template<class OfColumn>
int for_columns(uint8_t *closure, int task, const OfColumn &of_column) {
    const Job &job = *reinterpret_cast<const Job *>(closure);
    const int64_t first = int64_t(task) * kColumnsOfTask, columns = job.words.columns();
    for (int64_t n = first; n < first + kColumnsOfTask && n < columns; n++) {
        of_column(job, n);
    }
    return 0;
}

uint8_t *byte_at(const halide_buffer_t *b, int64_t i, int64_t n) {
    return b->host + i * b->dim[0].stride + n * b->dim[1].stride;
}

// The bytes of a column, each with the number of the weight in its low bits.
template<typename OfByte>
void for_bytes(const Job &job, int64_t n, const OfByte &of_byte) {
    for (int64_t i = 0; i < job.bytes->dim[0].extent; i++) {
        of_byte(byte_at(job.bytes, i, n), i / kHalf * kBlock + i % kHalf);
    }
}

int pack_task(void *, int task, uint8_t *closure) {
    return for_columns(closure, task, [](const Job &job, int64_t n) {
        for_bytes(job, n, [&](uint8_t *byte, int64_t k) { *byte = uint8_t(job.words.get(k, n) | job.words.get(k + kHalf, n) << 4); });
    });
}

int unpack_task(void *, int task, uint8_t *closure) {
    return for_columns(closure, task, [](const Job &job, int64_t n) {
        for_bytes(job, n, [&](uint8_t *byte, int64_t k) {
            const uint8_t both = *byte;
            job.words.put(k, n, both & 15);
            job.words.put(k + kHalf, n, both >> 4);
        });
    });
}

int zeros_task(void *, int task, uint8_t *closure) {
    return for_columns(closure, task, [](const Job &job, int64_t n) {
        for (int64_t group = 0; group < job.bytes->dim[0].extent; group++) {
            uint8_t *const to = job.bytes->host + group * job.bytes->dim[0].stride + n * job.bytes->dim[1].stride;
            *to = uint8_t((job.words.get(group, n) + job.more) & 15);
        }
    });
}

int run(const char *function, halide_task_t task, const Job &job) {
    const int64_t tasks = (job.words.columns() + kColumnsOfTask - 1) / kColumnsOfTask;
    if (tasks > INT_MAX) {
        return fail(function, "there are too many columns");
    }
    return tasks == 0 ? 0 : halide_do_par_for(nullptr, task, 0, int(tasks), reinterpret_cast<uint8_t *>(const_cast<Job *>(&job)));
}

// "" or what keeps one of two arrays from being written.
const char *why_not_written(const halide_buffer_t *written, const halide_buffer_t *read) {
    return halyard::elements_may_share(written)   ? "an array would be written whose elements share memory with each other"
           : halyard::share_memory(written, read) ? "an array would be written that shares memory with the other one"
                                                  : "";
}

int convert(const char *function, halide_task_t task, halyard_words layout, const halide_buffer_t *words, const halide_buffer_t *int4) {
    const char *const wrong = why_not(layout, words, int4, "the weights have to be uint8 of 2 dimensions, [k / 2, n]");
    if (*wrong) {
        return fail(function, wrong);
    }
    const Job job = {{layout, words}, int4, 0};
    if (int4->dim[0].extent % kHalf != 0 || int4->dim[0].extent * int64_t(2) != job.words.rows() ||
        int4->dim[1].extent != job.words.columns()) {
        return fail(function, "the words have another number of weights than [k / 2, n]; k has to be a multiple of 32");
    }
    const bool back = task == unpack_task;
    if (const char *const shared = why_not_written(back ? words : int4, back ? int4 : words); *shared) {
        return fail(function, shared);
    }
    return run(function, task, job);
}

// How a format of GGUF files lies in a block, and interleaved. "Halves" are numbers of f16.
struct BlockFormat {
    int bytes, elements, bits;            // of a block; bits of an element
    int halves, scales;                   // scales that these are multiplied by
    bool least;                           // and as many minima
    int of_halves, of_scales, low, high;  // where they are in a block

    int blocks() const {
        return elements / kBlock;
    }
    int extra() const {
        return bits < 8 ? bits - 4 : 0;
    }
    int small() const {
        return least ? 2 * scales : scales;
    }
    /** Whether what a column has of an interleaved block is the block. */
    bool is_same() const {
        return elements == kBlock && extra() == 0;
    }
    int interleaved() const {
        return 2 * halves + small() + blocks() * 4 * bits;
    }
};

const BlockFormat *block_format(int64_t bytes) {
    static constexpr BlockFormat formats[] = {{18, 32, 4, 1, 0, false, 0, 0, 2, 0},    {20, 32, 4, 2, 0, false, 0, 0, 4, 0},
                                              {22, 32, 5, 1, 0, false, 0, 0, 6, 2},    {24, 32, 5, 2, 0, false, 0, 0, 8, 4},
                                              {34, 32, 8, 1, 0, false, 0, 0, 2, 0},    {144, 256, 4, 2, 8, true, 0, 4, 16, 0},
                                              {176, 256, 5, 2, 8, true, 0, 4, 48, 16}, {210, 256, 6, 1, 16, false, 208, 192, 0, 128},
                                              {64, 32, 16, 0, 0, false, 0, 0, 0, 0},   {128, 32, 32, 0, 0, false, 0, 0, 0, 0}};
    for (const BlockFormat &format : formats) {
        if (format.bytes == bytes) {
            return &format;
        }
    }
    return nullptr;
}

constexpr int kMostElements = 256;

// The scales of 6 bits of Q4_K and Q5_K, then the minima: of the first four the low 6 bits of bytes 0 to 3 and 4 to 7, of the others 4
// bits in bytes 8 to 11 and the high 2 bits of those.
void read_six_bits(const uint8_t *bytes, uint8_t *small) {
    for (int j = 0; j < 4; j++) {
        small[j] = bytes[j] & 63;
        small[8 + j] = bytes[4 + j] & 63;
        small[4 + j] = uint8_t((bytes[8 + j] & 15) | bytes[j] >> 6 << 4);
        small[12 + j] = uint8_t(bytes[8 + j] >> 4 | bytes[4 + j] >> 6 << 4);
    }
}

void write_six_bits(const uint8_t *small, uint8_t *bytes) {
    for (int j = 0; j < 4; j++) {
        bytes[j] = uint8_t((small[j] & 63) | small[4 + j] >> 4 << 6);
        bytes[4 + j] = uint8_t((small[8 + j] & 63) | small[12 + j] >> 4 << 6);
        bytes[8 + j] = uint8_t((small[4 + j] & 15) | (small[12 + j] & 15) << 4);
    }
}

// Where element i of 32 has its bits: of a byte from bit `low_bit` on, and those beyond the fourth likewise.
struct ElementPlace {
    int low, low_bit, high, high_bit;
};

ElementPlace place_of_file(const BlockFormat &f, int j, int i) {
    if (f.bits == 8) {
        return {f.low + i, 0, 0, 0};
    }
    if (f.bits == 6) {  // of 128 elements, 32 after the other: low bits of two bytes, then high ones
        return {f.low + j / 4 * 64 + j % 2 * kBlock + i, j % 4 / 2 * 4, f.high + j / 4 * kBlock + i, 2 * (j % 4)};
    }
    if (f.elements > kBlock) {  // of 64 elements, low bits of 32 bytes, then high ones
        return {f.low + j / 2 * kBlock + i, j % 2 * 4, f.high + i, j};
    }
    return {f.low + i % kHalf, i / kHalf * 4, f.high + i / 8, i % 8};
}

ElementPlace place_of_panel(const BlockFormat &f, int j, int i) {
    const int high = 2 * f.halves + f.small(), low = high + 4 * f.extra() * f.blocks();
    if (f.bits == 8) {
        return {low + kBlock * j + i, 0, 0, 0};
    }
    const int of_byte = i / 4, four = of_byte * f.extra() / 8;
    return {low + kHalf * j + i % kHalf, i / kHalf * 4, high + 4 * (f.extra() * j + four) + i % 4, of_byte * f.extra() % 8};
}

using PlaceOf = ElementPlace(const BlockFormat &f, int j, int i);

void read_elements(const BlockFormat &f, PlaceOf *place_of, const uint8_t *bytes, uint8_t *q) {
    for (int j = 0; j < f.blocks(); j++) {
        for (int i = 0; i < kBlock; i++) {
            const ElementPlace p = place_of(f, j, i);
            uint8_t &to = q[kBlock * j + i];
            to = f.bits == 8 ? bytes[p.low] : bytes[p.low] >> p.low_bit & 15;
            if (f.extra() > 0) {
                to = uint8_t(to | (bytes[p.high] >> p.high_bit & ((1 << f.extra()) - 1)) << 4);
            }
        }
    }
}

// The bytes were zeros.
void write_elements(const BlockFormat &f, PlaceOf *place_of, const uint8_t *q, uint8_t *bytes) {
    for (int j = 0; j < f.blocks(); j++) {
        for (int i = 0; i < kBlock; i++) {
            const ElementPlace p = place_of(f, j, i);
            const uint8_t from = q[kBlock * j + i];
            bytes[p.low] = uint8_t(bytes[p.low] | (f.bits == 8 ? from : from & 15) << p.low_bit);
            if (f.extra() > 0) {
                bytes[p.high] = uint8_t(bytes[p.high] | from >> 4 << p.high_bit);
            }
        }
    }
}

// What a column has of an interleaved block, one part after the other.
void to_panel(const BlockFormat &f, const uint8_t *block, uint8_t *bytes) {
    if (f.is_same()) {
        memcpy(bytes, block, size_t(f.bytes));
        return;
    }
    uint8_t q[kMostElements], *const scales = bytes + 2 * f.halves;
    memset(bytes, 0, size_t(f.interleaved()));
    memcpy(bytes, block + f.of_halves, size_t(2 * f.halves));
    if (f.least) {
        read_six_bits(block + f.of_scales, scales);
    } else {
        memcpy(scales, block + f.of_scales, size_t(f.scales));
    }
    read_elements(f, place_of_file, block, q);
    write_elements(f, place_of_panel, q, bytes);
}

void from_panel(const BlockFormat &f, const uint8_t *bytes, uint8_t *block) {
    if (f.is_same()) {
        memcpy(block, bytes, size_t(f.bytes));
        return;
    }
    uint8_t q[kMostElements];
    const uint8_t *const scales = bytes + 2 * f.halves;
    memset(block, 0, size_t(f.bytes));
    memcpy(block + f.of_halves, bytes, size_t(2 * f.halves));
    if (f.least) {
        write_six_bits(scales, block + f.of_scales);
    } else {
        memcpy(block + f.of_scales, scales, size_t(f.scales));
    }
    read_elements(f, place_of_panel, bytes, q);
    write_elements(f, place_of_file, q, block);
}

struct Interleaving {
    const halide_buffer_t *blocks, *interleaved;
    bool back;  // from the interleaved ones
    const BlockFormat *format;
};

uint8_t *block_at(const halide_buffer_t *b, int64_t block, int64_t n) {
    return b->host + block * b->dim[1].stride + n * b->dim[2].stride;
}

// Parts of `size` bytes, of a column one after the other, and of all columns of a panel side by side.
void copy_parts(const Interleaving &job, int64_t columns, int64_t c, int first, int end, int size, uint8_t *of_column, uint8_t *of_panel) {
    for (int at = first; at < end; at += size) {
        uint8_t *const beside = of_panel + at * columns + c * size;
        memcpy(job.back ? of_column + at : beside, job.back ? beside : of_column + at, size_t(size));
    }
}

// A panel of columns. Those behind the last are zeros.
int interleave_task(void *, int panel, uint8_t *closure) {
    constexpr int kMostBytes = 256;
    const Interleaving &job = *reinterpret_cast<const Interleaving *>(closure);
    const BlockFormat &f = *job.format;
    const int bytes = f.interleaved(), halves = 2 * f.halves, elements = halves + f.small();
    const int64_t columns = job.interleaved->dim[0].extent / bytes;
    for (int64_t block = 0; block < job.blocks->dim[1].extent; block++) {
        uint8_t *const of_panel = block_at(job.interleaved, block, panel);
        for (int64_t c = 0; c < columns; c++) {
            const int64_t n = panel * columns + c;
            const bool there = n < job.blocks->dim[2].extent;
            uint8_t of_column[kMostBytes] = {};
            if (!there && job.back) {
                break;
            }
            if (there && !job.back) {
                to_panel(f, block_at(job.blocks, block, n), of_column);
            }
            copy_parts(job, columns, c, 0, halves, 2, of_column, of_panel);
            copy_parts(job, columns, c, halves, elements, 1, of_column, of_panel);
            copy_parts(job, columns, c, elements, bytes, 4, of_column, of_panel);
            if (job.back) {
                from_panel(f, of_column, block_at(job.blocks, block, n));
            }
        }
    }
    return 0;
}

// "" or what is wrong with blocks and interleaved ones.
const char *why_not_interleave(const halide_buffer_t *blocks, const halide_buffer_t *interleaved) {
    for (const auto *b : {blocks, interleaved}) {
        if (!b || !b->dim) {
            return "an array is NULL";
        }
        if (b->type != halide_type_t(halide_type_uint, 8) || b->dimensions != 3) {
            return "both arrays have to be uint8 of 3 dimensions";
        }
        for (int d = 0; d < 3; d++) {
            if (b->dim[d].extent < 0) {
                return "an extent is negative";
            }
        }
        if (halyard::has_elements(b) && !b->host) {
            return "an array has no memory on the host";
        }
        if (b->dim[0].stride != 1) {
            return "the bytes of a block have to lie one after the other";
        }
    }
    const BlockFormat *const format = block_format(blocks->dim[0].extent);
    if (!format) {
        return "blocks have 18 bytes (Q4_0), 20 (Q4_1), 22 (Q5_0), 24 (Q5_1), 34 (Q8_0), 144 (Q4_K), 176 (Q5_K), 210 (Q6_K), 64 (F16 and "
               "BF16) or 128 (F32)";
    }
    const int64_t of_panel = interleaved->dim[0].extent, bytes = format->interleaved();
    const int64_t columns = of_panel % bytes == 0 ? of_panel / bytes : 0;
    if (columns != 8 && columns != 16 && columns != 32) {
        return "the first extent of the interleaved blocks has to be 8, 16 or 32 times the bytes of an interleaved block of their format";
    }
    if (interleaved->dim[1].extent != blocks->dim[1].extent ||
        interleaved->dim[2].extent != (blocks->dim[2].extent + columns - 1) / columns) {
        return "the interleaved blocks are not [bytes * columns, k / elements, ceil(n / columns)]";
    }
    return "";
}

int interleave(const char *function, const halide_buffer_t *blocks, const halide_buffer_t *interleaved, bool back) {
    const char *const wrong = why_not_interleave(blocks, interleaved);
    if (*wrong) {
        return fail(function, wrong);
    }
    if (const char *const shared = why_not_written(back ? blocks : interleaved, back ? interleaved : blocks); *shared) {
        return fail(function, shared);
    }
    Interleaving job = {blocks, interleaved, back, block_format(blocks->dim[0].extent)};
    const int panels = interleaved->dim[2].extent;
    return panels == 0 ? 0 : halide_do_par_for(nullptr, interleave_task, 0, panels, reinterpret_cast<uint8_t *>(&job));
}

}  // namespace

extern "C" {

int halyard_pack_int4(halyard_words layout, const halide_buffer_t *words, halide_buffer_t *int4) {
    return convert("halyard_pack_int4", pack_task, layout, words, int4);
}

int halyard_unpack_int4(halyard_words layout, const halide_buffer_t *int4, halide_buffer_t *words) {
    return convert("halyard_unpack_int4", unpack_task, layout, words, int4);
}

int halyard_pack_zeros(halyard_words layout, const halide_buffer_t *words, int more, halide_buffer_t *zeros) {
    const char *const function = "halyard_pack_zeros";
    const char *const wrong = why_not(layout, words, zeros, "the zero points have to be uint8 of 2 dimensions, [groups, n]");
    if (*wrong) {
        return fail(function, wrong);
    }
    const Job job = {{layout, words}, zeros, uint32_t(more)};
    if (zeros->dim[0].extent != job.words.rows() || zeros->dim[1].extent != job.words.columns()) {
        return fail(function, "the words have another number of zero points than [groups, n]");
    }
    if (const char *const shared = why_not_written(zeros, words); *shared) {
        return fail(function, shared);
    }
    return run(function, zeros_task, job);
}

int halyard_interleaved_bytes(int bytes) {
    const BlockFormat *const format = block_format(bytes);
    return format ? format->interleaved() : 0;
}

int halyard_interleave_blocks(const halide_buffer_t *blocks, halide_buffer_t *interleaved) {
    return interleave("halyard_interleave_blocks", blocks, interleaved, false);
}

int halyard_deinterleave_blocks(const halide_buffer_t *interleaved, halide_buffer_t *blocks) {
    return interleave("halyard_deinterleave_blocks", blocks, interleaved, true);
}

}  // extern "C"
