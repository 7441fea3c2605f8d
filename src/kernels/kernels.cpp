// One build of the kernels, for the instruction set that ONEOF_ISA names: chooses the element type
// and the row view, and lists the entry points. Compiled once per instruction set.
#include "learn.hpp"

namespace ONEOF_ISA {

// Calls f with the row view that fits these rows and this model.
template <class F>
auto with_rows(const oneof::Rows& rows, const oneof::Weights& weights, F&& f) {
    auto by_view = [&]<class T, class RowsOf>() {
        if (weights.spread) return f.template operator()<T, ScaledRows<T, RowsOf>>();
        return f.template operator()<T, RowsOf>();
    };
    auto by_type = [&]<class T>() {
        if (!rows.indptr) return by_view.template operator()<T, DenseRows<T>>();
        if (rows.is_wide) return by_view.template operator()<T, SparseRows<T, int64_t>>();
        return by_view.template operator()<T, SparseRows<T, int32_t>>();
    };
    return rows.is_double ? by_type.template operator()<double>()
                          : by_type.template operator()<float>();
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

static int64_t pack_any(const oneof::Weights& weights, const oneof::Rows& rows,
                        const oneof::Extras& extras, bool is_learning, const oneof::Packed& out) {
    return with_rows(rows, weights, [&]<class T, class RowsOf>() {
        return pack_rows<T, RowsOf>(weights, rows, extras, is_learning, out);
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
const oneof::Kernels table{ONEOF_TEXT(ONEOF_ISA), learn_any, score_any, pack_any,
                           check_any};

}  // namespace ONEOF_ISA
