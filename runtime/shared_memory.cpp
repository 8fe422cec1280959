// Whether an output of a call lies over another of its arrays. Tails of tiles are computed twice, and rows are read after others were
// stored, so what such a call computes is neither the op of the old values nor of the new ones.

#include <stdio.h>
#include <string.h>

#include "HalideRuntime.h"
#include "errors.h"
#include "shared_memory.h"

namespace halyard {

namespace {

// Where the bytes of an array are, counted from the address that it has.
struct Extent {
    int64_t below, above;  // the lowest byte, and the one behind the highest
    bool known;            // false: without elements, or farther apart than an address can say
};

Extent extent_of(const halide_buffer_t &array) {
    Extent extent = {0, array.type.bytes(), false};
    for (int d = 0; d < array.dimensions; d++) {
        const int64_t last = int64_t(array.dim[d].extent) - 1;
        int64_t reach = 0;
        if (last < 0 || __builtin_mul_overflow(array.dim[d].stride * int64_t(array.type.bytes()), last, &reach) ||
            __builtin_add_overflow(reach < 0 ? extent.below : extent.above, reach, reach < 0 ? &extent.below : &extent.above)) {
            return extent;
        }
    }
    extent.known = true;
    return extent;
}

constexpr int kMostSteps = 40;  // of two arrays, and of the bytes of an element of each
constexpr int kMostTries = 10000;

// Whether a sum of steps[i] * n[i], 0 <= n[i] <= most[i], is a number: the equation by which numpy.shares_memory() decides, too. The
// largest step comes first, so that there are one or two numbers to try of each, but where rows lie across each other.
class Sums {
public:
    void add(int64_t step, int64_t most) {
        if (step == 0 || most == 0) {
            return;
        }
        int at = 0;
        while (at < count_ && steps_[at] > step) {
            at++;
        }
        if (at < count_ && steps_[at] == step) {
            most_[at] += most;
            return;
        }
        for (int i = count_++; i > at; i--) {
            steps_[i] = steps_[i - 1];
            most_[i] = most_[i - 1];
        }
        steps_[at] = step;
        most_[at] = most;
    }

    // False where it takes too long to tell.
    bool reach(int64_t number) {
        left_[count_] = 0;
        for (int i = count_; i-- > 0;) {
            left_[i] = left_[i + 1] + steps_[i] * most_[i];
        }
        return number >= 0 && reach(0, number);
    }

private:
    bool reach(int i, int64_t number) {
        if (number == 0) {
            return true;
        }
        if (number > left_[i] || ++tries_ > kMostTries) {
            return false;
        }
        const int64_t behind = number > left_[i + 1] ? number - left_[i + 1] : 0;
        const int64_t first = (behind + steps_[i] - 1) / steps_[i];
        for (int64_t n = number / steps_[i] < most_[i] ? number / steps_[i] : most_[i]; n >= first && tries_ <= kMostTries; n--) {
            if (reach(i + 1, number - n * steps_[i])) {
                return true;
            }
        }
        return false;
    }

    int64_t steps_[kMostSteps], most_[kMostSteps], left_[kMostSteps + 1];
    int count_ = 0, tries_ = 0;
};

void add_elements(const halide_buffer_t &array, Sums *sums) {
    for (int d = 0; d < array.dimensions; d++) {
        const int64_t step = array.dim[d].stride * int64_t(array.type.bytes());
        sums->add(step < 0 ? -step : step, array.dim[d].extent - 1);
    }
    sums->add(1, array.type.bytes() - 1);
}

bool meet(const halide_buffer_t &a, const Extent &of_a, uint64_t at, const halide_buffer_t &b, const Extent &of_b, uint64_t other) {
    if (at == 0 || other == 0) {
        return false;
    }
    const uint64_t first = at + uint64_t(of_a.below), end = at + uint64_t(of_a.above);
    const uint64_t other_first = other + uint64_t(of_b.below), other_end = other + uint64_t(of_b.above);
    if (end <= other_first || other_end <= first) {
        return false;
    }
    if (a.dimensions + b.dimensions + 2 > kMostSteps) {
        return false;
    }
    // Bytes of the first array from its lowest one up, and of the second from its highest one down.
    Sums sums;
    add_elements(a, &sums);
    add_elements(b, &sums);
    return sums.reach(int64_t(other_end - 1 - first));
}

bool share(const halide_buffer_t &a, const Extent &of_a, const halide_buffer_t &b, const Extent &of_b) {
    return of_a.known && of_b.known &&
           (meet(a, of_a, uint64_t(uintptr_t(a.host)), b, of_b, uint64_t(uintptr_t(b.host))) ||
            (a.device_interface == b.device_interface && meet(a, of_a, a.device, b, of_b, b.device)));
}

}  // namespace

bool has_elements(const halide_buffer_t *array) {
    for (int d = 0; d < array->dimensions; d++) {
        if (array->dim[d].extent == 0) {
            return false;
        }
    }
    return true;
}

bool find_shared(int64_t outputs, int count, const halide_buffer_t *const *arrays, int *output, int *other) {
    Extent extents[kMostArrays];
    if (count > kMostArrays) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        extents[i] = extent_of(*arrays[i]);
    }
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++) {
            const bool is_pair = (outputs >> i & 1) != 0 && k != i && (k > i || (outputs >> k & 1) == 0);
            if (is_pair && share(*arrays[i], extents[i], *arrays[k], extents[k])) {
                *output = i;
                *other = k;
                return true;
            }
        }
    }
    return false;
}

bool share_memory(const halide_buffer_t *a, const halide_buffer_t *b) {
    return share(*a, extent_of(*a), *b, extent_of(*b));
}

bool elements_may_share(const halide_buffer_t *array) {
    const auto step = [&](int d) { return array->dim[d].stride < 0 ? -int64_t(array->dim[d].stride) : int64_t(array->dim[d].stride); };
    const auto past = [&](int d) { return step(d) * array->dim[d].extent; };
    if (!has_elements(array)) {
        return false;
    }
    for (int d = 0; d < array->dimensions; d++) {
        for (int other = 0; other <= d; other++) {
            if (array->dim[d].extent > 1 && array->dim[other].extent > 1 &&
                (other == d ? step(d) == 0 : step(d) < past(other) && step(other) < past(d))) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace halyard

namespace {

// The word of this number in a text of words.
void word_of(const char *words, int number, char (&word)[200]) {
    while (number-- > 0) {
        words += strcspn(words, " ");
        words += *words == ' ';
    }
    snprintf(word, sizeof(word), "%.*s", int(strcspn(words, " ")), words);
}

}  // namespace

extern "C" {

/** What a library asks before it computes: bits of `outputs` say which of the arrays are. */
int halyard_memory_is_shared(int64_t outputs, int count, const halide_buffer_t *const *arrays) {
    int output, other;
    return halyard::find_shared(outputs, count, arrays, &output, &other);
}

/** The error where they are; `names` stand in their order, with spaces. */
int halyard_error_memory_is_shared(void *user_context, int64_t outputs, int count, const halide_buffer_t *const *arrays,
                                   const char *names) {
    int output = 0, other = 0;
    halyard::find_shared(outputs, count, arrays, &output, &other);
    char written[200], second[200], text[halyard::kMaxMessage];
    word_of(names, output, written);
    word_of(names, other, second);
    snprintf(text, sizeof(text), "the output %s shares memory with %s, and no output may: give it memory of its own, and copy", written,
             second);
    halide_error(user_context, text);
    return halide_error_code_requirement_failed;
}

}  // extern "C"
