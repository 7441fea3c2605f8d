// The rules of SPEC §3: from what the loss says of round t to shrink, step and radius in
// W ← Π(shrink·W + step·x⊗c). No scores, no weights.
#pragma once
#include "losses.hpp"

namespace ONEOF_ISA {

struct Step {
    bool is_update;
    double shrink, size;
};

inline Step perceptron(const oneof::Learner& p, const Judgement& round) {
    const bool is_update = p.on_mistake ? round.is_mistake : round.hinge > 0;
    return {is_update, 1.0, is_update ? p.eta0 : 0.0};
}

inline Step pegasos(const oneof::Learner& p, const Judgement& round, int64_t t) {
    const bool is_update = round.hinge > 0;
    const double shrink = is_update || p.always_shrink ? 1.0 - 1.0 / double(t) : 1.0;
    return {is_update, shrink, is_update ? 1.0 / (p.alpha * double(t)) : 0.0};
}

inline Step step_of(const oneof::Learner& p, const Judgement& round, int64_t t) {
    return p.rule == oneof::Rule::pegasos ? pegasos(p, round, t) : perceptron(p, round);
}

// Π keeps ‖W‖ within this radius.
inline double radius(const oneof::Learner& p) {
    return p.rule == oneof::Rule::pegasos ? 1.0 / __builtin_sqrt(p.alpha) : __builtin_inf();
}

}  // namespace ONEOF_ISA
