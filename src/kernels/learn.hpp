// The only training loop, W ← Π(shrink·W + step·x⊗c), and scoring. It names no algorithm: the loss
// gives margin and contrast, the rule gives shrink, step and radius.
#pragma once
#include <cstdlib>

#include "moments.hpp"
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
    void scores(const RowType& row, T* s) const {
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

// The bits of the candidates, by round, and of the padding, which is never a rival.
class Exclusions {
public:
    Exclusions(uint32_t* padding, uint32_t* candidates, int64_t n_classes, int64_t stride)
        : padding_(padding), candidates_(candidates), n_words_((stride + 31) / 32) {
        for (int64_t w = 0; w < n_words_; ++w) padding_[w] = 0;
        for (int64_t k = n_classes; k < n_words_ * 32; ++k) padding_[k / 32] |= 1u << (k % 32);
    }
    const uint32_t* padding() const { return padding_; }
    CandidateRow row(const int32_t* y, int64_t m) const {
        if (n_words_ == 1) {   // kept in a register
            uint32_t bits = 0;
            for (int64_t i = 0; i < m; ++i) bits |= 1u << y[i];
            candidates_[0] = bits;
        } else {
            for (int64_t w = 0; w < n_words_; ++w) candidates_[w] = 0;
            for (int64_t i = 0; i < m; ++i) candidates_[y[i] / 32] |= 1u << (y[i] % 32);
        }
        return {y, m, candidates_, padding_};
    }
    bool contains(int64_t k) const { return candidates_[k / 32] >> (k % 32) & 1; }

private:
    uint32_t *padding_, *candidates_;
    int64_t n_words_;
};

constexpr int64_t kOutOfMemory = -2;

template <class T, class RowsOf>
int64_t learn(const oneof::Learner& learner, const oneof::Weights& weights,
              const oneof::Rows& rows, const oneof::Candidates& candidates,
              const oneof::Extras& extras) {
    Model<T> model(weights);
    const int64_t stride = model.stride, width = model.m.width, n_words = (stride + 31) / 32;
    const int64_t scratch = RowsOf::scratch_bytes(rows, weights);
    Arena arena(2 * Arena::piece_bytes<T>(width) + 2 * Arena::piece_bytes<uint32_t>(n_words) +
                Arena::piece_bytes<int32_t>(width) + Arena::piece_bytes<int32_t>(stride) +
                Arena::piece_bytes<double>(stride) + Arena::piece_bytes<char>(scratch));
    if (!arena) return kOutOfMemory;
    T* s = arena.take<T>(width);
    T* u = arena.take<T>(width);
    uint32_t* padding = arena.take<uint32_t>(n_words);
    Exclusions exclusions(padding, arena.take<uint32_t>(n_words), model.n_classes, stride);
    int32_t* columns = arena.take<int32_t>(width);
    int32_t* classes = arena.take<int32_t>(stride);
    for (int64_t k = 0; k < stride; ++k) classes[k] = static_cast<int32_t>(k);
    double* shares = arena.take<double>(stride);
    const RowsOf view = RowsOf::of(rows, weights, arena.take<char>(scratch));

    const double r = radius(learner);
    const bool has_radius = r < __builtin_inf(), has_length = uses_length(learner);

    int64_t round_no = 0;
    for (; round_no < extras.n_rounds; ++round_no) {
        const int64_t i = extras.order ? extras.order[round_no] : round_no;
        const auto row = row_to_learn(view, i, model.t + 1);
        if (!view.is_canonical(row)) break;
        if ((extras.order || RowsOf::kAreLong) && round_no + 1 < extras.n_rounds)
            view.prefetch(extras.order ? extras.order[round_no + 1] : round_no + 1);
        const int64_t first = candidates.indptr[i];
        const CandidateRow set =
            exclusions.row(candidates.codes + first, candidates.indptr[i + 1] - first);

        model.scores(row, s);
        const Judgement round = judge(learner, s, stride, model.n_classes, set, shares);
        if (!(__builtin_fabs(round.margin) < __builtin_inf())) break;

        int64_t predicted = round.is_mistake ? round.rival : round.best;
        bool is_mistake = round.is_mistake;
        if (model.is_averaged) {
            if (!all_finite(s + stride, stride)) break;
            predicted = argmax(s + stride, stride, exclusions.padding()).k;
            is_mistake = !exclusions.contains(predicted);
        }
        if (extras.predictions) extras.predictions[round_no] = static_cast<int32_t>(predicted);
        model.n_mistakes += is_mistake;
        ++model.t;

        Contrast c{};
        double xx = 0;
        Step step = rest_of(learner, model.t);
        if (round.hinge > 0) {
            if (has_length) xx = sum_of_squares(row.x, row.n) + model.m.has_intercept;
            c = contrast(learner, round, set, s, shares, classes, model.n_classes);
            step = step_of(learner, Situation<T>{round, set, s, model.n_classes, model.t, xx,
                                                 classes, shares}, c);
        }
        if (step.shrink != 1.0) {
            model.norm2 *= step.shrink * step.shrink;
            if (step.shrink > 0) model.scale *= step.shrink;
            else if (model.n_updates) model.fold(0.0);   // else W is 0 anyway
        }
        if (step.is_update) {
            ++model.n_updates;
            const double size = step.size * (extras.sample_weight ? extras.sample_weight[i] : 1.0);
            model.add(row, size, c, u, columns);
            if (has_radius) {
                model.norm2 += size * (2 * step.shrink * c.gain + size * c.squared * xx);
                if (model.norm2 > r * r) {
                    model.scale *= r / __builtin_sqrt(model.norm2);
                    model.norm2 = r * r;
                }
            }
        }
        if (model.is_averaged) model.sum_scale += model.scale;
        if (model.scale < model.smallest_scale()) model.fold(model.scale);
        if (has_radius) model.refresh_norm();
    }
    model.store(weights);
    if (round_no == extras.n_rounds) return -1;
    forget_row(view, extras.order ? extras.order[round_no] : round_no);
    return round_no;
}

template <class T, class RowsOf>
int64_t score_rows(const oneof::Weights& weights, const oneof::Rows& rows,
                   const oneof::Extras& extras) {
    const Model<T> model(weights);
    const int64_t stride = model.stride, width = model.m.width, n_words = (stride + 31) / 32;
    const int64_t scratch = RowsOf::scratch_bytes(rows, weights);
    Arena arena(Arena::piece_bytes<T>(width) + 2 * Arena::piece_bytes<uint32_t>(n_words) +
                Arena::piece_bytes<char>(scratch));
    if (!arena) return kOutOfMemory;
    T* s = arena.take<T>(width);
    uint32_t* padding = arena.take<uint32_t>(n_words);
    const Exclusions exclusions(padding, arena.take<uint32_t>(n_words), model.n_classes, stride);
    const RowsOf view = RowsOf::of(rows, weights, arena.take<char>(scratch));
    const T* result = model.is_averaged ? s + stride : s;
    for (int64_t round_no = 0; round_no < extras.n_rounds; ++round_no) {
        const auto row = view[round_no];
        if (!view.is_canonical(row)) return round_no;
        model.scores(row, s);
        if (!all_finite(result, stride)) return round_no;
        if (extras.predictions)
            extras.predictions[round_no] =
                static_cast<int32_t>(argmax(result, stride, exclusions.padding()).k);
        if (extras.scores)
            __builtin_memcpy(static_cast<T*>(extras.scores) + round_no * model.n_classes, result,
                             size_t(model.n_classes) * sizeof(T));
    }
    return -1;
}

// Writes rows as a model sees them, scaled if it scales, one after another; learning, each round
// adds its row to the moments. Rows that hold all features need no indices and get none.
template <class T, class RowsOf>
int64_t pack_rows(const oneof::Weights& weights, const oneof::Rows& rows,
                  const oneof::Extras& extras, bool is_learning, const oneof::Packed& out) {
    const int64_t scratch = RowsOf::scratch_bytes(rows, weights);
    Arena arena(Arena::piece_bytes<char>(scratch));
    if (!arena) return kOutOfMemory;
    const RowsOf view = RowsOf::of(rows, weights, arena.take<char>(scratch));
    T* values = static_cast<T*>(out.values);
    int32_t n = 0;
    int64_t n_full = 0;
    out.indptr[0] = 0;
    for (int64_t round_no = 0; round_no < extras.n_rounds; ++round_no) {
        const int64_t i = extras.order ? extras.order[round_no] : round_no;
        const auto row = is_learning ? row_to_learn(view, i, weights.counters[0] + 1) : view[i];
        if (!view.is_canonical(row)) return round_no;
        weights.counters[0] += is_learning;
        __builtin_memcpy(values + n, row.x, size_t(row.n) * sizeof(T));
        if (row.j)
            for (int64_t p = 0; p < row.n; ++p) out.indices[n + p] = static_cast<int32_t>(row.j[p]);
        n += static_cast<int32_t>(row.n);
        n_full += row.n == weights.n_features;
        out.indptr[round_no + 1] = n;
    }
    for (int64_t i = 0; i < extras.n_rounds && n_full < extras.n_rounds; ++i)
        if (out.indptr[i + 1] - out.indptr[i] == weights.n_features)
            for (int64_t j = 0; j < weights.n_features; ++j)
                out.indices[out.indptr[i] + j] = static_cast<int32_t>(j);
    return -1;
}

}  // namespace ONEOF_ISA
