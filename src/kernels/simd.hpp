// Vectors of the width this build was compiled for, and the few operations on them that have no
// portable spelling. Nothing here knows what a row, a class or a weight is.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ONEOF_INLINE inline __attribute__((always_inline))

namespace ONEOF_ISA {

#if defined(__AVX512F__) && defined(__AVX512DQ__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class T, int Bytes>
struct Vector {
    typedef T type __attribute__((vector_size(Bytes), may_alias));
};
template <class T, int Bytes>
using vec = typename Vector<T, Bytes>::type;

// Calls f(0), f(1), ... f(N-1) with compile-time indices.
template <int N, class F>
ONEOF_INLINE void unroll(F&& f) {
    [&]<int... I>(std::integer_sequence<int, I...>) {
        (f(std::integral_constant<int, I>{}), ...);
    }(std::make_integer_sequence<int, N>{});
}

// One bit per lane: is it true (all ones) in a comparison's result?
template <int Bytes, class Mask>
ONEOF_INLINE uint32_t lane_bits(Mask mask) {
    constexpr int kLane = sizeof(mask[0]);
#if defined(__x86_64__)
    if constexpr (Bytes == 16) {
        return static_cast<uint32_t>(kLane == 4 ? _mm_movemask_ps((__m128)mask)
                                                : _mm_movemask_pd((__m128d)mask));
    }
#if defined(__AVX2__)
    else if constexpr (Bytes == 32) {
        return static_cast<uint32_t>(kLane == 4 ? _mm256_movemask_ps((__m256)mask)
                                                : _mm256_movemask_pd((__m256d)mask));
    }
#endif
#if defined(__AVX512F__) && defined(__AVX512DQ__)
    else if constexpr (Bytes == 64) {
        return kLane == 4 ? static_cast<uint32_t>(_mm512_movepi32_mask((__m512i)mask))
                          : static_cast<uint32_t>(_mm512_movepi64_mask((__m512i)mask));
    }
#endif
#else
    uint32_t bits = 0;
    for (int i = 0; i < Bytes / kLane; ++i) bits |= static_cast<uint32_t>(mask[i] & 1) << i;
    return bits;
#endif
}

// The lanes 0, 1, 2, ... as bits 1, 2, 4, ...: to spread a bit mask over a vector.
template <class T, int Bytes>
ONEOF_INLINE auto lane_selectors() {
    using Int = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    vec<Int, Bytes> bits{};
    unroll<Bytes / int(sizeof(T))>([&](auto i) { bits[i.value] = Int(1) << i.value; });
    return bits;
}

template <class T, int Bytes>
ONEOF_INLINE T horizontal_max(vec<T, Bytes> v) {
    T lanes[Bytes / sizeof(T)];
    __builtin_memcpy(lanes, &v, Bytes);
    for (int half = Bytes / int(sizeof(T)) / 2; half; half /= 2)
        for (int i = 0; i < half; ++i)
            lanes[i] = lanes[i + half] > lanes[i] ? lanes[i + half] : lanes[i];
    return lanes[0];
}

}  // namespace ONEOF_ISA
