// The losses of SPEC §2: from the scores and the candidates of a round to its margin and contrast.
// No weights, no rows, no steps.
#pragma once
#include "kernels.hpp"
#include "powers.hpp"

namespace ONEOF_ISA {

// One round's candidates: the classes in rising order and one bit each, 32 classes a word; the bits
// of the padding, and of both.
struct CandidateRow {
    const int32_t* y;
    int64_t m;
    const uint32_t *bits, *padding, *excluded;

    bool is_rival(int64_t k) const { return !(bits[k / 32] >> (k % 32) & 1); }   // k a class
};

// The k-th and the following classes' bits of a set.
ONEOF_INLINE uint32_t bits_from(const uint32_t* set, int64_t k) {
    return set[k / 32] >> (k % 32);
}

// f(vector width) for the vectors that a feature's weights, `stride` of them, are cut into.
template <class T, class F>
ONEOF_INLINE auto with_lanes(int64_t stride, F f) {
    constexpr auto kHalf = std::integral_constant<int, kVectorBytes < 32 ? 16 : 32>{};
    const int64_t bytes = stride * int64_t(sizeof(T));
    if (bytes == 16) return f(std::integral_constant<int, 16>{});
    if (bytes == 32) return f(kHalf);
    return f(std::integral_constant<int, kVectorBytes>{});
}

// The first largest score among the classes that are not excluded; -1 if there is none.
template <class T>
struct Top { int64_t k; T value; };
template <class T>
ONEOF_INLINE Top<T> argmax(const T* s, int64_t stride, const uint32_t* excluded) {
    return with_lanes<T>(stride, [&](auto bytes) __attribute__((always_inline)) -> Top<T> {
        constexpr int kLanes = bytes / int(sizeof(T));
        using V = vec<T, bytes>;
        const V lowest = V{} - T(__builtin_inf());
        auto scores = [&](int64_t k) { return *reinterpret_cast<const V*>(s + k); };
        V top = lowest;
        for (int64_t k = 0; k < stride; k += kLanes) {
            const V v = select<T, bytes>(bits_from(excluded, k), lowest, scores(k));
            top = v > top ? v : top;
        }
        const T best = horizontal_max<T, bytes>(top);
        for (int64_t k = 0; k < stride; k += kLanes) {
            const uint32_t bits = lane_bits<bytes>(scores(k) == best) & ~bits_from(excluded, k);
            if (bits) return {k + __builtin_ctz(bits), best};
        }
        return {-1, best};
    });
}

// What a loss says of a round. Without a rival (all classes are candidates) the hinge is 0.
struct Judgement {
    int32_t best;          // i*
    int64_t rival;         // j* (-1: none)
    double margin, hinge;  // log: of the best candidate; 1, as this loss is never 0. soft: where
                           // the hinge is surely 0, the margin of the best candidate, too
    bool is_mistake;       // ŷ ∉ Y, ŷ by these same scores
};

// soft-β: each candidate's share e^{βs_i} / Σ_Y e^{βs}, and the term β⁻¹ log((1/|Y|) Σ_Y e^{βs}).
template <class T>
double soft_term(double beta, const T* s, double top, const CandidateRow& set, double* shares) {
    double sum = 0, below = 0;
    for (int64_t i = 0; i < set.m; ++i) {
        const auto e = power(beta * (double(s[set.y[i]]) - top));
        shares[i] = e.value();
        sum += shares[i];
        below += e.minus_one();
    }
    const double whole = 1.0 / sum;
    for (int64_t i = 0; i < set.m; ++i) shares[i] *= whole;
    return top + log1p(below * (1.0 / double(set.m))) * (1.0 / beta);
}

// No soft term lies further below the best candidate's score: log |Y| / β, rounded up.
inline double soft_reach(double beta, int64_t m) {
    const int n_doublings = m < 2 ? 0 : 64 - __builtin_clzll(uint64_t(m - 1));
    return 0.6932 * n_doublings * (1.0 / beta);
}

// log: the contrast q − p of all classes, and 0 for the padding. Candidates and rivals are each taken
// relative to their own best, so that neither sum vanishes. Whole vectors are read and written:
// `s` and `c` have room for eight entries where there are fewer classes.
template <class T>
void log_contrast(const T* s, int64_t stride, double best, double rival, const CandidateRow& set,
                  double* c) {
    constexpr int kLanes = kVectorBytes / 8, kParts = 8 / kLanes;
    using V = vec<double, kVectorBytes>;
    using Scores = vec<T, kLanes * int(sizeof(T))>;
    V inside[kParts] = {}, outside[kParts] = {};
    auto either = [](uint32_t is_in, V a, V b) { return select<double, kVectorBytes>(is_in, a, b); };
    auto each = [&](auto&& f) {
        for (int64_t k = 0; k < stride; k += 8)
            unroll<kParts>([&](auto part) __attribute__((always_inline)) {
                const int64_t at = k + part * kLanes;
                f(part, at, bits_from(set.bits, at));
            });
    };
    each([&](auto part, int64_t at, uint32_t is_in) __attribute__((always_inline)) {
        Scores scores;
        __builtin_memcpy(&scores, s + at, sizeof(scores));
        const V below = __builtin_convertvector(scores, V) - either(is_in, V{} + best, V{} + rival);
        const V e = either(bits_from(set.padding, at), V{}, power(below).value());
        inside[part] += either(is_in, e, V{});
        outside[part] += either(is_in, V{}, e);
        __builtin_memcpy(c + at, &e, sizeof(e));
    });
    const double in = sum_of_eight<kLanes>(inside), out = sum_of_eight<kLanes>(outside);
    const double lead = best - rival, gap = power(lead > 0 ? -lead : lead).value();
    const double out_e = lead > 0 ? gap : 1.0, in_e = lead > 0 ? 1.0 : gap;
    const double all = in * in_e + out * out_e;
    const double share = out_e / all, by_candidate = out * out_e / (in * all);
    each([&](auto, int64_t at, uint32_t is_in) __attribute__((always_inline)) {
        V e;
        __builtin_memcpy(&e, c + at, sizeof(e));
        e *= either(is_in, V{} + by_candidate, V{} - share);
        __builtin_memcpy(c + at, &e, sizeof(e));
    });
}

// `shares` has room for a number per class, and for eight; contrast() reads what the soft losses
// leave there.
template <class T>
ONEOF_INLINE Judgement judge(const oneof::Learner& p, const T* s, int64_t stride,
                             int64_t n_classes, const CandidateRow& set, double* shares) {
    int32_t best = set.y[0];
    T best_score = s[best];
    double sum = best_score;
    for (int64_t i = 1; i < set.m; ++i) {
        const int32_t k = set.y[i];
        const T score = s[k];
        const bool is_better = score > best_score;
        best = is_better ? k : best;
        best_score = is_better ? score : best_score;
        sum += score;
    }
    if (set.m == n_classes) return {best, -1, 0.0 * sum, 0.0, false};
    const auto [rival, rival_score] = argmax(s, stride, set.excluded);
    if (rival < 0) return {best, -1, __builtin_nan(""), 0.0, false};   // NaN among the scores
    const double top = double(best_score), other = double(rival_score);
    // Without a branch: it would be guessed wrong as often as the learner is.
    const bool is_mistake =
        (rival_score > best_score) | ((rival_score == best_score) & (rival < best));
    if (p.loss == oneof::Loss::log) {
        log_contrast(s, stride, top, other, set, shares);
        return {best, rival, (top - other) + 0.0 * sum, 1.0, is_mistake};
    }
    // Sure to be without a loss? Then exponentials say nothing new.
    if (p.loss == oneof::Loss::soft && top - other >= 1.0 + soft_reach(p.beta, set.m))
        return {best, rival, (top - other) + 0.0 * sum, 0.0, is_mistake};
    const double term = p.loss == oneof::Loss::avg   ? sum * (1.0 / double(set.m))
                        : p.loss == oneof::Loss::max ? top
                                                     : soft_term(p.beta, s, top, set, shares);
    const double margin = term - other;
    return {best, rival, margin, margin < 1.0 ? 1.0 - margin : 0.0, is_mistake};
}

// The margin's gradient in the scores, c: a share for each of n classes and −1 for the rival, if
// there is one (with several, they are among the n).
struct Contrast {
    const int32_t* classes; // null: all of them
    const uint32_t* bits;   // of the classes; null for a single one
    int64_t n;
    double share;          // of each, where `shares` is null
    const double* shares;
    int64_t rival;         // -1: none
    double gain;           // c·s
    double squared;        // |c|²

