// The rules of SPEC §3 and §7: from what the loss says of round t to shrink, step and radius in
// W ← Π(shrink·W + step·x⊗c). No weights.
#pragma once
#include "losses.hpp"

namespace ONEOF_ISA {

struct Step {
    bool is_update;
    double shrink, size;
};

// A round with a loss, to a rule: t, the row's squared length xx, and room for n_classes entries.
template <class T>
struct Situation {
    const Judgement& round;
    const CandidateRow& set;
    const T* s;
    int64_t n_classes, t;
    double xx;
    int32_t* classes;
    double* shares;
};

// Shorter rows count as 0: a step of 1/xx would leave the range of T.
template <class T>
inline constexpr double kLeastLength = sizeof(T) == 4 ? 1e-30 : 1e-290;

inline Step perceptron(const oneof::Learner& p, const Judgement& round) {
    const bool is_update = !p.on_mistake || round.is_mistake;
    return {is_update, 1.0, is_update ? p.eta0 : 0.0};
}

inline Step pegasos(const oneof::Learner& p, int64_t t) {
    return {true, 1.0 - 1.0 / double(t), 1.0 / (p.alpha * double(t))};
}

// Of the log-loss, whose contrast holds the slope. λ shrinks by the implicit step.
inline Step gradient(const oneof::Learner& p, double xx, int64_t t) {
    const double size = p.is_normalized ? p.eta0 / xx : p.eta0 / __builtin_sqrt(double(t));
    return {true, 1.0 / (1.0 + size * p.alpha), size};
}

inline Step passive_aggressive(const oneof::Learner& p, double hinge, double xx, double squared) {
    using oneof::Variant;
    double size = hinge / (squared * xx + (p.variant == Variant::pa_2 ? 0.5 / p.C : 0.0));
    if (p.variant == Variant::pa_1 && size > p.C) size = p.C;
    return {true, 1.0, size};
}

// Exact Passive-Aggressive: a step λ_j = [ℓ_j − θ]₊/xx for every rival. With g_j = s_j − s_{j*} ≤ 0
// and τ = ℓ_{j*} − θ it is [τ + g_j]₊/xx: τ stays above 0 whatever is rounded. Rivals leave the
// support from all of them on, which ends at the solution as growing it in order does.
template <class T>
Step exact(const oneof::Learner& p, const Situation<T>& at, Contrast& c) {
    using oneof::Variant;
    const double top = double(at.s[at.round.rival]), hinge = at.round.hinge, xx = at.xx;
    int32_t* support = at.classes + c.n;
    double* gaps = at.shares + c.n;
    for (int64_t i = 0; i < c.n; ++i) at.classes[i] = c.classes[i], at.shares[i] = c.of(i);
    int64_t n = 0;
    for (int64_t k = 0; k < at.n_classes; ++k) {
        support[n] = static_cast<int32_t>(k);
        gaps[n] = double(at.s[k]) - top;
        n += at.set.is_rival(k) && hinge + gaps[n] > 0;
    }
    const double a = (c.squared - 1.0) + (p.variant == Variant::pa_2 ? 0.5 / (p.C * xx) : 0.0);
    double tau = 0, total = 0;
    for (bool is_capped = false;;) {
        double sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += gaps[i];
        tau = is_capped ? (p.C * xx - sum) / double(n) : (hinge - a * sum) / (1.0 + a * double(n));
        int64_t kept = 0;
        total = 0;   // of terms above 0: n·τ + Σg would cancel
        for (int64_t i = 0; i < n; ++i) {
            const double step = tau + gaps[i];
            if (step > 0) support[kept] = support[i], gaps[kept++] = gaps[i], total += step;
        }
        if (kept < n && kept > 0) {
            n = kept;
            continue;
        }
        if (p.variant != Variant::pa_1 || is_capped || total <= p.C * xx) break;
        is_capped = true;
    }
    if (!(total > 0)) return {false, 1.0, 0.0};
    for (int64_t i = 0; i < n; ++i) gaps[i] = -(tau + gaps[i]) / total;
    c = {at.classes, nullptr, c.n + n, 0.0, at.shares, -1, 0.0, 0.0};
    return {true, 1.0, total / xx};
}

// A round with a loss. `exact` finds the contrast's rivals itself.
template <class T>
Step step_of(const oneof::Learner& p, const Situation<T>& at, Contrast& c) {
    switch (p.rule) {
        case oneof::Rule::perceptron: return perceptron(p, at.round);
        case oneof::Rule::pegasos: return pegasos(p, at.t);
        default: break;
    }
    if (at.xx < kLeastLength<T>) return {false, 1.0, 0.0};
    if (p.rule == oneof::Rule::gradient) return gradient(p, at.xx, at.t);
    return p.is_exact ? exact(p, at, c)
                      : passive_aggressive(p, at.round.hinge, at.xx, c.squared);
}

// A round without a loss.
inline Step rest_of(const oneof::Learner& p, int64_t t) {
    const bool is_shrinking = p.rule == oneof::Rule::pegasos && p.always_shrink;
    return {false, is_shrinking ? 1.0 - 1.0 / double(t) : 1.0, 0.0};
}

// Π keeps ‖W‖ within this radius.
inline double radius(const oneof::Learner& p) {
    return p.rule == oneof::Rule::pegasos ? 1.0 / __builtin_sqrt(p.alpha) : __builtin_inf();
}

// Does the rule ask for a row's length?
inline bool uses_length(const oneof::Learner& p) {
    return p.rule != oneof::Rule::perceptron;
}

}  // namespace ONEOF_ISA
