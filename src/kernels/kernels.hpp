// What the bindings and the builds for each instruction set share: plain views of arrays, and a
// table of entry points. Nothing is computed here.
#pragma once
#include <cstdint>

namespace oneof {

enum class Loss : int { avg, max, soft, log };
enum class Rule : int { perceptron, pegasos, passive_aggressive, gradient };
enum class Variant : int { pa, pa_1, pa_2 };

// Which loss and rule, with the rule's parameters.
struct Learner {
    Loss loss;
    Rule rule;
    double beta;           // β of the soft loss
    double eta0;           // η of the Perceptron and of the gradient's step
    bool on_mistake;       // Perceptron: update if ŷ ∉ Y rather than if hinge > 0
    double alpha;          // λ of Pegasos and of the gradient's step
    bool always_shrink;    // Pegasos: shrink in rounds without loss, too
    double C;              // Passive-Aggressive: the price of what is left of the hinge
    Variant variant;
    bool is_exact;         // Passive-Aggressive: all rivals at once
    bool is_normalized;    // gradient: a step of η/‖x‖² rather than η/√t
};

// W = scale·V and, with averaging, ΣW = U + sum_scale·V. Each row of the array holds one feature's
// weights in V and, behind them, in U: `stride` of each, the classes and padding, which is 0.
struct Weights {
    void* weights;
    double* scale;         // scale, sum_scale, norm2 (‖W‖², kept for rules with a radius)
    int64_t* counters;     // t, n_updates, n_mistakes
    int64_t n_features;
    int64_t n_classes;
    int64_t stride;
    bool has_intercept;    // then row 0 belongs to the constant feature
    bool is_averaged;      // predict with the mean of the weights after each round
    bool is_double;
    double* mean;          // of each feature; null: rows are not centred
    double* spread;        // of each feature, see moments.hpp; null: rows are taken as they are
};

// Dense rows (indptr null) with strides in elements, or CSR rows.
struct Rows {
    const void* values;
    const void* indices;
    const void* indptr;
    int64_t n_rows, n_features, n_values;
    int64_t row_stride, column_stride;
    bool is_double, is_wide;   // float64 values; int64 indices
};

struct Candidates {
    const int64_t* indptr;
    const int32_t* codes;
};

// What goes beside the rows; each may be null.
struct Extras {
    const int64_t* order;          // which rows, in which order
    int64_t n_rounds;
    const double* sample_weight;   // by row
    int32_t* predictions;          // by round
    void* scores;                  // by round, n_classes each

    int64_t row(int64_t round_no) const { return order ? order[round_no] : round_no; }
    double weight(int64_t i) const { return sample_weight ? sample_weight[i] : 1.0; }
};

// Members that learn the same rows, and a model of no weight that keeps the moments of those that
// scale.
struct Team {
    int64_t n_members;
    const Learner* learners;
    const Weights* members;
    const bool* is_scaled;         // by member
    Weights front;
    double rate;                   // how fast mistakes cost trust
    int64_t* n_mistakes;           // of the vote
};

enum class Fault { none, not_finite, bad_index, not_canonical };
struct Finding {
    Fault fault;
    int64_t row, column;
    double largest;                // |x|, where nothing is wrong
};

struct Kernels {
    const char* isa;
    // Each returns -1, or the first round that cannot be scored (a row that is not canonical or not
    // finite, or scores that overflow; nothing of it is learnt), or -2 when there is no memory.
    int64_t (*learn)(const Learner&, const Weights&, const Rows&, const Candidates&, const Extras&);
    int64_t (*score)(const Weights&, const Rows&, const Extras&);
    int64_t (*learn_team)(const Team&, const Rows&, const Candidates&, const Extras&);
    int64_t (*score_team)(const Team&, const Rows&, const Extras&);
    Finding (*check)(const Rows&);
};

constexpr int64_t kAlignment = 64;

// Elements from one feature's weights to the next: never splits a vector, never shares one.
constexpr int64_t padded(int64_t n_classes, int64_t item) {
    int64_t bytes = n_classes * item;
    int64_t unit = bytes <= 16 ? 16 : bytes <= 32 ? 32 : kAlignment;
    return (bytes + unit - 1) / unit * unit / item;
}

// May features lie so far apart? Up to one cache line at the least distance only, so that scores
// have the same partial sums however the classes came; beyond it there is room for more classes.
constexpr bool is_stride(int64_t stride, int64_t n_classes, int64_t item) {
    const int64_t least = padded(n_classes, item);
    return stride == least || (least * item > kAlignment && stride > least &&
                               stride * item % kAlignment == 0);
}

}  // namespace oneof
