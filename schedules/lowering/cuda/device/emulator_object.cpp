// What printed kernels stand on, compiled once and optimised: kernels are compiled as they are, and of the functions that both have the
// linker takes those from here, as they come first (print/compile.cpp). The compiler keeps every function that is declared inline
// (-fkeep-inline-functions), and of templates what is used here, which is what kernels spend their time in. What is not here is right as
// well, and slower.
#define HALYARD_EMULATOR_COMPILED
#include "device/device.h"

#include "device/ampere.h"
#include "device/ampere_fused.h"

#include "device/skinny.h"

#include "device/hopper.h"
#include "device/tiles.h"

namespace halyard {

template class sums<16>;
template class sums<32>;
template class sums<64>;
template class sums<96>;
template class sums<128>;

// Elements and vectors of a type in each memory.
template<class T>
void use_elements(shared<T> s, global<T> g, global<const T> c, T *r, int i) {
    emulator::Element<T> e = s[i];
    e = c[i];
    g[i] = *s;
    r[i] = T(e);
    g = g + i;
    s = shared_array<T>(i, i) + i - 1;
    *c;
    s[1] = s[0];
}
template<int N, class T>
void use_vectors(shared<T> s, global<T> g, global<const T> c, T *r, bool yes, const vec<int, N> &at, const vec<bool, N> &where) {
    vec<T, N> v = load<N>(s);
    store(g, v);
    store(s, load<N>(c));
    store(s, load<N>(g));
    store(s, load_if<N>(yes, c));
    store(s, load_if<N>(yes, s));
    store_elements(g, load_elements<N>(c));
    store_elements(s, load_elements<N>(s));
    store_elements(g, load_elements_if<N>(yes, c));
    scatter(g, at, gather(c, at));
    scatter_if(where, g, at, gather_if(where, c, at));
    store_registers(r, load_registers<N>(r));
    v = select(where, broadcast<N>(T(r[0])), v);
    r[0] = v[1];
}
// Arithmetic.
template<int N, class T>
vec<T, N> use_arithmetic(const vec<T, N> &a, const vec<T, N> &b, T x) {
    const vec<bool, N> where = (a < b && a <= b) || (a == b && a != b) || (a > b && a >= b);
    return select(where, a + b * minimum(a, b), (a - maximum(a, b)) / b + ramp<N>(x, x) + broadcast<N>(x));
}
template<int N>
void use_arithmetic_of(vec<int, N> &a, vec<float, N> &b, const vec<half, N> &c, const vec<bfloat16, N> &d, float *f) {
    a = use_arithmetic(a, a, 1);
    b = use_arithmetic(b, b, 1.0f);
    a = select(!(a == a), div_floor(a, a), mod_floor(a, a));
    b = select(b == b, to<float>(c), to<float>(d));
    b = b + to<float>(a) + load_registers<N>(f);
    store_registers(f, to<float>(to<half>(b)));
    store_registers(f, to<float>(to_bfloat16(b)));
}
template<class T>
void use_type(shared<T> s, global<T> g, global<const T> c, T *r, int i, bool yes) {
    use_elements<T>(s, g, c, r, i);
    use_vectors<2, T>(s, g, c, r, yes, {}, {});
    use_vectors<4, T>(s, g, c, r, yes, {}, {});
    use_vectors<8, T>(s, g, c, r, yes, {}, {});
}
template void use_type<float>(shared<float>, global<float>, global<const float>, float *, int, bool);
template void use_type<int>(shared<int>, global<int>, global<const int>, int *, int, bool);
template void use_type<half>(shared<half>, global<half>, global<const half>, half *, int, bool);
template void use_type<bfloat16>(shared<bfloat16>, global<bfloat16>, global<const bfloat16>, bfloat16 *, int, bool);
template void use_type<int8_t>(shared<int8_t>, global<int8_t>, global<const int8_t>, int8_t *, int, bool);
template void use_type<uint8_t>(shared<uint8_t>, global<uint8_t>, global<const uint8_t>, uint8_t *, int, bool);
template void use_elements<uint32_t>(shared<uint32_t>, global<uint32_t>, global<const uint32_t>, uint32_t *, int);
template void use_elements<uint64_t>(shared<uint64_t>, global<uint64_t>, global<const uint64_t>, uint64_t *, int);

template void use_arithmetic_of<2>(vec<int, 2> &, vec<float, 2> &, const vec<half, 2> &, const vec<bfloat16, 2> &, float *);
template void use_arithmetic_of<4>(vec<int, 4> &, vec<float, 4> &, const vec<half, 4> &, const vec<bfloat16, 4> &, float *);
template void use_arithmetic_of<8>(vec<int, 8> &, vec<float, 8> &, const vec<half, 8> &, const vec<bfloat16, 8> &, float *);
template vec<bool, 2> broadcast<2>(bool);
template vec<bool, 8> broadcast<8>(bool);

// What the lanes of a warp and the threads of a block do together.
template<class T>
T use_warp(unsigned mask, T x, int i) {
    return __shfl_sync(mask, x, i) + __shfl_up_sync(mask, x, i) + __shfl_down_sync(mask, x, i) + __shfl_xor_sync(mask, x, i);
}
template<int Lanes>
float use_reductions(float x, shared<float> scratch) {
    return reduce_threads<add, Lanes>(x, scratch) + reduce_threads<take_max, Lanes>(x, scratch);
}
template float use_reductions<32>(float, shared<float>);
template float use_reductions<256>(float, shared<float>);
template float use_reductions<512>(float, shared<float>);
template float use_reductions<1024>(float, shared<float>);
template float use_warp(unsigned, float, int);
template int use_warp(unsigned, int, int);
template uint32_t use_warp(unsigned, uint32_t, int);

template<class T>
T use_integers(T a, T b) {
    return div_floor(a, b) + mod_floor(a, b) + maximum(a, b) + minimum(a, b);
}
template int use_integers(int, int);
template int64_t use_integers(int64_t, int64_t);
template uint32_t use_integers(uint32_t, uint32_t);
template float maximum(float, float);
template float minimum(float, float);

// Tensor cores: what comes to memory as matrices, and products.
template<class T>
void use_matrices(shared<T> s, global<const T> g, uint32_t *m, const tensor_map &map, shared<uint64_t> barrier, bool yes) {
    load_matrices(m, s);
    load_matrices_across(m, s);
    store_matrices(s, m[0], m[1], m[2], m[3]);
    store_matrices_across(s, m[0], m[1], m[2], m[3]);
    copy_chunk(s, g);
    copy_chunk_if(s, g, yes);
    emulator::copy_later(s, g, 16, 16);
    tensor_load(s, map, &barrier[0], 0, 0);
}
template void use_matrices<half>(shared<half>, global<const half>, uint32_t *, const tensor_map &, shared<uint64_t>, bool);
template void use_matrices<bfloat16>(shared<bfloat16>, global<const bfloat16>, uint32_t *, const tensor_map &, shared<uint64_t>, bool);
template void use_matrices<float>(shared<float>, global<const float>, uint32_t *, const tensor_map &, shared<uint64_t>, bool);
template void use_matrices<int8_t>(shared<int8_t>, global<const int8_t>, uint32_t *, const tensor_map &, shared<uint64_t>, bool);

}  // namespace halyard

