// W = scale·V, features × classes, and what is done to it: scores, the rank-one update, scaling.
// No losses, no rules.
#pragma once
#include "rows.hpp"

namespace ONEOF_ISA {

template <int Bytes_, int N_, int A_>
struct Tile {
    static constexpr int kBytes = Bytes_, kVectors = N_, kSums = A_;
};

// Cuts one feature's weights into tiles whose partial sums fit the registers. How many partial
// sums a score has (4 or 2) depends on the stride alone, so that no build differs in a bit.
template <class T, class F>
ONEOF_INLINE void for_tiles(int64_t stride, F&& f) {
    constexpr int W = kVectorBytes, kHalf = W < 32 ? 16 : 32;
    constexpr int64_t kItem = sizeof(T);
    const int64_t bytes = stride * kItem;
    if (bytes == 16) {
        f(Tile<16, 1, 4>{}, 0);
    } else if (bytes == 32) {
        f(Tile<kHalf, 32 / kHalf, 4>{}, 0);
    } else if (bytes == 64) {
        constexpr int kVectors = W == 64 ? 1 : 2;
        for (int64_t at = 0; at < 64; at += W * kVectors) f(Tile<W, kVectors, 4>{}, at / kItem);
    } else {
        int64_t at = 0;
        for (; at + 4 * W <= bytes; at += 4 * W) f(Tile<W, 4, 2>{}, at / kItem);
        if constexpr (W > 16)
            for (; at + 2 * W <= bytes; at += 2 * W) f(Tile<W, 2, 2>{}, at / kItem);
        if constexpr (W > 32)
            for (; at < bytes; at += W) f(Tile<W, 1, 2>{}, at / kItem);
    }
}

template <class T>
struct Matrix {
    T* data;
    int64_t stride;
    bool has_intercept;
    int64_t n_features;

    T* intercept() const { return data; }
    T* feature(int64_t j) const { return data + (j + has_intercept) * stride; }
    int64_t size() const { return (n_features + has_intercept) * stride; }
};

// out = factor · xV
template <class T, class Row>
void score(const Matrix<T>& v, const Row& row, T factor, T* out) {
    for_tiles<T>(v.stride, [&](auto tile, int64_t at) {
        constexpr int kLanes = tile.kBytes / int(sizeof(T)), N = tile.kVectors, A = tile.kSums;
        using V = vec<T, tile.kBytes>;
        V sum[A][N] = {};
        if (v.has_intercept)
            unroll<N>([&](auto b) {
                sum[0][b] = *reinterpret_cast<const V*>(v.intercept() + at + b * kLanes);
            });
        const T* weights = v.feature(0) + at;
        row.template each<A>([&](auto a, int64_t p) __attribute__((always_inline)) {
            const T x = row.value(p);
            const T* w = weights + row.index(p) * v.stride;
            unroll<N>([&](auto b) { sum[a][b] += x * *reinterpret_cast<const V*>(w + b * kLanes); });
        });
        unroll<N>([&](auto b) {
            V total = sum[0][b] + sum[1][b];
            if constexpr (A == 4) total += sum[2][b] + sum[3][b];
            *reinterpret_cast<V*>(out + at + b * kLanes) = factor * total;
        });
    });
}

// V += x⊗u for a u over all (padded) classes.
template <class T, class Row>
void add_outer(const Matrix<T>& v, const Row& row, const T* u) {
    for_tiles<T>(v.stride, [&](auto tile, int64_t at) {
        constexpr int kLanes = tile.kBytes / int(sizeof(T)), N = tile.kVectors;
        using V = vec<T, tile.kBytes>;
        V step[N];
        unroll<N>([&](auto b) { step[b] = *reinterpret_cast<const V*>(u + at + b * kLanes); });
        if (v.has_intercept)
            unroll<N>([&](auto b) {
                *reinterpret_cast<V*>(v.intercept() + at + b * kLanes) += step[b];
            });
        T* weights = v.feature(0) + at;
        row.template each<4>([&](auto, int64_t p) __attribute__((always_inline)) {
            const T x = row.value(p);
            T* w = weights + row.index(p) * v.stride;
            unroll<N>([&](auto b) { *reinterpret_cast<V*>(w + b * kLanes) += x * step[b]; });
        });
    });
}

// The same for a u that is 0 but for a few of many classes.
template <class T, class Row>
void add_outer(const Matrix<T>& v, const Row& row, const T* u, const int32_t* classes, int64_t n) {
    if (v.has_intercept)
        for (int64_t i = 0; i < n; ++i) v.intercept()[classes[i]] += u[classes[i]];
    row.template each<4>([&](auto, int64_t p) __attribute__((always_inline)) {
        const T x = row.value(p);
        T* w = v.feature(row.index(p));
        for (int64_t i = 0; i < n; ++i) w[classes[i]] += x * u[classes[i]];
    });
}

// V ← factor·V
template <class T>
void multiply(const Matrix<T>& v, T factor) {
    for (int64_t i = 0; i < v.size(); ++i) v.data[i] *= factor;
}

// U ← U + factor·V
template <class T>
void add_multiple(const Matrix<T>& u, T factor, const Matrix<T>& v) {
    for (int64_t i = 0; i < v.size(); ++i) u.data[i] += factor * v.data[i];
}

// ‖V‖², in eight partial sums whatever the vectors' width.
template <class T>
double squared_norm(const Matrix<T>& v) {
    double sum[8] = {};
    const int64_t n = v.size(), whole = n / 8 * 8;
    for (int64_t i = 0; i < whole; i += 8)
        for (int k = 0; k < 8; ++k) sum[k] += double(v.data[i + k]) * double(v.data[i + k]);
    for (int64_t i = whole; i < n; ++i) sum[i % 8] += double(v.data[i]) * double(v.data[i]);
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

}  // namespace ONEOF_ISA
