// e^x and log(1 + x) in plain arithmetic, so that every build and platform gives the same bits.
// No scores, no losses.
#pragma once
#include "simd.hpp"

namespace ONEOF_ISA {

// e^x = two_n · (1 + rest), for x ≤ 0: two_n is a power of 2, and rest small. V is double or a
// vector of doubles; each lane gets the bits that it would get alone.
template <class V>
struct Power {
    V two_n, rest;
    V value() const { return two_n + two_n * rest; }
    V minus_one() const { return two_n * rest + (two_n - 1.0); }   // exact where x is small
};

template <class V>
struct Words {
    using type = vec<uint64_t, sizeof(V)>;
};
template <>
struct Words<double> {
    using type = uint64_t;
};

// Without branches. Below -708 e^x counts as 0. Polynomials are summed by halves: Horner's rule,
// each step waiting for the one before, takes three times as long.
template <class V>
ONEOF_INLINE Power<V> power(V x) {
    constexpr double kLog2E = 0x1.71547652b82fep+0, kShift = 0x1.8p52;
    constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
    const V least = V{} - 708.0;
    const V bounded = x > least ? x : least;
    const V shifted = bounded * kLog2E + kShift;   // its last bits are n, rounded to nearest
    const V n = shifted - kShift;
    const V r = (bounded - n * kLn2High) - n * kLn2Low;
    // Σ r^i / i! from 2 to 13: |r| ≤ ln 2 / 2.
    const V rr = r * r, r4 = rr * rr;
    const V low = (0.5 + r * (1.0 / 6.0)) + rr * (1.0 / 24.0 + r * (1.0 / 120.0));
    const V middle = (1.0 / 720.0 + r * (1.0 / 5040.0)) +
                     rr * (1.0 / 40320.0 + r * (1.0 / 362880.0));
    const V high = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) +
                   rr * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
    const V rest = r + rr * (low + r4 * (middle + r4 * high));
    typename Words<V>::type bits;
    __builtin_memcpy(&bits, &shifted, sizeof(bits));
    bits = (bits + 1023) << 52;
    V two_n;
    __builtin_memcpy(&two_n, &bits, sizeof(two_n));
    return {x > least ? two_n : V{}, rest};
}

// log(1 + x) for -1 < x ≤ 0, to the last few bits also where x is small: −e·ln 2 + 2 artanh(w),
// with 2^e·(1 + x) between √½ and √2.
inline double log1p(double x) {
    constexpr double kRootHalf = 0x1.6a09e667f3bcdp-1;
    const double y = 1.0 + x;
    int64_t bits, root_half;
    __builtin_memcpy(&bits, &y, sizeof(bits));
    __builtin_memcpy(&root_half, &kRootHalf, sizeof(root_half));
    const int64_t e = (root_half - bits + ((int64_t(1) << 52) - 1)) >> 52;
    const int64_t moved = bits + (e << 52);
    double near;
    __builtin_memcpy(&near, &moved, sizeof(near));
    const double f = e > 0 ? near - 1.0 : x;
    const double w = f / (2.0 + f), ww = w * w, w4 = ww * ww, w8 = w4 * w4;   // |w| < 0.172
    const double low = (1.0 / 3 + ww * (1.0 / 5)) + w4 * (1.0 / 7 + ww * (1.0 / 9));
    const double middle = (1.0 / 11 + ww * (1.0 / 13)) + w4 * (1.0 / 15 + ww * (1.0 / 17));
    const double high = (1.0 / 19 + ww * (1.0 / 21)) + w4 * (1.0 / 23);
    const double sum = low + w8 * (middle + w8 * high);
    return 2.0 * (w + w * (ww * sum)) - double(e) * 0x1.62e42fefa39efp-1;
}

}  // namespace ONEOF_ISA
