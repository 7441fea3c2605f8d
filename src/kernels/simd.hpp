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
#define ONEOF_NOINLINE __attribute__((noinline))

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

// A vector that was just written as two halves, or whole: read whole, two halves would have to reach
// the cache first.
template <class T, int Bytes>
ONEOF_INLINE vec<T, Bytes> load_halves(const T* p) {
    constexpr int kHalf = Bytes / int(sizeof(T)) / 2;
    using Half = vec<T, Bytes / 2>;
    const Half low = *reinterpret_cast<const Half*>(p);
    const Half high = *reinterpret_cast<const Half*>(p + kHalf);
    return [&]<int... I>(std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(low, high, I...);
    }(std::make_integer_sequence<int, 2 * kHalf>{});
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

// The lanes whose bits are set, as a vector's mask.
template <class T, int Bytes>
ONEOF_INLINE auto lanes_of(uint32_t bits) {
    using Int = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    vec<Int, Bytes> selectors{};
    unroll<Bytes / int(sizeof(T))>([&](auto i) { selectors[i.value] = Int(1) << i.value; });
    return (selectors & int32_t(bits)) != 0;
}

// Lane by lane, a where its bit is set, else b.
template <class T, int Bytes>
ONEOF_INLINE vec<T, Bytes> select(uint32_t bits, vec<T, Bytes> a, vec<T, Bytes> b) {
#if defined(__AVX512F__) && defined(__AVX512VL__)
    if constexpr (sizeof(T) == 4) {
        if constexpr (Bytes == 64) return _mm512_mask_blend_ps(__mmask16(bits), b, a);
        if constexpr (Bytes == 32) return _mm256_mask_blend_ps(__mmask8(bits), b, a);
        if constexpr (Bytes == 16) return _mm_mask_blend_ps(__mmask8(bits), b, a);
    } else {
        if constexpr (Bytes == 64) return _mm512_mask_blend_pd(__mmask8(bits), b, a);
        if constexpr (Bytes == 32) return _mm256_mask_blend_pd(__mmask8(bits), b, a);
        if constexpr (Bytes == 16) return _mm_mask_blend_pd(__mmask8(bits), b, a);
    }
#else
    return lanes_of<T, Bytes>(bits) ? a : b;
#endif
}

template <class T, int Bytes>
ONEOF_INLINE T horizontal_max(vec<T, Bytes> v) {
    constexpr int kHalf = Bytes / int(sizeof(T)) / 2;
    if constexpr (kHalf == 1) {
        return v[1] > v[0] ? v[1] : v[0];
    } else {
        return [&]<int... I>(std::integer_sequence<int, I...>) {
            const auto low = __builtin_shufflevector(v, v, I...);
            const auto high = __builtin_shufflevector(v, v, (I + kHalf)...);
            return horizontal_max<T, Bytes / 2>(high > low ? high : low);
        }(std::make_integer_sequence<int, kHalf>{});
    }
}

// 0, 1, 2, ...
template <class V>
ONEOF_INLINE V iota() {
    V lanes{};
    unroll<int(sizeof(V) / sizeof(lanes[0]))>([&](auto i) { lanes[i.value] = i.value; });
    return lanes;
}

// The sum of eight numbers, `Lanes` a vector, always in the same order.
template <int Lanes, class V>
ONEOF_INLINE double sum_of_eight(const V* parts) {
    auto pair = [&](auto k) {   // the numbers k and k + 1
        return parts[k / Lanes][k % Lanes] + parts[(k + 1) / Lanes][(k + 1) % Lanes];
    };
    using std::integral_constant;
    return (pair(integral_constant<int, 0>{}) + pair(integral_constant<int, 2>{})) +
           (pair(integral_constant<int, 4>{}) + pair(integral_constant<int, 6>{}));
}

// Σ x_i² in eight partial sums, whatever the vectors' width. The last few values are read with
// some that are counted already, which then count as 0: a loop over them would take as long as
// all the others.
template <class T>
double sum_of_squares(const T* x, int64_t n) {
    constexpr int kLanes = kVectorBytes / 8, kParts = 8 / kLanes;
    using V = vec<double, kVectorBytes>;
    V sum[kParts] = {};
    auto add = [&](const T* from, auto keep) {
        unroll<kParts>([&](auto part) {
            vec<T, kLanes * int(sizeof(T))> values;
            __builtin_memcpy(&values, from + part * kLanes, sizeof(values));
            const V wide = keep(__builtin_convertvector(values, V), part * kLanes);
            sum[part] += wide * wide;
        });
    };
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) add(x + i, [](V wide, int) { return wide; });
    if (i < n && n >= 8) {
        const int64_t n_counted = i - (n - 8);
        const auto lanes = iota<vec<int64_t, kVectorBytes>>();
        add(x + n - 8, [&](V wide, int first) { return lanes + first >= n_counted ? wide : V{}; });
    } else {
        unroll<7>([&](auto k) {
            if (i + k < n) sum[k / kLanes][k % kLanes] = double(x[k]) * double(x[k]);
        });
    }
    return sum_of_eight<kLanes>(sum);
}

