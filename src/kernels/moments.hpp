// Running mean and spread of each feature, and rows scaled by them. No weights, no labels.
#pragma once
#include "rows.hpp"

namespace ONEOF_ISA {

// The moments after n rounds: of each feature its mean and Σ (x − mean)²; or, where rows are not
// centred, Σ x² alone.
struct Moments {
    double *mean, *spread;
    double share, root;   // 1/n and √n

    Moments(const oneof::Weights& w, int64_t rounds)
        : mean(w.mean), spread(w.spread), share(rounds ? 1.0 / double(rounds) : 0.0),
          root(__builtin_sqrt(double(rounds))) {}
};

// A value of a feature by its deviation, √(spread/n); 0 where the spread is, or is so small that
// squares of differences say nothing; NaN where it is not finite.
ONEOF_INLINE double by_deviation(double value, double spread, double root) {
    const double scaled = value * root / __builtin_sqrt(spread) + 0.0 * spread;
    return spread <= 1e-290 ? 0.0 : scaled;
}

// z = (x − mean) by the deviation, for all d features; first x joins the moments (Welford's update),
// if they are learning. Roots and quotients are the same however the compiler makes vectors of this.
template <bool IsLearning, class T>
void standardize(const Moments& m, const T* __restrict x, int64_t d, T* __restrict z) {
    double *__restrict const means = m.mean, *__restrict const spreads = m.spread;
    const double share = m.share, root = m.root;
    for (int64_t j = 0; j < d; ++j) {
        const double value = double(x[j]), before = value - means[j];
        double rest = before, spread = spreads[j];
        if constexpr (IsLearning) {
            means[j] += before * share;
            rest = value - means[j];
            spreads[j] = spread += before * rest;
        }
        z[j] = T(by_deviation(rest, spread, root));
    }
}

// Gives the rows of another view scaled. Centred, a row holds all features, those that the matrix
// lacks included; else the pairs it had: z = x·√n / √(Σ x²), which needs no feature that is 0.
template <class T, class RowsOf>
class ScaledRows {
public:
    using Index = std::remove_const_t<std::remove_pointer_t<decltype(RowsOf::RowType::j)>>;
    using RowType = Row<T, Index, true>;
    static ScaledRows of(const oneof::Rows& rows, const oneof::Weights& w, char* scratch) {
        return {rows, w, scratch};
    }
    ScaledRows(const oneof::Rows& rows, const oneof::Weights& w, char* scratch)
        : rows_(rows, scratch), weights_(w), n_features_(rows.n_features),
          scaled_(reinterpret_cast<T*>(scratch + inner_bytes(rows.n_features))),
          raw_(scaled_ + w.n_features), before_(reinterpret_cast<double*>(raw_ + w.n_features)) {}

    static int64_t scratch_bytes(const oneof::Rows& rows, const oneof::Weights& w) {
        return inner_bytes(rows.n_features) +
               w.n_features * int64_t(2 * sizeof(T) + sizeof(double));
    }
    bool is_canonical(const RowType& row) const { return row.n >= 0; }
    bool are_long() const { return rows_.are_long(); }
    void prefetch(int64_t i) const { rows_.prefetch(i); }

    RowType operator[](int64_t i) const { return scaled<false>(i, weights_.counters[0]); }

    // The same for round t, whose row joins the moments first.
    RowType learn(int64_t i, int64_t t) const { return scaled<true>(i, t); }

    // The moments as they were before the last row, which was not learnt after all; centred ones
    // are put back by who keeps a copy.
    void forget(int64_t i) const {
        if (weights_.mean) return;
        const auto row = rows_[i];
        int64_t p = 0;
        if (rows_.is_canonical(row))
            row.template each<1>([&](auto, T, int64_t j) { weights_.spread[j] = before_[p++]; });
    }

private:
    static int64_t inner_bytes(int64_t d) { return (RowsOf::scratch_bytes(d) + 63) / 64 * 64; }

    template <bool IsLearning>
    RowType scaled(int64_t i, int64_t t) const {
        const Moments m(weights_, t);
        if (m.mean) {
            const T* x = all_values(i);
            if (!x) return {scaled_, nullptr, -1};
            standardize<IsLearning>(m, x, weights_.n_features, scaled_);
            return {scaled_, nullptr, weights_.n_features};
        }
        const auto row = rows_[i];
        if (!rows_.is_canonical(row)) return {scaled_, nullptr, -1};
        int64_t p = 0;
        row.template each<1>([&](auto, T value, int64_t j) {
            const double x = double(value);
            if constexpr (IsLearning) {
                before_[p] = m.spread[j];
                m.spread[j] += x * x;
            }
            scaled_[p++] = T(by_deviation(x, m.spread[j], m.root));
        });
        return {scaled_, row.j, row.n};
    }

    // Of every feature of the model; null if the row is not canonical.
    const T* all_values(int64_t i) const {
        const int64_t d = weights_.n_features;
        if constexpr (requires { rows_.whole(i); })
            if (n_features_ == d) return rows_.whole(i);
        const auto row = rows_[i];
        if (!rows_.is_canonical(row)) return nullptr;
        for (int64_t j = 0; j < d; ++j) raw_[j] = T(0);
        row.template each<1>([&](auto, T value, int64_t j) { raw_[j] = value; });
        return raw_;
    }

    const RowsOf rows_;
    const oneof::Weights& weights_;
    const int64_t n_features_;
    T* scaled_;
    T* raw_;
    double* before_;
};

// Row i as round t learns from it.
template <class RowsOf>
ONEOF_INLINE auto row_to_learn(const RowsOf& view, int64_t i, int64_t t) {
    if constexpr (requires { view.learn(i, t); })
        return view.learn(i, t);
    else
        return view[i];
}

// What row_to_learn has changed is put back.
template <class RowsOf>
void forget_row(const RowsOf& view, int64_t i) {
    if constexpr (requires { view.forget(i); }) view.forget(i);
}

}  // namespace ONEOF_ISA
