// Row views: a row is n (index, value) pairs, whatever holds it. No weights, no labels.
#pragma once
#include "kernels.hpp"
#include "simd.hpp"

namespace ONEOF_ISA {

// Without indices (dense rows only) the pairs are (0, x[0]), (1, x[1]), ...
template <class T, class Index, bool kMayLackIndices = false>
struct Row {
    const T* x;
    const Index* j;
    int64_t n;

    // step(lane, value, index) for each pair; the lane, its place modulo A, says which partial sum
    // it belongs to.
    template <int A, class Step>
    ONEOF_INLINE void each(Step&& step) const { indexed<A, false>(step); }

    // The same for steps that only read: the last few lanes get 0 and some index, as whether there
    // is one more pair is hard to foresee.
    template <int A, class Step>
    ONEOF_INLINE void each_padded(Step&& step) const { indexed<A, true>(step); }

private:
    template <int A, bool IsPadded, class Step>
    ONEOF_INLINE void indexed(Step&& step) const {
        if (kMayLackIndices && !j)
            walk<A, IsPadded>(step, [](int64_t p) { return p; });
        else
            walk<A, IsPadded>(step, [this](int64_t p) { return int64_t(j[p]); });
    }

    template <int A, bool IsPadded, class Step, class IndexOf>
    ONEOF_INLINE void walk(Step&& step, IndexOf&& index) const {
        int64_t p = 0;
        for (; p + A <= n; p += A) unroll<A>([&](auto a) { step(a, x[p + a], index(p + a)); });
        if (IsPadded && p == n) return;
        unroll<A - 1>([&](auto a) {
            const bool is_there = p + a < n;
            if constexpr (IsPadded) {
                const int64_t q = is_there ? p + a : p;
                const T value = x[q];
                step(a, is_there ? value : T(0), index(q));
            } else if (is_there) {
                step(a, x[p + a], index(p + a));
            }
        });
    }
};

// Asks for the next row while this one is learnt: it may lie anywhere, see Extras::order. Rows in
// their order the processor foresees by itself, but for the long dense ones.
ONEOF_INLINE void prefetch_bytes(const void* p, int64_t n) {
    for (int64_t i = 0; i < n; i += 64) __builtin_prefetch(static_cast<const char*>(p) + i);
}
inline constexpr int64_t kLongRow = 512;   // bytes

// Gives the rows of a dense matrix one at a time: what is not 0, written to scratch memory, or the
// row as it is where nothing is 0.
template <class T>
class DenseRows {
public:
    using RowType = Row<T, int32_t, true>;
    DenseRows(const oneof::Rows& rows, char* scratch)
        : base_(static_cast<const T*>(rows.values)), rows_(rows),
          values_(reinterpret_cast<T*>(scratch)), gathered_(values_ + rows.n_features + kSpare),
          indices_(reinterpret_cast<int32_t*>(gathered_ + rows.n_features)) {}

    static DenseRows of(const oneof::Rows& rows, const oneof::Weights&, char* scratch) {
        return {rows, scratch};
    }
    static int64_t scratch_bytes(const oneof::Rows& rows, const oneof::Weights&) {
        return scratch_bytes(rows.n_features);
    }
    static int64_t scratch_bytes(int64_t d) {
        return (2 * d + kSpare) * int64_t(sizeof(T)) + (d + kSpare) * int64_t(sizeof(int32_t));
    }
    bool is_canonical(const RowType&) const { return true; }
    bool are_long() const { return rows_.n_features * int64_t(sizeof(T)) >= kLongRow; }

    // All values of a row, one after another.
    const T* whole(int64_t i) const {
        const T* x = base_ + i * rows_.row_stride;
        if (rows_.column_stride == 1) return x;
        for (int64_t j = 0; j < rows_.n_features; ++j) gathered_[j] = x[j * rows_.column_stride];
        return gathered_;
    }

    RowType operator[](int64_t i) const {
        const T* x = whole(i);
        if (is_full(x, rows_.n_features)) return {x, nullptr, rows_.n_features};
        return {values_, indices_, nonzeros(x, rows_.n_features, values_, indices_)};
    }

    void prefetch(int64_t i) const {
        if (rows_.column_stride == 1)
            prefetch_bytes(base_ + i * rows_.row_stride, rows_.n_features * int64_t(sizeof(T)));
    }

private:
    const T* base_;
    const oneof::Rows& rows_;
    T* values_;
    T* gathered_;
    int32_t* indices_;
};

template <class T, class Index>
class SparseRows {
public:
    using RowType = Row<T, Index>;
    SparseRows(const oneof::Rows& rows, char*)
        : x_(static_cast<const T*>(rows.values)), j_(static_cast<const Index*>(rows.indices)),
          start_(static_cast<const Index*>(rows.indptr)), n_values_(rows.n_values),
          n_features_(rows.n_features) {}
    static SparseRows of(const oneof::Rows& rows, const oneof::Weights&, char* scratch) {
        return {rows, scratch};
    }
    static int64_t scratch_bytes(const oneof::Rows&, const oneof::Weights&) { return 0; }
    static int64_t scratch_bytes(int64_t) { return 0; }
    bool are_long() const { return false; }

    // A row that lies outside the values has a negative length.
    RowType operator[](int64_t i) const {
        const int64_t first = start_[i], last = start_[i + 1];
        const bool is_inside = 0 <= first && first <= last && last <= n_values_;
        return {x_ + first, j_ + first, is_inside ? last - first : -1};
    }

    // Strictly rising from 0 or more to less than d: what the kernels need to follow the indices.
    bool is_canonical(const RowType& row) const {
        const Index* j = row.j;
        return row.n == 0 || (row.n > 0 && j[0] >= 0 && int64_t(j[row.n - 1]) < n_features_ &&
                              is_rising(j, row.n));
    }

    void prefetch(int64_t i) const {
        const RowType row = (*this)[i];
        prefetch_bytes(row.x, row.n * int64_t(sizeof(T)));
        prefetch_bytes(row.j, row.n * int64_t(sizeof(Index)));
    }

private:
    const T* x_;
    const Index* j_;
    const Index* start_;
    int64_t n_values_, n_features_;
};

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
        if (!view.is_canonical(row) && finding.fault == oneof::Fault::none)
            finding = {oneof::Fault::not_canonical, i, -1, 0};
        largest = largest_bits<T>(row.x, row.n, largest);
        if (largest < kInfinityBits<T>) continue;
        for (int64_t p = 0;; ++p)
            if (!all_finite(row.x + p, 1)) return {oneof::Fault::not_finite, i, int64_t(row.j[p]), 0};
    }
    finding.largest = magnitude<T>(largest);
    return finding;
}

}  // namespace ONEOF_ISA