namespace halyard {
namespace emulator {

#define OF_FRAGMENTS(A, B)                                                                                                                 \
    template bool multiply_fragments_together<A, B, 16, 64>(Thread *);                                                                     \
    template bool multiply_fragments_together<A, B, 32, 32>(Thread *);                                                                     \
    template bool multiply_fragments_together<A, B, 64, 32>(Thread *);                                                                     \
    template bool multiply_fragments_together<A, B, 64, 48>(Thread *);                                                                     \
    template bool multiply_fragments_together<A, B, 64, 64>(Thread *);                                                                     \
    template bool multiply_fragments_together<A, B, 32, 64>(Thread *);
#define OF_WARPGROUPS(A, B, N)                                                                                                             \
    template bool multiply_together<A, B, N, false, false>(Thread *);                                                                      \
    template bool multiply_together<A, B, N, false, true>(Thread *);
#define OF_HALVES(T, N)                                                                                                                    \
    template bool multiply_together<T, T, N, true, false>(Thread *);                                                                       \
    template bool multiply_together<T, T, N, true, true>(Thread *);
#define OF_PRODUCTS(A, B)                                                                                                                  \
    OF_FRAGMENTS(A, B)                                                                                                                     \
    OF_WARPGROUPS(A, B, 64)                                                                                                                \
    OF_WARPGROUPS(A, B, 128)                                                                                                               \
    OF_WARPGROUPS(A, B, 256)
OF_PRODUCTS(half, half)
OF_PRODUCTS(bfloat16, bfloat16)
OF_PRODUCTS(float, float)
OF_PRODUCTS(int8_t, int8_t)
OF_PRODUCTS(uint8_t, int8_t)
OF_PRODUCTS(e4m3, e4m3)
OF_WARPGROUPS(half, half, 192)
OF_WARPGROUPS(bfloat16, bfloat16, 192)
OF_HALVES(half, 64)
OF_HALVES(half, 128)
OF_HALVES(half, 256)
OF_HALVES(bfloat16, 64)
OF_HALVES(bfloat16, 128)
OF_HALVES(bfloat16, 256)

}  // namespace emulator
}  // namespace halyard
