// Sparse rows that come as columns of a table: all that can be wrong with them, in one pass.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace oneof {

// All bits of the exponent are set in what is not finite.
template <class T>
bool are_finite(const T* values, int64_t n) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits exponent = sizeof(T) == 4 ? Bits(0x7F800000) : Bits(0x7FF0000000000000);
    Bits n_bad = 0;
    for (int64_t p = 0; p < n; ++p)
        n_bad += (std::bit_cast<Bits>(values[p]) & exponent) == exponent;
    return n_bad == 0;
}

// The columns that CSR rows need, at most `limit`: their largest index, and 1. Less than 0 if a
// value is not finite, or an index is not in [0, limit) or not larger than the one before.
template <class T>
int64_t sparse_width(const T* values, const int32_t* indices, const int32_t* indptr, int64_t n_rows,
                     int64_t limit) {
    int64_t width = 0;
    for (int64_t i = 0; i < n_rows; ++i) {
        const int32_t* const row = indices + indptr[i];
        const int64_t n = indptr[i + 1] - indptr[i];
        if (n == 0) continue;
        int32_t n_bad = row[0] < 0;
        for (int64_t p = 1; p < n; ++p) n_bad += row[p] <= row[p - 1];
        if (n_bad || row[n - 1] >= limit) return -1;
        width = std::max(width, int64_t(row[n - 1]) + 1);
    }
    return are_finite(values + indptr[0], indptr[n_rows] - indptr[0]) ? width : -1;
}

}  // namespace oneof
