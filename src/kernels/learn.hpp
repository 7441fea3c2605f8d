// The only training loop, W ← Π(shrink·W + step·x⊗c), and scoring. It names no algorithm: the loss
// gives margin and contrast, the rule gives shrink, step and radius.
#pragma once
#include <cstdlib>

#include "rules.hpp"
#include "weights.hpp"

namespace ONEOF_ISA {

// Scratch memory of one call, handed out in aligned pieces.
class Arena {
public:
    explicit Arena(int64_t bytes)
        : memory_(static_cast<char*>(std::aligned_alloc(64, size_t(rounded(bytes))))) {}
    ~Arena() { std::free(memory_); }
    Arena(const Arena&) = delete;
    explicit operator bool() const { return memory_; }

    template <class T>
    T* take(int64_t n) {
        char* piece = memory_ + used_;
        used_ += piece_bytes<T>(n);
        return reinterpret_cast<T*>(piece);
    }
    template <class T>
    static int64_t piece_bytes(int64_t n) { return rounded(n * int64_t(sizeof(T))); }

private:
    static int64_t rounded(int64_t bytes) { return (bytes + 63) / 64 * 64 + 64; }
    char* memory_;
    int64_t used_ = 0;
};

// The model as the loop sees it.
template <class T>
class Model {
public:
    Model(const oneof::Weights& w, bool average)
        : v{static_cast<T*>(w.v), w.stride, w.has_intercept, w.n_features},
          u{static_cast<T*>(w.u), w.stride, w.has_intercept, w.n_features},
          scale(w.scale[0]), sum_scale(w.scale[1]), norm2(w.scale[2]),
          t(w.counters[0]), n_updates(w.counters[1]), n_mistakes(w.counters[2]),
          n_classes(w.n_classes), is_averaged(average) {}

    // Scores of the current weights into s and, if averaged, of W̄ into s_bar.
    template <class Row>
    void scores(const Row& row, T* s, T* s_bar) const {
        score(v, row, is_averaged ? T(1) : T(scale), s);
        if (!is_averaged) return;
        score(u, row, T(1), s_bar);
        const T share = t ? T(1.0 / double(t)) : T(0), a = T(scale), sum_a = T(sum_scale);
        for (int64_t k = 0; k < v.stride; ++k) {
            s_bar[k] = (s_bar[k] + sum_a * s[k]) * share;
            s[k] *= a;
        }
    }

    // Takes the scale into V. The sum is settled first: kept apart, U and sum_scale·V would
    // cancel each other the more, the smaller the scale.
    void fold(double new_scale) {
        if (is_averaged) {
            add_multiple(u, T(sum_scale), v);
            sum_scale = 0;
        }
        multiply(v, T(new_scale));
        scale = 1;
    }

    // W += size · x⊗c
    template <class Row>
    void add(const Row& row, double size, const Contrast& c, T* u_scratch) {
        add_to(v, row, size / scale, c, u_scratch);
        if (is_averaged) add_to(u, row, -sum_scale * (size / scale), c, u_scratch);
    }

    // Exact ‖W‖²; due at rounds that depend on t and the model's size only, never on the calls.
    void refresh_norm() {
        int64_t period = int64_t(1) << 14;
        while (period * 16 < v.size()) period *= 2;
        if (t % period == 0) norm2 = scale * scale * squared_norm(v);
    }

    static double smallest_scale(bool average) { return average ? 0x1p-6 : 0x1p-40; }

