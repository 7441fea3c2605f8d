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

// The two loops that take most of the time are functions of their own, whatever surrounds them: the
// compiler keeps all they need in registers only so.
template <class Tile, class RowType, class T, class Index>
ONEOF_NOINLINE void score_tile(const T* weights, int64_t otherwise, const T* intercept, const T* x,
                               const Index* j, int64_t n, T factor, T* out) {
    constexpr int kLanes = Tile::kBytes / int(sizeof(T)), N = Tile::kVectors, A = Tile::kSums;
    using V = vec<T, Tile::kBytes>;
    const int64_t width = Tile::template width<T>(otherwise);
    V sum[A][N] = {};
    if (intercept)
        unroll<N>([&](auto b) {
            sum[0][b] = *reinterpret_cast<const V*>(intercept + b * kLanes);
        });
    const RowType row{x, j, n};
    row.template each_padded<A>([&](auto a, T value, int64_t i) __attribute__((always_inline)) {
        const T* w = weights + i * width;
        unroll<N>([&](auto b) {
            sum[a][b] += value * *reinterpret_cast<const V*>(w + b * kLanes);
        });
    });
    unroll<N>([&](auto b) {
        V total = sum[0][b] + sum[1][b];
        if constexpr (A == 4) total += sum[2][b] + sum[3][b];
        *reinterpret_cast<V*>(out + b * kLanes) = factor * total;
    });
}

template <class Tile, class RowType, class T, class Index>
ONEOF_NOINLINE void add_tile(T* weights, int64_t otherwise, T* intercept, const T* x,
                             const Index* j, int64_t n, const T* u) {
    constexpr int kLanes = Tile::kBytes / int(sizeof(T)), N = Tile::kVectors;
    using V = vec<T, Tile::kBytes>;
    const int64_t width = Tile::template width<T>(otherwise);
    V step[N];
    unroll<N>([&](auto b) { step[b] = load_halves<T, Tile::kBytes>(u + b * kLanes); });
    if (intercept)
        unroll<N>([&](auto b) { *reinterpret_cast<V*>(intercept + b * kLanes) += step[b]; });
    const RowType row{x, j, n};
    row.template each<4>([&](auto, T value, int64_t i) __attribute__((always_inline)) {
        T* w = weights + i * width;
        unroll<N>([&](auto b) { *reinterpret_cast<V*>(w + b * kLanes) += value * step[b]; });
    });
}

// out = factor · xM
template <class T, class RowType>
ONEOF_INLINE void score(const Matrix<T>& m, const RowType& row, T factor, T* out) {
    for_tiles<T>(m.width, [&](auto tile, int64_t at) __attribute__((always_inline)) {
        score_tile<decltype(tile), RowType>(m.feature(0) + at, m.width,
                                            m.has_intercept ? m.intercept() + at : nullptr, row.x,
                                            row.j, row.n, factor, out + at);
    });
}

// M += x⊗u for a u over the whole width.
template <class T, class RowType>
ONEOF_INLINE void add_outer(const Matrix<T>& m, const RowType& row, const T* u) {
    for_tiles<T>(m.width, [&](auto tile, int64_t at) __attribute__((always_inline)) {
        add_tile<decltype(tile), RowType>(m.feature(0) + at, m.width,
                                          m.has_intercept ? m.intercept() + at : nullptr, row.x,
                                          row.j, row.n, u + at);
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
