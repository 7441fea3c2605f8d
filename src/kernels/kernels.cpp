// One build of the kernels, for the instruction set that ONEOF_ISA names: chooses the element type
// and the row view, and lists the entry points. Compiled once per instruction set.
#include "team.hpp"

namespace ONEOF_ISA {

// Calls f with the row view that fits these rows.
template <class F>
auto with_plain_rows(const oneof::Rows& rows, F&& f) {
    auto by_type = [&]<class T>() {
        if (!rows.indptr) return f.template operator()<T, DenseRows<T>>();
        if (rows.is_wide) return f.template operator()<T, SparseRows<T, int64_t>>();
        return f.template operator()<T, SparseRows<T, int32_t>>();
    };
    return rows.is_double ? by_type.template operator()<double>()
                          : by_type.template operator()<float>();
}

// The same for a model that may scale them.
template <class F>
auto with_rows(const oneof::Rows& rows, const oneof::Weights& weights, F&& f) {
    return with_plain_rows(rows, [&]<class T, class RowsOf>() {
        if (weights.spread) return f.template operator()<T, ScaledRows<T, RowsOf>>();
        return f.template operator()<T, RowsOf>();
    });
}

static int64_t learn_any(const oneof::Learner& learner, const oneof::Weights& weights,
                         const oneof::Rows& rows, const oneof::Candidates& candidates,
                         const oneof::Extras& extras) {
    return with_rows(rows, weights, [&]<class T, class RowsOf>() {
        return learn<T, RowsOf>(learner, weights, rows, candidates, extras);
    });
}

static int64_t score_any(const oneof::Weights& weights, const oneof::Rows& rows,
                         const oneof::Extras& extras) {
    return with_rows(rows, weights, [&]<class T, class RowsOf>() {
        return score_rows<T, RowsOf>(weights, rows, extras);
    });
}

static int64_t learn_team_any(const oneof::Team& team, const oneof::Rows& rows,
                              const oneof::Candidates& candidates, const oneof::Extras& extras) {
    return with_plain_rows(rows, [&]<class T, class RowsOf>() {
        return run_team<true, T, RowsOf>(team, rows, candidates, extras);
    });
}

static int64_t score_team_any(const oneof::Team& team, const oneof::Rows& rows,
                              const oneof::Extras& extras) {
    return with_plain_rows(rows, [&]<class T, class RowsOf>() {
        return run_team<false, T, RowsOf>(team, rows, {}, extras);
    });
}

static oneof::Finding check_any(const oneof::Rows& rows) {
    auto by_type = [&]<class T>() {
        if (!rows.indptr) return check_dense<T>(rows);
        return rows.is_wide ? check_sparse<T, int64_t>(rows) : check_sparse<T, int32_t>(rows);
    };
    return rows.is_double ? by_type.template operator()<double>()
                          : by_type.template operator()<float>();
}

#define ONEOF_TEXT_OF(x) #x
#define ONEOF_TEXT(x) ONEOF_TEXT_OF(x)
extern const oneof::Kernels table;
const oneof::Kernels table{ONEOF_TEXT(ONEOF_ISA), learn_any, score_any, learn_team_any,
                           score_team_any, check_any};

}  // namespace ONEOF_ISA
