// Row views: a row is n (index, value) pairs, whatever holds it. No weights, no labels.
#pragma once
#include "kernels.hpp"
#include "simd.hpp"

namespace ONEOF_ISA {

template <int I>
using at = std::integral_constant<int, I>;

template <class T, class Index>
struct SparseRow {
    using value_type = T;
    const T* x;
    const Index* j;
    int64_t n;

    T value(int64_t p) const { return x[p]; }
    int64_t index(int64_t p) const { return static_cast<int64_t>(j[p]); }

    // Strictly rising from 0 or more to less than d: what the kernels need to follow the indices.
    bool is_canonical(int64_t d) const {
        bool is_falling = false;
        for (int64_t p = 1; p < n; ++p) is_falling |= j[p - 1] >= j[p];
        return n == 0 || (n > 0 && !is_falling && j[0] >= 0 && int64_t(j[n - 1]) < d);
    }

    // step(lane, p) for each pair p; the lane (p mod A) says which partial sum p belongs to.
    template <int A, class Step>
    ONEOF_INLINE void each(Step&& step) const {
        int64_t p = 0;
        for (; p + A <= n; p += A) unroll<A>([&](auto a) { step(a, p + a); });
        unroll<A - 1>([&](auto a) {
            if (p + a < n) step(a, p + a);
        });
    }
};

// A dense row, cut into blocks; the blocks that are all zero are left out, which changes no bit:
// sums start at +0, so adding ±0·w does nothing while weights are finite.
template <class T>
struct DenseRow {
    using value_type = T;
    static constexpr int kBlock = 8;
    const T* x;
    int64_t d;
    const int32_t* blocks;
    int64_t n_blocks;

    T value(int64_t p) const { return x[p]; }
    int64_t index(int64_t p) const { return p; }
    bool is_canonical(int64_t) const { return true; }

    template <int A, class Step>
    ONEOF_INLINE void each(Step&& step) const {
        for (int64_t b = 0; b < n_blocks; ++b) {
            const int64_t p = int64_t(blocks[b]) * kBlock;
            unroll<kBlock>([&](auto g) { step(at<g % A>{}, p + g); });
        }
        const int64_t p = d / kBlock * kBlock;
        unroll<kBlock - 1>([&](auto g) {
            if (p + g < d) step(at<g % A>{}, p + g);
        });
    }
};

// Gives the rows of a matrix one at a time; dense ones need scratch memory, see scratch_bytes.
template <class T>
class DenseRows {
public:
    using Row = DenseRow<T>;
    DenseRows(const oneof::Rows& rows, char* scratch)
        : base_(static_cast<const T*>(rows.values)), rows_(rows),
          blocks_(reinterpret_cast<int32_t*>(scratch)),
          gathered_(reinterpret_cast<T*>(scratch + block_bytes(rows.n_features))) {}

    static int64_t block_bytes(int64_t d) { return (d / Row::kBlock * 4 + 64) / 64 * 64; }
    static int64_t scratch_bytes(int64_t d) { return block_bytes(d) + d * int64_t(sizeof(T)); }

    Row operator[](int64_t i) const {
        const T* x = base_ + i * rows_.row_stride;
        const int64_t d = rows_.n_features;
        if (rows_.column_stride != 1) {
            for (int64_t j = 0; j < d; ++j) gathered_[j] = x[j * rows_.column_stride];
            x = gathered_;
        }
        int64_t n = 0;
        for (int64_t b = 0; b < d / Row::kBlock; ++b) {
            blocks_[n] = static_cast<int32_t>(b);
            n += has_nonzero(x + b * Row::kBlock);
        }
        return {x, d, blocks_, n};
    }

private:
    static ONEOF_INLINE bool has_nonzero(const T* x) {
        constexpr int kBytes = kVectorBytes < Row::kBlock * int(sizeof(T))
                                   ? kVectorBytes : Row::kBlock * int(sizeof(T));
        constexpr int kLanes = kBytes / int(sizeof(T));
        uint32_t bits = 0;
        unroll<Row::kBlock / kLanes>([&](auto i) {
            vec<T, kBytes> v;
            __builtin_memcpy(&v, x + i * kLanes, kBytes);
            bits |= lane_bits<kBytes>(v != 0);
        });
        return bits != 0;
    }