    double of(int64_t i) const { return shares ? shares[i] : share; }
};

template <class T>
ONEOF_INLINE Contrast contrast(const oneof::Learner& p, const Judgement& round,
                               const CandidateRow& set, const T* s, const double* shares,
                               int64_t n_classes) {
    if (p.loss == oneof::Loss::max)
        return {&round.best, nullptr, 1, 1.0, nullptr, round.rival, round.margin, 2.0};
    if (p.loss == oneof::Loss::avg) {
        const double share = 1.0 / double(set.m);
        return {set.y, set.bits, set.m, share, nullptr, round.rival, round.margin, share + 1.0};
    }
    if (p.loss == oneof::Loss::log) return {nullptr, nullptr, n_classes, 0.0, shares, -1, 0.0, 0.0};
    Contrast c{set.y, nullptr, set.m, 0.0, shares, round.rival, -double(s[round.rival]), 1.0};
    for (int64_t i = 0; i < set.m; ++i) {
        c.gain += shares[i] * double(s[set.y[i]]);
        c.squared += shares[i] * shares[i];
    }
    return c;
}

// The same from shares: of all classes, or of some, which join few vectors one by one.
template <class T>
ONEOF_INLINE void spread_shares(const Contrast& c, double factor, int64_t stride, T* u) {
    if (!c.classes) {
        constexpr int kLanes = kVectorBytes / 8;
        using V = vec<double, kVectorBytes>;
        using Gains = vec<T, kLanes * int(sizeof(T))>;
        for (int64_t k = 0; k < stride; k += kLanes) {
            V shares;
            __builtin_memcpy(&shares, c.shares + k, sizeof(shares));
            const Gains gains = __builtin_convertvector(factor * shares, Gains);
            __builtin_memcpy(u + k, &gains, sizeof(gains));
        }
        return;
    }
    with_lanes<T>(stride, [&](auto bytes) {
        constexpr int kLanes = bytes / int(sizeof(T));
        using V = vec<T, bytes>;
        using Int = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
        if (stride * int64_t(sizeof(T)) > oneof::kAlignment) {
            for (int64_t k = 0; k < stride; ++k) u[k] = T(0);
            for (int64_t i = 0; i < c.n; ++i) u[c.classes[i]] = T(factor * c.shares[i]);
            if (c.rival >= 0) u[c.rival] = T(-factor);
            return;
        }
        for (int64_t k = 0; k < stride; k += kLanes) {
            const auto lanes = iota<vec<Int, bytes>>() + Int(k);
            V v = lanes == Int(c.rival) ? V{} - T(factor) : V{};
            for (int64_t i = 0; i < c.n; ++i)
                v = lanes == Int(c.classes[i]) ? V{} + T(factor * c.shares[i]) : v;
            *reinterpret_cast<V*>(u + k) = v;
        }
    });
}

// u = factor·c for all classes and the padding, vector by vector: numbers stored one by one would
// keep the loop that reads them as vectors waiting.
template <class T>
ONEOF_INLINE void spread(const Contrast& c, double factor, int64_t stride, T* u) {
    if (c.shares) return spread_shares(c, factor, stride, u);
    with_lanes<T>(stride, [&](auto bytes) __attribute__((always_inline)) {
        constexpr int kLanes = bytes / int(sizeof(T));
        using V = vec<T, bytes>;
        using Int = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
        const V share = V{} + T(factor * c.share), minus = V{} - T(factor);
        for (int64_t k = 0; k < stride; k += kLanes) {
            const auto lanes = iota<vec<Int, bytes>>() + Int(k);
            const V v = c.bits ? select<T, bytes>(bits_from(c.bits, k), share, V{})
                               : lanes == Int(c.classes[0]) ? share : V{};
            *reinterpret_cast<V*>(u + k) = lanes == Int(c.rival) ? minus : v;
        }
    });
}

}  // namespace ONEOF_ISA