// Is each of n > 0 integers larger than the one before? Vectors overlap where there would be a rest;
// up to four are compared at once, as how often a loop runs is hard to foresee.
template <class Index>
bool is_rising(const Index* j, int64_t n) {
    constexpr int64_t kLanes = kVectorBytes / int64_t(sizeof(Index));
    using V = vec<Index, kVectorBytes>;
    auto load = [&](int64_t p) {
        V v;
        __builtin_memcpy(&v, j + p, sizeof(v));
        return v;
    };
    if (n <= kLanes) {
        bool is_falling = false;
        for (int64_t p = 1; p < n; ++p) is_falling |= j[p - 1] >= j[p];
        return !is_falling;
    }
    const int64_t last = n - 1 - kLanes;
    auto is_falling = load(last) >= load(last + 1);
    for (int64_t p = 0; p < last; p += 4 * kLanes)
        unroll<4>([&](auto i) {
            const int64_t at = p + i * kLanes < last ? p + i * kLanes : last;
            is_falling |= load(at) >= load(at + 1);
        });
    return lane_bits<kVectorBytes>(is_falling) == 0;
}

// The bits of eight values that are not 0 (NaN is not).
template <class T>
ONEOF_INLINE uint32_t nonzero_bits(const T* x) {
    constexpr int kEight = 8 * int(sizeof(T)), kBytes = kVectorBytes < kEight ? kVectorBytes : kEight;
    constexpr int kLanes = kBytes / int(sizeof(T));
    uint32_t bits = 0;
    unroll<kEight / kBytes>([&](auto i) {
        vec<T, kBytes> v;
        __builtin_memcpy(&v, x + i * kLanes, kBytes);
        bits |= lane_bits<kBytes>(v != 0) << (i * kLanes);
    });
    return bits;
}

// Is none of d values 0? The last eight overlap those before.
template <class T>
bool is_full(const T* x, int64_t d) {
    if (d < 8) {
        for (int64_t i = 0; i < d; ++i)
            if (x[i] == 0) return false;
        return true;
    }
    uint32_t bits = nonzero_bits(x + d - 8);
    for (int64_t i = 0; i + 8 < d && bits == 0xff; i += 8) bits &= nonzero_bits(x + i);
    return bits == 0xff;
}

// Writes the values that are not 0 (NaN is not) and where they were; returns how many. The outputs
// need room for kSpare entries past the last.
inline constexpr int kSpare = 16;
template <class T>
int64_t nonzeros(const T* x, int64_t d, T* values, int32_t* indices) {
    int64_t n = 0, p = 0;
#if defined(__AVX512F__) && defined(__AVX512VL__)
    if constexpr (sizeof(T) == 4) {
        __m512i at = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        for (; p < d; p += 16, at = _mm512_add_epi32(at, _mm512_set1_epi32(16))) {
            const __mmask16 is_inside = d - p >= 16 ? 0xffff : __mmask16((1u << (d - p)) - 1);
            const __m512 v = _mm512_maskz_loadu_ps(is_inside, x + p);
            const __mmask16 mask = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NEQ_UQ);
            _mm512_storeu_ps(values + n, _mm512_maskz_compress_ps(mask, v));
            _mm512_storeu_si512(indices + n, _mm512_maskz_compress_epi32(mask, at));
            n += __builtin_popcount(mask);
        }
    } else {
        __m256i at = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
        for (; p < d; p += 8, at = _mm256_add_epi32(at, _mm256_set1_epi32(8))) {
            const __mmask8 is_inside = d - p >= 8 ? 0xff : __mmask8((1u << (d - p)) - 1);
            const __m512d v = _mm512_maskz_loadu_pd(is_inside, x + p);
            const __mmask8 mask = _mm512_cmp_pd_mask(v, _mm512_setzero_pd(), _CMP_NEQ_UQ);
            _mm512_storeu_pd(values + n, _mm512_maskz_compress_pd(mask, v));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(indices + n),
                                _mm256_maskz_compress_epi32(mask, at));
            n += __builtin_popcount(mask);
        }
    }
#elif defined(__AVX2__) && defined(__BMI2__)
    if constexpr (sizeof(T) == 4) {
        const __m256i lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
        for (; p < d; p += 8) {
            const __m256i rest = _mm256_set1_epi32(int32_t(d - p < 8 ? d - p : 8));
            const __m256 v = _mm256_maskload_ps(x + p, _mm256_cmpgt_epi32(rest, lanes));
            const uint64_t mask = uint64_t(
                _mm256_movemask_ps(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_NEQ_UQ)));
            // One byte per lane; those of the lanes that stay, moved together.
            const uint64_t bytes = _pdep_u64(mask, 0x0101010101010101u) * 0xff;
            const uint64_t kept = _pext_u64(0x0706050403020100u, bytes);
            const __m256i at = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(int64_t(kept)));
            _mm256_storeu_ps(values + n, _mm256_permutevar8x32_ps(v, at));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(indices + n),
                                _mm256_add_epi32(at, _mm256_set1_epi32(int32_t(p))));
            n += __builtin_popcountll(mask);
        }
    }
#endif
    auto append = [&](int64_t i) {
        values[n] = x[i];
        indices[n] = static_cast<int32_t>(i);
        n += x[i] != 0;
    };
    for (; p + 8 <= d; p += 8)
        if (nonzero_bits(x + p)) unroll<8>([&](auto i) { append(p + i); });
    for (; p < d; ++p) append(p);
    return n;
}

}  // namespace ONEOF_ISA
