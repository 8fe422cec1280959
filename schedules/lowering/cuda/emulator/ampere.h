#ifndef HALYARD_EMULATOR_AMPERE_H
#define HALYARD_EMULATOR_AMPERE_H

/** \file
 * What kernels for sm_80 stand on (see ../ampere.h): the lanes of a warp load matrices and multiply them together. A lane
 * reads the lines that it names, so that races in shared memory are found as for its other reads.
 */

#pragma GCC visibility push(hidden)

#include "copies.h"
#include "matrices.h"
#include "collective.h"

namespace halyard {
namespace emulator {

inline int warp_start() {
    return state.current->number / kWarp * kWarp;
}

/** A line, and where the lane's part of the four matrices goes. */
struct LoadArgument {
    SharedAccess line;
    uint32_t *m;
};

template<bool Across>
bool load_matrices_together(Thread *lanes) {
    Thread *const last = state.current;
    uint16_t lines[kWarp][8];
    for (int lane = 0; lane < kWarp; lane++) {
        state.current = &lanes[lane];
        read_shared(argument_of<LoadArgument>(lanes[lane]).line, lines[lane]);
    }
    state.current = last;
    for (int lane = 0; lane < kWarp; lane++) {
        for (int i = 0; i < 4; i++) {
            const int of_lane = lane / 4, first = lane % 4 * 2;
            const uint32_t low = Across ? lines[i * 8 + first][of_lane] : lines[i * 8 + of_lane][first],
                           high = Across ? lines[i * 8 + first + 1][of_lane] : lines[i * 8 + of_lane][first + 1];
            argument_of<LoadArgument>(lanes[lane]).m[i] = low | high << 16;
        }
    }
    return true;
}

template<bool Across, class T>
void load_matrices_of(uint32_t *m, const shared<T> &line) {
    LoadArgument argument = {line.access(16, 16), m};
    together("ldmatrix", warp_start(), kWarp, &argument, load_matrices_together<Across>);
}

struct FragmentsArgument {
    void *sums;
    const uint32_t *a, *b;
};

template<class A, class B, int Rows, int Columns>
bool multiply_fragments_together(Thread *lanes) {
    constexpr int kRoom = (Columns + 15) / 16 * 16, kDepth = kProductDepth<A>, kIn = 4 / int(sizeof(A));  // a register
    alignas(64) static Sum<A> a[Rows][kDepth], b[kDepth][kRoom], c[Rows][kRoom];
    for (int lane = 0; lane < kWarp; lane++) {
        const FragmentsArgument &p = argument_of<FragmentsArgument>(lanes[lane]);
        for (int row = 0; row < Rows; row += 8) {
            for (int half = 0; half < 2; half++) {  // of the depth
                A of_a[kIn];
                memcpy(of_a, &p.a[row / 16 * 4 + row / 8 % 2 + half * 2], 4);
                for (int i = 0; i < kIn; i++) {
                    a[row + lane / 4][half * kDepth / 2 + lane % 4 * kIn + i] = factor(of_a[i]);
                }
            }
        }
        for (int column = 0; column < Columns; column += 8) {
            for (int half = 0; half < 2; half++) {
                B of_b[kIn];
                memcpy(of_b, &p.b[column / 8 * 2 + half], 4);
                for (int i = 0; i < kIn; i++) {
                    b[half * kDepth / 2 + lane % 4 * kIn + i][column + lane / 4] = factor(of_b[i]);
                }
            }
        }
    }
    multiply_tile<Columns>(a, b, c);
    for (int lane = 0; lane < kWarp; lane++) {
        Sum<A> *const sums = static_cast<Sum<A> *>(argument_of<FragmentsArgument>(lanes[lane]).sums);
        for (int i = 0; i < Rows * Columns / kWarp; i++) {
            const int row = i / (Columns / 2) * 16 + i / 2 % 2 * 8, column = i % (Columns / 2) / 4 * 8 + i % 2;
            sums[i] += c[row + lane / 4][column + lane % 4 * 2];
        }
    }
    return true;
}

}  // namespace emulator

template<class T>
void load_matrices(uint32_t *m, const shared<T> &line) {
    emulator::load_matrices_of<false>(m, line);
}
template<class T>
void load_matrices_across(uint32_t *m, const shared<T> &line) {
    emulator::load_matrices_of<true>(m, line);
}

template<class T>
using place_in_shared = shared<T>;
template<class T, class From>
void copy_chunk(const shared<T> &to, const global<From> &from) {
    emulator::copy_later(to, from, 16, 16);
}
template<class T, class From>
void copy_chunk_if(const shared<T> &to, const global<From> &from, bool condition) {
    emulator::copy_later(to, from, 16, condition ? 16 : 0);
}

template<class A, class B, int Sums, int RegistersA, int RegistersB>
void multiply_fragments(emulator::Sum<A> (&sums)[Sums], const uint32_t (&a)[RegistersA], const uint32_t (&b)[RegistersB]) {
    static_assert(Sums == RegistersA / 4 * (RegistersB / 2) * 4, "a sum for each row and column");
    emulator::FragmentsArgument argument = {sums, a, b};
    emulator::together("mma.sync", emulator::warp_start(), emulator::kWarp, &argument,
                       emulator::multiply_fragments_together<A, B, RegistersA / 4 * 16, RegistersB / 2 * 8>);
}

template<class A, class B, int Sums, int RegistersA, int RegistersB, class Meanwhile>
void multiply_fragments(emulator::Sum<A> (&sums)[Sums], const uint32_t (&a)[RegistersA], const uint32_t (&b)[RegistersB],
                        Meanwhile meanwhile) {
    for (int i = 0; i < RegistersA / 4; i++) {
        meanwhile(i);
    }
    multiply_fragments<A, B>(sums, a, b);
}

}  // namespace halyard

#pragma GCC visibility pop

#endif
