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

bool has_elements(const halide_buffer_t *b) {
    for (int d = 0; d < b->dimensions; d++) {
        if (b->dim[d].extent == 0) {
            return false;
        }
    }
    return true;
}

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
    if ((has_elements(words) && !words->host) || (has_elements(bytes) && !bytes->host)) {
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

const char *const kShared = "an array would be written that shares memory with the other one";

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
    if (halyard::share_memory(words, int4)) {
        return fail(function, kShared);
    }
    return run(function, task, job);
}

// Blocks of GGUF files: numbers of f16, two bytes each, then bytes that are interleaved by fours.
int halves_of_block(int bytes) {
    return bytes == 18 || bytes == 34 ? 1 : bytes == 20 ? 2 : 0;
}

struct Interleaving {
    const halide_buffer_t *blocks, *interleaved;
    bool back;  // from the interleaved ones
};

int64_t columns_of_panel(const Interleaving &job) {
    return job.interleaved->dim[0].extent / job.blocks->dim[0].extent;
}

uint8_t *block_at(const halide_buffer_t *b, int64_t block, int64_t n) {
    return b->host + block * b->dim[1].stride + n * b->dim[2].stride;
}

void copy_unit(const Interleaving &job, uint8_t *of_block, uint8_t *of_panel, size_t bytes) {
    if (!job.back) {
        memcpy(of_panel, of_block, bytes);
    } else if (of_block) {
        memcpy(of_block, of_panel, bytes);
    }
}

// A panel of columns. Those behind the last are zeros.
int interleave_task(void *, int panel, uint8_t *closure) {
    static uint8_t zeros[64] = {};
    const Interleaving &job = *reinterpret_cast<const Interleaving *>(closure);
    const int64_t columns = columns_of_panel(job), bytes = job.blocks->dim[0].extent, halves = halves_of_block(int(bytes));
    for (int64_t block = 0; block < job.blocks->dim[1].extent; block++) {
        uint8_t *const to = block_at(job.interleaved, block, panel);
        for (int64_t c = 0; c < columns; c++) {
            const int64_t n = panel * columns + c;
            const bool there = n < job.blocks->dim[2].extent;
            uint8_t *const from = there ? block_at(job.blocks, block, n) : job.back ? nullptr : zeros;
            for (int64_t h = 0; h < halves; h++) {
                copy_unit(job, from ? from + 2 * h : nullptr, to + 2 * (h * columns + c), 2);
            }
            for (int64_t at = 2 * halves; at < bytes; at += 4) {
                copy_unit(job, from ? from + at : nullptr, to + at * columns + 4 * c, 4);
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
        if (has_elements(b) && !b->host) {
            return "an array has no memory on the host";
        }
        if (b->dim[0].stride != 1) {
            return "the bytes of a block have to lie one after the other";
        }
    }
    const int64_t bytes = blocks->dim[0].extent, of_panel = interleaved->dim[0].extent;
    if (halves_of_block(int(bytes)) == 0) {
        return "blocks have 18 bytes (Q4_0), 20 (Q4_1) or 34 (Q8_0)";
    }
    const int64_t columns = of_panel % bytes == 0 ? of_panel / bytes : 0;
    if (columns != 8 && columns != 16 && columns != 32) {
        return "the first extent of the interleaved blocks has to be 8, 16 or 32 times that of the blocks";
    }
    if (interleaved->dim[1].extent != blocks->dim[1].extent ||
        interleaved->dim[2].extent != (blocks->dim[2].extent + columns - 1) / columns) {
        return "the interleaved blocks are not [bytes * columns, k / 32, ceil(n / columns)]";
    }
    return "";
}

int interleave(const char *function, const halide_buffer_t *blocks, const halide_buffer_t *interleaved, bool back) {
    const char *const wrong = why_not_interleave(blocks, interleaved);
    if (*wrong) {
        return fail(function, wrong);
    }
    if (halyard::share_memory(blocks, interleaved)) {
        return fail(function, kShared);
    }
    Interleaving job = {blocks, interleaved, back};
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
    if (halyard::share_memory(words, zeros)) {
        return fail(function, kShared);
    }
    return run(function, zeros_task, job);
}

int halyard_interleave_blocks(const halide_buffer_t *blocks, halide_buffer_t *interleaved) {
    return interleave("halyard_interleave_blocks", blocks, interleaved, false);
}

int halyard_deinterleave_blocks(const halide_buffer_t *interleaved, halide_buffer_t *blocks) {
    return interleave("halyard_deinterleave_blocks", blocks, interleaved, true);
}

}  // extern "C"
