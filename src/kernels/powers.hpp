// e^x and log(1 + x) in plain arithmetic, so that every build and platform gives the same bits.
// No scores, no losses.
#pragma once
#include "simd.hpp"

namespace ONEOF_ISA {

// e^x = two_n · (1 + rest), for x ≤ 0: two_n is a power of 2, and rest small.
struct Power {
    double two_n, rest;
    double value() const { return two_n + two_n * rest; }
    double minus_one() const { return two_n * rest + (two_n - 1.0); }   // exact where x is small
};

// Without branches, so that a loop over classes becomes vectors. Below -708 e^x counts as 0.
ONEOF_INLINE Power power(double x) {
    constexpr double kLog2E = 0x1.71547652b82fep+0, kShift = 0x1.8p52;
    constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
    const double bounded = x > -708.0 ? x : -708.0;
    const double shifted = bounded * kLog2E + kShift;   // its last bits are n, rounded to nearest
    const double n = shifted - kShift;
    const double r = (bounded - n * kLn2High) - n * kLn2Low;
    double p = 1.0 / 6227020800.0;                      // Σ r^i / i! up to 13: |r| ≤ ln 2 / 2
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    const double rest = r + r * r * p;
    uint64_t bits;
    __builtin_memcpy(&bits, &shifted, sizeof(bits));
    bits = (bits + 1023) << 52;
    double two_n;
    __builtin_memcpy(&two_n, &bits, sizeof(two_n));
    return {x > -708.0 ? two_n : 0.0, rest};
}

// log(1 + x) for -1 < x ≤ 0, to the last few bits also where x is small. Ends for any other x.
inline double log1p(double x) {
    double high = 0;
    for (; x < -0.25 && x > -1.0; high -= 0x1.62e42fefa39efp-1) x = x + x + 1.0;   // log(1+x) = log(2+2x) − ln 2
    const double w = x / (2.0 + x), ww = w * w;                        // log(1+x) = 2 artanh(w)
    double sum = 0;
    for (int i = 27; i > 1; i -= 2) sum = (sum + 1.0 / i) * ww;
    return high + 2.0 * (w + w * sum);
}

}  // namespace ONEOF_ISA
