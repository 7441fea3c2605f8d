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
          start_(static_cast<const Index*>(rows.indptr)) {}
    static int64_t scratch_bytes(int64_t) { return 0; }
    Row operator[](int64_t i) const {
        return {x_ + start_[i], j_ + start_[i], static_cast<int64_t>(start_[i + 1] - start_[i])};
    }

private:
    const T* x_;
    const Index* j_;
    const Index* start_;
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

// The first thing that makes rows unusable: checked before anything is learnt.
template <class T>
bool all_finite(const T* x, int64_t n) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits kExponent = sizeof(T) == 4 ? Bits(0x7f800000u) : Bits(0x7ff0000000000000ull);
    Bits bad = 0;
    for (int64_t i = 0; i < n; ++i) {
        Bits bits;
        __builtin_memcpy(&bits, x + i, sizeof(T));
        bad |= Bits((bits & kExponent) == kExponent);
    }
    return !bad;
}

template <class T>
oneof::Finding check_dense(const oneof::Rows& rows) {
    const T* base = static_cast<const T*>(rows.values);
    const bool by_column = rows.row_stride == 1 && rows.column_stride != 1;   // read as it lies
    const int64_t outer = by_column ? rows.n_features : rows.n_rows;
    const int64_t inner = by_column ? rows.n_rows : rows.n_features;
    const int64_t outer_stride = by_column ? rows.column_stride : rows.row_stride;
    const int64_t inner_stride = by_column ? rows.row_stride : rows.column_stride;
    for (int64_t o = 0; o < outer; ++o) {
        const T* x = base + o * outer_stride;
        if (inner_stride == 1 && all_finite(x, inner)) continue;
        for (int64_t i = 0; i < inner; ++i)
            if (!all_finite(x + i * inner_stride, 1))
                return {oneof::Fault::not_finite, by_column ? i : o, by_column ? o : i};
    }
    return {oneof::Fault::none, -1, -1};
}

template <class T, class Index>
oneof::Finding check_sparse(const oneof::Rows& rows) {
    const auto* x = static_cast<const T*>(rows.values);
    const auto* j = static_cast<const Index*>(rows.indices);
    const auto* start = static_cast<const Index*>(rows.indptr);
    oneof::Finding finding{oneof::Fault::none, -1, -1};
    for (int64_t i = 0; i < rows.n_rows; ++i) {
        const int64_t lo = start[i], n = start[i + 1] - lo;
        if (lo < 0 || n < 0 || lo + n > rows.n_values) return {oneof::Fault::bad_index, i, -1};
        bool is_outside = false, is_rising = true;
        for (int64_t p = 0; p < n; ++p)
            is_outside |= j[lo + p] < 0 || j[lo + p] >= rows.n_features;
        for (int64_t p = 1; p < n; ++p) is_rising &= j[lo + p - 1] < j[lo + p];
        if (is_outside) return {oneof::Fault::bad_index, i, -1};
        if (!is_rising && finding.fault == oneof::Fault::none)
            finding = {oneof::Fault::not_canonical, i, -1};   // usable once sorted: look on
        if (all_finite(x + lo, n)) continue;
        for (int64_t p = lo;; ++p)
            if (!all_finite(x + p, 1)) return {oneof::Fault::not_finite, i, int64_t(j[p])};
    }
    return finding;
}

}  // namespace ONEOF_ISA
