// The losses of SPEC §2: from the scores and the candidates of a round to its margin and contrast.
// No weights, no rows, no steps.
#pragma once
#include "kernels.hpp"
#include "simd.hpp"

namespace ONEOF_ISA {

// One round's candidates: the classes in rising order, and one bit per class that is *excluded*
// as a rival (the candidates and the padding), 32 classes a word.
struct CandidateRow {
    const int32_t* y;
    int64_t m;
    const uint32_t* excluded;
};

// The first largest score among the classes that are not excluded; -1 if there is none.
template <class T>
struct Top { int64_t k; T value; };
template <class T, int Bytes>
ONEOF_INLINE Top<T> argmax_lanes(const T* s, int64_t stride, const uint32_t* excluded) {
    constexpr int kLanes = Bytes / int(sizeof(T));
    using V = vec<T, Bytes>;
    const auto selectors = lane_selectors<T, Bytes>();
    const V lowest = V{} - T(__builtin_inf());
    auto included = [&](int64_t k) {
        return (selectors & int32_t(excluded[k / 32] >> (k % 32))) == 0;
    };
    V top = lowest;
    for (int64_t k = 0; k < stride; k += kLanes) {
        const V v = included(k) ? *reinterpret_cast<const V*>(s + k) : lowest;
        top = v > top ? v : top;
    }
    const T best = horizontal_max<T, Bytes>(top);
    for (int64_t k = 0; k < stride; k += kLanes) {
        const uint32_t bits =
            lane_bits<Bytes>(included(k) & (*reinterpret_cast<const V*>(s + k) == best));
        if (bits) return {k + __builtin_ctz(bits), best};
    }
    return {-1, best};
}

template <class T>
ONEOF_INLINE Top<T> argmax(const T* s, int64_t stride, const uint32_t* excluded) {
    const int64_t bytes = stride * int64_t(sizeof(T));
    if (bytes == 16) return argmax_lanes<T, 16>(s, stride, excluded);
    if (bytes == 32) return argmax_lanes<T, kVectorBytes < 32 ? 16 : 32>(s, stride, excluded);
    return argmax_lanes<T, kVectorBytes>(s, stride, excluded);
}

// What a loss says of a round. Without a rival (all classes are candidates) the hinge is 0.
struct Judgement {
    int32_t best;          // i*
    int64_t rival;         // j* (-1: none)
    double margin, hinge;
    bool is_mistake;       // ŷ ∉ Y, ŷ by these same scores
};

template <class T>
Judgement judge(oneof::Loss loss, const T* s, int64_t stride, int64_t n_classes,
                const CandidateRow& set) {
    int32_t best = set.y[0];
    double sum = s[best];
    for (int64_t i = 1; i < set.m; ++i) {
        const int32_t k = set.y[i];
        if (s[k] > s[best]) best = k;
        sum += s[k];
    }
    if (set.m == n_classes) return {best, -1, 0.0 * sum, 0.0, false};
    const auto [rival, rival_score] = argmax(s, stride, set.excluded);
    if (rival < 0) return {best, -1, __builtin_nan(""), 0.0, false};   // NaN among the scores
    const double term = loss == oneof::Loss::avg ? sum * (1.0 / double(set.m)) : double(s[best]);
    const double margin = term - double(rival_score);
    const bool is_mistake = rival_score > s[best] || (rival_score == s[best] && rival < best);
    return {best, rival, margin, margin < 1.0 ? 1.0 - margin : 0.0, is_mistake};
}

// The margin's gradient in the scores, c: `share` for each of n candidates and −1 for the rival.
struct Contrast {
    const int32_t* classes;
    int64_t n;
    double share;
    int64_t rival;
    double gain;       // c·s
    double squared;    // |c|²
};

inline Contrast contrast(oneof::Loss loss, const Judgement& round, const CandidateRow& set) {
    if (loss == oneof::Loss::max)
        return {&round.best, 1, 1.0, round.rival, round.margin, 2.0};
    const double share = 1.0 / double(set.m);
    return {set.y, set.m, share, round.rival, round.margin, share + 1.0};
}

}  // namespace ONEOF_ISA
