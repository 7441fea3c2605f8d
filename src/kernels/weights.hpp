// The weights, features × classes, and what is done to them: scores, the rank-one update, scaling.
// No losses, no rules.
#pragma once
#include "rows.hpp"

namespace ONEOF_ISA {

// Vectors of so many bytes, how many of them, partial sums; and the bytes from one feature's
// weights to the next, where they are known beforehand.
template <int Bytes_, int N_, int A_, int Width_ = 0>
struct Tile {
    static constexpr int kBytes = Bytes_, kVectors = N_, kSums = A_;
    template <class T>
    static int64_t width(int64_t otherwise) {
        return Width_ ? Width_ / int64_t(sizeof(T)) : otherwise;
    }
};

// Cuts one feature's weights into tiles whose partial sums fit the registers. How many partial
// sums a score has (4 or 2) depends on the width alone, so that no build differs in a bit.
template <class T, class F>
ONEOF_INLINE void for_tiles(int64_t width, F&& f) {
    constexpr int W = kVectorBytes, kHalf = W < 32 ? 16 : 32;
    constexpr int64_t kItem = sizeof(T);
    const int64_t bytes = width * kItem;
    if (bytes == 16) {
        f(Tile<16, 1, 4, 16>{}, 0);
    } else if (bytes == 32) {
        f(Tile<kHalf, 32 / kHalf, 4, 32>{}, 0);
    } else if (bytes == 64) {
        constexpr int kVectors = W == 64 ? 1 : 2;
        for (int64_t at = 0; at < 64; at += W * kVectors) f(Tile<W, kVectors, 4, 64>{}, at / kItem);
    } else {
        int64_t at = 0;
        for (; at + 4 * W <= bytes; at += 4 * W) f(Tile<W, 4, 2>{}, at / kItem);
        if constexpr (W > 16)
            for (; at + 2 * W <= bytes; at += 2 * W) f(Tile<W, 2, 2>{}, at / kItem);
        if constexpr (W > 32)
            for (; at < bytes; at += W) f(Tile<W, 1, 2>{}, at / kItem);
    }
}

// Row j holds feature j's weights: V's and, with averaging, U's behind them. The constant feature
// goes first.
template <class T>
struct Matrix {
    T* data;
    int64_t width;
    bool has_intercept;
    int64_t n_features;

    int64_t n_rows() const { return n_features + has_intercept; }
    T* row(int64_t i) const { return data + i * width; }
    T* intercept() const { return data; }
    T* feature(int64_t j) const { return row(j + has_intercept); }
};

// out = factor · xM
template <class T, class RowType>
ONEOF_INLINE void score(const Matrix<T>& m, const RowType& row, T factor, T* out) {
    for_tiles<T>(m.width, [&](auto tile, int64_t at) {
        constexpr int kLanes = tile.kBytes / int(sizeof(T)), N = tile.kVectors, A = tile.kSums;
        using V = vec<T, tile.kBytes>;
        V sum[A][N] = {};
        if (m.has_intercept)
            unroll<N>([&](auto b) {
                sum[0][b] = *reinterpret_cast<const V*>(m.intercept() + at + b * kLanes);
            });
        const T* weights = m.feature(0) + at;
        const int64_t width = tile.template width<T>(m.width);
        row.template each<A>([&](auto a, T x, int64_t j) __attribute__((always_inline)) {
            const T* w = weights + j * width;
            unroll<N>([&](auto b) { sum[a][b] += x * *reinterpret_cast<const V*>(w + b * kLanes); });
        });
        unroll<N>([&](auto b) {
            V total = sum[0][b] + sum[1][b];
            if constexpr (A == 4) total += sum[2][b] + sum[3][b];
            *reinterpret_cast<V*>(out + at + b * kLanes) = factor * total;
        });
    });
}

// M += x⊗u for a u over the whole width.
template <class T, class RowType>
ONEOF_INLINE void add_outer(const Matrix<T>& m, const RowType& row, const T* u) {
    for_tiles<T>(m.width, [&](auto tile, int64_t at) {
        constexpr int kLanes = tile.kBytes / int(sizeof(T)), N = tile.kVectors;
        using V = vec<T, tile.kBytes>;
        V step[N];
        unroll<N>([&](auto b) { step[b] = *reinterpret_cast<const V*>(u + at + b * kLanes); });
        if (m.has_intercept)
            unroll<N>([&](auto b) {
                *reinterpret_cast<V*>(m.intercept() + at + b * kLanes) += step[b];
            });
        T* weights = m.feature(0) + at;
        const int64_t width = tile.template width<T>(m.width);
        row.template each<4>([&](auto, T x, int64_t j) __attribute__((always_inline)) {
            T* w = weights + j * width;
            unroll<N>([&](auto b) { *reinterpret_cast<V*>(w + b * kLanes) += x * step[b]; });
        });
    });
}

// The same where only a few of many columns gain: u[i] in columns[i].
template <class T, class RowType>
void add_outer(const Matrix<T>& m, const RowType& row, const T* u, const int32_t* columns,
               int64_t n) {
    if (m.has_intercept)
        for (int64_t i = 0; i < n; ++i) m.intercept()[columns[i]] += u[i];
    row.template each<4>([&](auto, T x, int64_t j) __attribute__((always_inline)) {
        T* w = m.feature(j);
        for (int64_t i = 0; i < n; ++i) w[columns[i]] += x * u[i];
    });
}

}  // namespace ONEOF_ISA
