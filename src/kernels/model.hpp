// A model as the loops see it: its weights by scale, its sum, its counters. No losses, no rules.
#pragma once
#include "losses.hpp"
#include "weights.hpp"

namespace ONEOF_ISA {

// The model as the loop sees it: W = scale·V and, with averaging, ΣW = U + sum_scale·V.
template <class T>
class Model {
public:
    Model(const oneof::Weights& w)
        : m{static_cast<T*>(w.weights), w.stride * (1 + w.is_averaged), w.has_intercept,
            w.n_features},
          n_classes(w.n_classes), stride(w.stride), is_averaged(w.is_averaged),
          least_bytes(oneof::padded(w.n_classes, sizeof(T)) * int64_t(sizeof(T))),
          scale(w.scale[0]), sum_scale(w.scale[1]), norm2(w.scale[2]),
          t(w.counters[0]), n_updates(w.counters[1]), n_mistakes(w.counters[2]) {}

    // Numbers are kept in registers while the loop runs.
    void store(const oneof::Weights& w) const {
        w.scale[0] = scale, w.scale[1] = sum_scale, w.scale[2] = norm2;
        w.counters[0] = t, w.counters[1] = n_updates, w.counters[2] = n_mistakes;
    }

    // Scores of the current weights into s and, if averaged, those of W̄ behind them.
    template <class RowType>
    ONEOF_INLINE void scores(const RowType& row, T* s) const {
        score(m, row, is_averaged ? T(1) : T(scale), s);
        if (!is_averaged) return;
        T* s_bar = s + stride;
        const T share = t ? T(1.0 / double(t)) : T(0), a = T(scale), sum_a = T(sum_scale);
        for (int64_t k = 0; k < stride; ++k) {
            s_bar[k] = (s_bar[k] + sum_a * s[k]) * share;
            s[k] *= a;
        }
    }

    // W += size · x⊗c, and U -= sum_scale · (what V gains).
    template <class RowType>
    void add(const RowType& row, double size, const Contrast& c, T* u, int32_t* columns) {
        const double gain = size / scale, factors[] = {gain, -sum_scale * gain};
        const int64_t n_halves = 1 + is_averaged;
        if (least_bytes <= oneof::kAlignment * (c.n + 1)) {
            for (int64_t half = 0; half < n_halves; ++half)
                spread(c, factors[half], stride, u + half * stride);
            add_outer(m, row, u);
        } else {
            int64_t n = 0;
            auto put = [&](int64_t column, double value) {
                columns[n] = static_cast<int32_t>(column);
                u[n++] = T(value);
            };
            for (int64_t half = 0; half < n_halves; ++half) {
                for (int64_t i = 0; i < c.n; ++i)
                    put(half * stride + c.classes[i], factors[half] * c.of(i));
                if (c.rival >= 0) put(half * stride + c.rival, -factors[half]);
            }
            add_outer(m, row, u, columns, n);
        }
    }

    // V ← factor·V, and the scale is 1. The sum is settled first: kept apart, U and sum_scale·V
    // would cancel each other the more, the smaller the scale.
    void fold(double factor) {
        const T f = T(factor), sum_a = T(sum_scale);
        if (is_averaged) {
            with_lanes<T>(stride, [&](auto bytes) {
                using V = vec<T, bytes>;
                for (int64_t i = 0; i < m.n_rows() * m.width; i += m.width)
                    for (int64_t k = i; k < i + stride; k += int64_t(bytes / sizeof(T))) {
                        V& v = *reinterpret_cast<V*>(m.data + k);
                        *reinterpret_cast<V*>(m.data + k + stride) += sum_a * v;
                        v *= f;
                    }
            });
        } else {
            for (int64_t i = 0; i < m.n_rows() * m.width; ++i) m.data[i] *= f;
        }
        scale = 1;
        sum_scale = 0;
    }

    // Exact ‖W‖²; due at rounds that depend on t and on what was learnt, never on the calls: nor on
    // features past the last one with weights, which may have been there all along or not yet be.
    void refresh_norm() {
        int64_t period = int64_t(1) << 14;
        if (t % period) return;
        int64_t n_rows = m.n_rows();
        while (n_rows > 0 && largest_bits<T>(m.row(n_rows - 1), stride, 0) == 0) --n_rows;
        while (period * 16 < n_rows * n_classes) period *= 2;
        if (t % period) return;
        double sum = 0;
        for (int64_t i = 0; i < n_rows; ++i) sum += sum_of_squares(m.row(i), stride);
        norm2 = scale * scale * sum;
    }

    // Where V is folded: with averaging before U and the sum's share of V cancel, else well before
    // V overflows (the model keeps weights and rows small enough, see model.py).
    double smallest_scale() const {
        return is_averaged ? 0x1p-6 : sizeof(T) == 4 ? 0x1p-60 : 0x1p-100;
    }

    Matrix<T> m;
    const int64_t n_classes, stride;
    const bool is_averaged;
    const int64_t least_bytes;     // of one feature's weights in V, without room for more classes
    double scale, sum_scale, norm2;
    int64_t t, n_updates, n_mistakes;
};

}  // namespace ONEOF_ISA
