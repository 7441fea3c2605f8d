// The only training loop, W ← Π(shrink·W + step·x⊗c), and scoring. It names no algorithm: the loss
// gives margin and contrast, the rule gives shrink, step and radius.
#pragma once
#include "model.hpp"
#include "moments.hpp"
#include "rules.hpp"
#include "scratch.hpp"

namespace ONEOF_ISA {

// The bits of the candidates, by round, and of the padding, which is never a rival.
class Exclusions {
public:
    static int64_t n_words(int64_t stride) { return (stride + 31) / 32; }
    static int64_t scratch_bytes(int64_t stride) {
        return 3 * Arena::piece_bytes<uint32_t>(n_words(stride));
    }
    Exclusions(int64_t n_classes, int64_t stride, Arena& arena)
        : padding_(arena.take<uint32_t>(n_words(stride))),
          candidates_(arena.take<uint32_t>(n_words(stride))),
          both_(arena.take<uint32_t>(n_words(stride))), n_words_(n_words(stride)) {
        for (int64_t w = 0; w < n_words_; ++w) padding_[w] = 0;
        for (int64_t k = n_classes; k < n_words_ * 32; ++k) padding_[k / 32] |= 1u << (k % 32);
    }
    const uint32_t* padding() const { return padding_; }
    ONEOF_INLINE CandidateRow row(const oneof::Candidates& candidates, int64_t i) const {
        const int32_t* const y = candidates.codes + candidates.indptr[i];
        const int64_t m = candidates.indptr[i + 1] - candidates.indptr[i];
        if (n_words_ == 1) {
            uint32_t bits = 0;
            for (int64_t k = 0; k < m; ++k) {
                bits |= 1u << y[k];
                asm("" : "+r"(bits));   // vectors would take longer than these few steps
            }
            candidates_[0] = bits;
            both_[0] = bits | padding_[0];
        } else {
            for (int64_t w = 0; w < n_words_; ++w) candidates_[w] = 0, both_[w] = padding_[w];
            for (int64_t k = 0; k < m; ++k) {
                candidates_[y[k] / 32] |= 1u << (y[k] % 32);
                both_[y[k] / 32] |= 1u << (y[k] % 32);
            }
        }
        return {y, m, candidates_, padding_, both_};
    }

private:
    uint32_t *padding_, *candidates_, *both_;
    int64_t n_words_;
};

// The class with the largest of the scores that predict, left in `s`; −1 where one is not finite.
template <class T, class RowType>
int64_t predict(const Model<T>& model, const RowType& row, const uint32_t* padding, T*& s) {
    model.scores(row, s);
    if (model.is_averaged) s += model.stride;
    return all_finite(s, model.stride) ? argmax(s, model.stride, padding).k : -1;
}

// One learner on its way through the rows.
template <class T>
class Learning {
public:
    static int64_t scratch_bytes(const oneof::Weights& w) {
        const int64_t width = w.stride * (1 + w.is_averaged);
        return 2 * Arena::piece_bytes<T>(width) + Arena::piece_bytes<int32_t>(width) +
               Arena::piece_bytes<int32_t>(w.stride) + Arena::piece_bytes<double>(w.stride);
    }
    Learning(const oneof::Learner& learner, const oneof::Weights& weights, Arena& arena)
        : model(weights), learner_(learner), weights_(weights),
          s_(arena.take<T>(model.m.width)), u_(arena.take<T>(model.m.width)),
          columns_(arena.take<int32_t>(model.m.width)), classes_(arena.take<int32_t>(model.stride)),
          shares_(arena.take<double>(model.stride)), r_(radius(learner)),
          has_radius_(r_ < __builtin_inf()), has_length_(uses_length(learner)) {}
    void store() const { model.store(weights_); }

    // The first half of a round: the scores, and what the loss says of them. False where one is not
    // finite; then nothing may be learnt.
    template <class RowType>
    ONEOF_INLINE bool see(const RowType& row, const CandidateRow& set, Judgement& round) {
        model.scores(row, s_);
        round = judge(learner_, s_, model.stride, model.n_classes, set, shares_);
        return __builtin_fabs(round.margin) < __builtin_inf() &&
               (!model.is_averaged || all_finite(s_ + model.stride, model.stride));
    }