    Matrix<T> v, u;
    double &scale, &sum_scale, &norm2;
    int64_t &t, &n_updates, &n_mistakes;
    const int64_t n_classes;
    const bool is_averaged;

private:
    template <class Row>
    void add_to(const Matrix<T>& m, const Row& row, double size, const Contrast& c, T* u_scratch) {
        for (int64_t i = 0; i < c.n; ++i) u_scratch[c.classes[i]] = T(size * c.values[i]);
        if (m.stride * int64_t(sizeof(T)) <= oneof::kAlignment * c.n)
            add_outer(m, row, u_scratch);
        else
            add_outer(m, row, u_scratch, c.classes, c.n);
        for (int64_t i = 0; i < c.n; ++i) u_scratch[c.classes[i]] = T(0);
    }
};

// The bits of the classes that are excluded as rivals: padding always, candidates by round.
class Exclusions {
public:
    Exclusions(uint32_t* padding, uint32_t* excluded, int64_t n_classes, int64_t stride)
        : padding_(padding), excluded_(excluded), n_words_((stride + 31) / 32) {
        for (int64_t w = 0; w < n_words_; ++w) padding_[w] = 0;
        for (int64_t k = n_classes; k < n_words_ * 32; ++k) padding_[k / 32] |= 1u << (k % 32);
    }
    const uint32_t* padding() const { return padding_; }
    CandidateRow row(const int32_t* y, int64_t m) const {
        for (int64_t w = 0; w < n_words_; ++w) excluded_[w] = padding_[w];
        for (int64_t i = 0; i < m; ++i) excluded_[y[i] / 32] |= 1u << (y[i] % 32);
        return {y, m, excluded_};
    }
    bool contains(int64_t k) const { return excluded_[k / 32] >> (k % 32) & 1; }

private:
    uint32_t *padding_, *excluded_;
    int64_t n_words_;
};

constexpr int64_t kOutOfMemory = -2;

template <class T, class RowsOf>
int64_t learn(const oneof::Learner& learner, const oneof::Weights& weights,
              const oneof::Rows& rows, const oneof::Candidates& candidates,
              const oneof::Extras& extras) {
    const int64_t stride = weights.stride, n_words = (stride + 31) / 32;
    const int64_t scratch = RowsOf::scratch_bytes(rows.n_features);
    Arena arena(3 * Arena::piece_bytes<T>(stride) + 2 * Arena::piece_bytes<uint32_t>(n_words) +
                Arena::piece_bytes<int32_t>(stride) + Arena::piece_bytes<double>(stride) +
                Arena::piece_bytes<char>(scratch));
    if (!arena) return kOutOfMemory;
    T* s = arena.take<T>(stride);
    T* s_bar = arena.take<T>(stride);
    T* u = arena.take<T>(stride);
    for (int64_t k = 0; k < stride; ++k) u[k] = T(0);
    uint32_t* padding = arena.take<uint32_t>(n_words);
    Exclusions exclusions(padding, arena.take<uint32_t>(n_words), weights.n_classes, stride);
    int32_t* classes = arena.take<int32_t>(stride);
    double* values = arena.take<double>(stride);
    const RowsOf view(rows, arena.take<char>(scratch));

    Model<T> model(weights, learner.average);
    const double r = radius(learner);
    const bool has_radius = r < __builtin_inf();

    for (int64_t round_no = 0; round_no < extras.n_rounds; ++round_no) {
        const int64_t i = extras.order ? extras.order[round_no] : round_no;
        const auto row = view[i];
        if (!row.is_canonical(rows.n_features)) return round_no;
        const int64_t first = candidates.indptr[i];
        const CandidateRow set =
            exclusions.row(candidates.codes + first, candidates.indptr[i + 1] - first);

        model.scores(row, s, s_bar);
        const Judgement round = judge(learner.loss, s, stride, model.n_classes, set);
        if (!(__builtin_fabs(round.margin) < __builtin_inf())) return round_no;

        int64_t predicted = round.is_mistake ? round.rival : round.best;
        bool is_mistake = round.is_mistake;
        if (model.is_averaged) {
            if (!all_finite(s_bar, stride)) return round_no;
            predicted = argmax(s_bar, stride, exclusions.padding());
            is_mistake = !exclusions.contains(predicted);
        }
        if (extras.predictions) extras.predictions[round_no] = static_cast<int32_t>(predicted);
        model.n_mistakes += is_mistake;
        ++model.t;

        const Step step = step_of(learner, round, model.t);
        model.n_updates += step.is_update;
        if (step.shrink != 1.0) {
            model.norm2 *= step.shrink * step.shrink;
            if (step.shrink > 0) model.scale *= step.shrink;
            else model.fold(0.0);
        }
        if (step.is_update) {
            const double size = step.size * (extras.sample_weight ? extras.sample_weight[i] : 1.0);
            Contrast c{classes, values};
            contrast(learner.loss, round, set, c);
            model.add(row, size, c, u);
            if (has_radius) {
                double gain = 0;   // c·s
                for (int64_t k = 0; k < c.n; ++k) gain += c.values[k] * double(s[c.classes[k]]);
                model.norm2 += size * (2 * step.shrink * gain +
                                       size * c.squared * squared_norm(row, model.v.has_intercept));
                if (model.norm2 > r * r) {
                    model.scale *= r / __builtin_sqrt(model.norm2);
                    model.norm2 = r * r;
                }
            }
        }
        if (model.is_averaged) model.sum_scale += model.scale;
        if (model.scale < Model<T>::smallest_scale(model.is_averaged)) model.fold(model.scale);
        if (has_radius) model.refresh_norm();
    }
    return -1;
}

template <class T, class RowsOf>
int64_t score_rows(const oneof::Weights& weights, bool average, const oneof::Rows& rows,
                   const oneof::Extras& extras) {
    const int64_t stride = weights.stride, n_words = (stride + 31) / 32;
    const int64_t scratch = RowsOf::scratch_bytes(rows.n_features);
    Arena arena(2 * Arena::piece_bytes<T>(stride) + 2 * Arena::piece_bytes<uint32_t>(n_words) +
                Arena::piece_bytes<char>(scratch));
    if (!arena) return kOutOfMemory;
    T* s = arena.take<T>(stride);
    T* s_bar = arena.take<T>(stride);
    uint32_t* padding = arena.take<uint32_t>(n_words);
    const Exclusions exclusions(padding, arena.take<uint32_t>(n_words), weights.n_classes, stride);
    const RowsOf view(rows, arena.take<char>(scratch));
    const Model<T> model(weights, average);
    const T* result = average ? s_bar : s;
    for (int64_t round_no = 0; round_no < extras.n_rounds; ++round_no) {
        const auto row = view[round_no];
        if (!row.is_canonical(rows.n_features)) return round_no;
        model.scores(row, s, s_bar);
        if (!all_finite(result, stride)) return round_no;
        if (extras.predictions)
            extras.predictions[round_no] =
                static_cast<int32_t>(argmax(result, stride, exclusions.padding()));
        if (extras.scores)
            __builtin_memcpy(static_cast<T*>(extras.scores) + round_no * model.n_classes, result,
                             size_t(model.n_classes) * sizeof(T));
    }
    return -1;
}

}  // namespace ONEOF_ISA