    const T* base_;
    const oneof::Rows& rows_;
    int32_t* blocks_;
    T* gathered_;
};

template <class T, class Index>
class SparseRows {
public:
    using Row = SparseRow<T, Index>;
    SparseRows(const oneof::Rows& rows, char*)
        : x_(static_cast<const T*>(rows.values)), j_(static_cast<const Index*>(rows.indices)),
          start_(static_cast<const Index*>(rows.indptr)), n_values_(rows.n_values) {}
    static int64_t scratch_bytes(int64_t) { return 0; }
    // A row that lies outside the values has a negative length.
    Row operator[](int64_t i) const {
        const int64_t first = start_[i], last = start_[i + 1];
        const bool is_inside = 0 <= first && first <= last && last <= n_values_;
        return {x_ + first, j_ + first, is_inside ? last - first : -1};
    }

private:
    const T* x_;
    const Index* j_;
    const Index* start_;
    int64_t n_values_;
};

// ‖x‖², the constant feature included.
template <class Row>
double squared_norm(const Row& row, bool has_intercept) {
    double sum[4] = {has_intercept ? 1.0 : 0.0, 0, 0, 0};
    row.template each<4>([&](auto a, int64_t p) {
        const double x = row.value(p);
        sum[a] += x * x;
    });
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <class T>
using bits_of = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <class T>
inline constexpr bits_of<T> kInfinityBits =
    sizeof(T) == 4 ? bits_of<T>(0x7f800000u) : bits_of<T>(0x7ff0000000000000ull);

// |x| of the largest of n values as bits, which order as the magnitudes do; not below `largest`.
template <class T>
bits_of<T> largest_bits(const T* x, int64_t n, bits_of<T> largest) {
    for (int64_t i = 0; i < n; ++i) {
        bits_of<T> bits;
        __builtin_memcpy(&bits, x + i, sizeof(T));
        bits &= bits_of<T>(~bits_of<T>(0)) >> 1;
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

template <class T>
bool all_finite(const T* x, int64_t n) {
    return largest_bits<T>(x, n, 0) < kInfinityBits<T>;
}

template <class T>
double magnitude(bits_of<T> bits) {
    T x;
    __builtin_memcpy(&x, &bits, sizeof(T));
    return double(x);
}

// The first value that is not finite, read as it lies in memory; else the largest magnitude.
template <class T>
oneof::Finding check_dense(const oneof::Rows& rows) {
    const T* base = static_cast<const T*>(rows.values);
    const bool by_column = rows.row_stride == 1 && rows.column_stride != 1;
    const int64_t outer = by_column ? rows.n_features : rows.n_rows;
    const int64_t inner = by_column ? rows.n_rows : rows.n_features;
    const int64_t outer_stride = by_column ? rows.column_stride : rows.row_stride;
    const int64_t inner_stride = by_column ? rows.row_stride : rows.column_stride;
    bits_of<T> largest = 0;
    for (int64_t o = 0; o < outer; ++o) {
        const T* x = base + o * outer_stride;
        if (inner_stride == 1)
            largest = largest_bits<T>(x, inner, largest);
        else
            for (int64_t i = 0; i < inner; ++i)
                largest = largest_bits<T>(x + i * inner_stride, 1, largest);
        if (largest < kInfinityBits<T>) continue;
        for (int64_t i = 0;; ++i)
            if (!all_finite(x + i * inner_stride, 1))
                return {oneof::Fault::not_finite, by_column ? i : o, by_column ? o : i, 0};
    }
    return {oneof::Fault::none, -1, -1, magnitude<T>(largest)};
}

// An index out of place or a value that is not finite; else a row that needs sorting or summing.
template <class T, class Index>
oneof::Finding check_sparse(const oneof::Rows& rows) {
    const SparseRows<T, Index> view(rows, nullptr);
    oneof::Finding finding{oneof::Fault::none, -1, -1, 0};
    bits_of<T> largest = 0;
    for (int64_t i = 0; i < rows.n_rows; ++i) {
        const auto row = view[i];
        bool is_outside = row.n < 0;
        for (int64_t p = 0; p < row.n; ++p)
            is_outside |= row.j[p] < 0 || int64_t(row.j[p]) >= rows.n_features;
        if (is_outside) return {oneof::Fault::bad_index, i, -1, 0};
        if (!row.is_canonical(rows.n_features) && finding.fault == oneof::Fault::none)
            finding = {oneof::Fault::not_canonical, i, -1, 0};
        largest = largest_bits<T>(row.x, row.n, largest);
        if (largest < kInfinityBits<T>) continue;
        for (int64_t p = 0;; ++p)
            if (!all_finite(row.x + p, 1)) return {oneof::Fault::not_finite, i, row.index(p), 0};
    }
    finding.largest = magnitude<T>(largest);
    return finding;
}

}  // namespace ONEOF_ISA