    // The second half: learns from what was seen, and returns the class predicted before. `length`
    // gives the row's squared length without the constant feature.
    template <class RowType, class Length>
    ONEOF_INLINE int32_t learn(const RowType& row, const CandidateRow& set, const Judgement& round,
                               double sample_weight, Length&& length) {
        int64_t predicted = round.is_mistake ? round.rival : round.best;
        bool is_mistake = round.is_mistake;
        if (model.is_averaged) {
            predicted = argmax(s_ + model.stride, model.stride, set.padding).k;
            is_mistake = set.is_rival(predicted);
        }
        model.n_mistakes += is_mistake;
        ++model.t;

        Contrast c{};
        double xx = 0;
        Step step = rest_of(learner_, model.t);
        if (round.hinge > 0) {
            if (has_length_) xx = length() + model.m.has_intercept;
            c = contrast(learner_, round, set, s_, shares_, model.n_classes);
            step = step_of(learner_, Situation<T>{round, set, s_, model.n_classes, model.t, xx,
                                                  classes_, shares_}, c);
        }
        if (step.shrink != 1.0) {
            model.norm2 *= step.shrink * step.shrink;
            if (step.shrink > 0) model.scale *= step.shrink;
            else if (model.n_updates) model.fold(0.0);   // else W is 0 anyway
        }
        if (step.is_update) {
            ++model.n_updates;
            const double size = step.size * sample_weight;
            model.add(row, size, c, u_, columns_);
            if (has_radius_) {
                model.norm2 += size * (2 * step.shrink * c.gain + size * c.squared * xx);
                if (model.norm2 > r_ * r_) {
                    model.scale *= r_ / __builtin_sqrt(model.norm2);
                    model.norm2 = r_ * r_;
                }
            }
        }
        if (model.is_averaged) model.sum_scale += model.scale;
        if (model.scale < model.smallest_scale()) model.fold(model.scale);
        if (has_radius_) model.refresh_norm();
        return static_cast<int32_t>(predicted);
    }

    template <class RowType>
    int64_t prediction(const RowType& row, const uint32_t* padding) const {
        T* s = s_;
        return predict(model, row, padding, s);
    }

    Model<T> model;

private:
    const oneof::Learner& learner_;
    const oneof::Weights& weights_;
    T *s_, *u_;
    int32_t *columns_, *classes_;
    double* shares_;
    const double r_;
    const bool has_radius_, has_length_;
};

constexpr int64_t kOutOfMemory = -2;

template <class T, class RowsOf>
int64_t learn(const oneof::Learner& learner, const oneof::Weights& weights,
              const oneof::Rows& rows, const oneof::Candidates& candidates,
              const oneof::Extras& extras) {
    const int64_t scratch = RowsOf::scratch_bytes(rows, weights);
    Arena arena(Learning<T>::scratch_bytes(weights) + Exclusions::scratch_bytes(weights.stride) +
                Arena::piece_bytes<char>(scratch));
    if (!arena) return kOutOfMemory;
    Learning<T> learning(learner, weights, arena);
    const Exclusions exclusions(weights.n_classes, weights.stride, arena);
    const RowsOf view = RowsOf::of(rows, weights, arena.take<char>(scratch));

    const bool is_prefetching = extras.order || view.are_long();

    int64_t round_no = 0;
    for (; round_no < extras.n_rounds; ++round_no) {
        const int64_t i = extras.row(round_no);
        const auto row = row_to_learn(view, i, learning.model.t + 1);
        if (!view.is_canonical(row)) break;
        if (is_prefetching && round_no + 1 < extras.n_rounds)
            view.prefetch(extras.row(round_no + 1));
        const CandidateRow set = exclusions.row(candidates, i);
        Judgement round;
        if (!learning.see(row, set, round)) break;
        const int32_t predicted = learning.learn(row, set, round, extras.weight(i),
                                                 [&] { return sum_of_squares(row.x, row.n); });
        if (extras.predictions) extras.predictions[round_no] = predicted;
    }
    learning.store();
    if (round_no == extras.n_rounds) return -1;
    forget_row(view, extras.row(round_no));
    return round_no;
}

template <class T, class RowsOf>
int64_t score_rows(const oneof::Weights& weights, const oneof::Rows& rows,
                   const oneof::Extras& extras) {
    const Model<T> model(weights);
    const int64_t scratch = RowsOf::scratch_bytes(rows, weights);
    Arena arena(Arena::piece_bytes<T>(model.m.width) + Exclusions::scratch_bytes(model.stride) +
                Arena::piece_bytes<char>(scratch));
    if (!arena) return kOutOfMemory;
    T* const room = arena.take<T>(model.m.width);
    const Exclusions exclusions(model.n_classes, model.stride, arena);
    const RowsOf view = RowsOf::of(rows, weights, arena.take<char>(scratch));
    for (int64_t round_no = 0; round_no < extras.n_rounds; ++round_no) {
        const auto row = view[round_no];
        if (!view.is_canonical(row)) return round_no;
        T* s = room;
        const int64_t predicted = predict(model, row, exclusions.padding(), s);
        if (predicted < 0) return round_no;
        if (extras.predictions) extras.predictions[round_no] = static_cast<int32_t>(predicted);
        if (extras.scores)
            __builtin_memcpy(static_cast<T*>(extras.scores) + round_no * model.n_classes, s,
                             size_t(model.n_classes) * sizeof(T));
    }
    return -1;
}

}  // namespace ONEOF_ISA
