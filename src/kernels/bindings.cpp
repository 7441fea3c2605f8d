// Arrays in, names out: checks the shapes that memory safety rests on, chooses the build for this
// machine, releases the GIL. No arithmetic.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings_parse.hpp"
#include "dicts.hpp"
#include "kernels.hpp"

namespace nb = nanobind;
using namespace nb::literals;

#define ONEOF_DECLARE(isa) namespace isa { extern const oneof::Kernels table; }
#if defined(ONEOF_X86)
ONEOF_DECLARE(v2)
ONEOF_DECLARE(v3)
ONEOF_DECLARE(v4)
#else
ONEOF_DECLARE(plain)
#endif

namespace {

template <class T>
using vector_in = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using vector_out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using matrix_out = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using any_in = nb::ndarray<nb::ro, nb::device::cpu>;
using any_out = nb::ndarray<nb::device::cpu>;

template <class T>
bool holds(const any_in& a) { return a.dtype() == nb::dtype<T>(); }
template <class T>
bool holds(const any_out& a) { return a.dtype() == nb::dtype<T>(); }

void require(bool condition, const char* what) {
    if (!condition) throw nb::value_error(what);
}

// The builds this machine can run, slowest first.
std::vector<const oneof::Kernels*> runnable() {
#if defined(ONEOF_X86)
    std::vector<const oneof::Kernels*> builds;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v2")) builds.push_back(&v2::table);
    if (__builtin_cpu_supports("x86-64-v3")) builds.push_back(&v3::table);
    if (__builtin_cpu_supports("x86-64-v4")) builds.push_back(&v4::table);
    return builds;
#else
    return {&plain::table};
#endif
}

const oneof::Kernels& chosen() {
    static const oneof::Kernels* const build = [] {
        const auto builds = runnable();
        if (builds.empty()) throw nb::import_error("oneof needs an x86-64-v2 processor (2009)");
        const char* forced = std::getenv("ONEOF_ISA");
        if (!forced || !*forced) return builds.back();
        std::string names;
        for (const auto* b : builds) {
            if (forced == std::string(b->isa)) return b;
            names += std::string(names.empty() ? "" : ", ") + b->isa;
        }
        throw nb::import_error(("ONEOF_ISA=" + std::string(forced) +
                                " is not one of the builds this machine runs: " + names).c_str());
    }();
    return *build;
}

// A matrix of rows, kept alive.
struct Rows {
    oneof::Rows view;
    any_in values, indices, indptr;

    static Rows dense(any_in x) {
        require(x.ndim() == 2, "dense rows are two-dimensional");
        require(holds<float>(x) || holds<double>(x), "rows are float32 or float64");
        Rows rows{{}, x, {}, {}};
        rows.view = {x.data(), nullptr, nullptr, int64_t(x.shape(0)), int64_t(x.shape(1)),
                     int64_t(x.size()), x.stride(0), x.stride(1), holds<double>(x), false};
        return rows;
    }

    static Rows csr(any_in data, any_in indices, any_in indptr, int64_t n_features) {
        require(data.ndim() == 1 && indices.ndim() == 1 && indptr.ndim() == 1 &&
                    indptr.size() > 0 && indices.size() >= data.size() && n_features >= 0,
                "CSR rows are three one-dimensional arrays");
        require(holds<float>(data) || holds<double>(data), "rows are float32 or float64");
        require((holds<int32_t>(indices) && holds<int32_t>(indptr)) ||
                    (holds<int64_t>(indices) && holds<int64_t>(indptr)),
                "CSR indices are int32 or int64, the same for both");
        auto is_packed = [](const any_in& a) { return a.size() < 2 || a.stride(0) == 1; };
        require(is_packed(data) && is_packed(indices) && is_packed(indptr),
                "CSR arrays are contiguous");
        Rows rows{{}, data, indices, indptr};
        rows.view = {data.data(), indices.data(), indptr.data(), int64_t(indptr.size()) - 1,
                     n_features, int64_t(data.size()), 0, 0, holds<double>(data),
                     holds<int64_t>(indices)};
        return rows;
    }
};

// A model's arrays, kept alive.
struct Weights {
    oneof::Weights view;
    any_out weights;
    vector_out<double> scale;
    vector_out<int64_t> counters;
    std::optional<matrix_out<double>> moments;

    Weights(any_out weights_, vector_out<double> scale_, vector_out<int64_t> counters_,
            int64_t n_classes, bool has_intercept, bool is_averaged,
            std::optional<matrix_out<double>> moments_)
        : weights(weights_), scale(scale_), counters(counters_), moments(moments_) {
        const bool is_double = holds<double>(weights);
        require(is_double || holds<float>(weights), "weights are float32 or float64");
        require(scale.size() == 3 && counters.size() == 3, "scale and counters have three entries");
        require(n_classes > 0, "a model has a class");
        require(weights.ndim() == 2, "weights are two-dimensional");
        const int64_t stride = int64_t(weights.shape(1)) / (1 + is_averaged);
        require(oneof::is_stride(stride, n_classes, is_double ? 8 : 4) &&
                    weights.shape(1) == size_t(stride * (1 + is_averaged)) &&
                    weights.shape(0) >= size_t(has_intercept),
                "weights are aligned, contiguous and padded");
        require(weights.size() == 0 ||
                    (weights.stride(1) == 1 && weights.stride(0) == int64_t(weights.shape(1)) &&
                     reinterpret_cast<uintptr_t>(weights.data()) % oneof::kAlignment == 0),
                "weights are aligned, contiguous and padded");
        view = {weights.data(), scale.data(), counters.data(),
                int64_t(weights.shape(0)) - has_intercept, n_classes, stride, has_intercept,
                is_averaged, is_double, nullptr, nullptr};
        if (!moments) return;
        require(moments->shape(0) >= 1 && moments->shape(0) <= 2 &&
                    int64_t(moments->shape(1)) >= view.n_features,
                "moments have one or two numbers for each feature");
        if (moments->shape(0) == 2) view.mean = moments->data() + moments->shape(1);
        view.spread = moments->data();
    }
};

// Every index that a kernel follows is checked here or was by CandidateSets; rows by Rows.check.
oneof::Extras extras_of(const Weights& weights, const Rows& rows,
                        const std::optional<vector_in<int64_t>>& order) {
    require(weights.view.is_double == rows.view.is_double, "rows and weights differ in type");
    require(weights.view.n_features >= rows.view.n_features, "rows have more features than weights");
    oneof::Extras extras{nullptr, rows.view.n_rows, nullptr, nullptr, nullptr};
    if (order) {
        for (size_t i = 0; i < order->size(); ++i)
            require((*order)(i) >= 0 && (*order)(i) < rows.view.n_rows, "order names a missing row");
        extras.order = order->data();
        extras.n_rounds = int64_t(order->size());
    }
    return extras;
}

int64_t checked(int64_t result) {
    if (result == -2) throw std::bad_alloc();
    return result;
}

// Rows to learn, with all that goes beside them.
struct LearntRows {
    oneof::Candidates candidates;
    oneof::Extras extras;

    LearntRows(const Weights& weights, const Rows& rows, const vector_in<int64_t>& indptr,
               const vector_in<int32_t>& codes, const std::optional<vector_in<int64_t>>& order,
               const std::optional<vector_in<double>>& sample_weight,
               const std::optional<vector_out<int32_t>>& predictions)
        : candidates{indptr.data(), codes.data()}, extras(extras_of(weights, rows, order)) {
        require(int64_t(indptr.size()) == rows.view.n_rows + 1 &&
                    indptr(indptr.size() - 1) == int64_t(codes.size()),
                "a candidate set for each row");
        if (sample_weight) {
            require(int64_t(sample_weight->size()) == rows.view.n_rows, "a weight for each row");
            extras.sample_weight = sample_weight->data();
        }
        if (predictions) {
            require(int64_t(predictions->size()) == extras.n_rounds, "a prediction for each round");
            extras.predictions = predictions->data();
        }
    }
};

oneof::Extras scored_rows(const Weights& weights, const Rows& rows,
                          const std::optional<any_out>& scores,
                          const std::optional<vector_out<int32_t>>& predictions) {
    oneof::Extras extras = extras_of(weights, rows, std::nullopt);
    if (scores) {
        require(scores->ndim() == 2 && scores->dtype() == weights.weights.dtype() &&
                    int64_t(scores->shape(0)) == extras.n_rounds &&
                    int64_t(scores->shape(1)) == weights.view.n_classes &&
                    (scores->size() == 0 || (scores->stride(1) == 1 &&
                                             scores->stride(0) == weights.view.n_classes)),
                "room for a score of each row and class");
        extras.scores = scores->data();
    }
    if (predictions) {
        require(int64_t(predictions->size()) == extras.n_rounds, "a prediction for each row");
        extras.predictions = predictions->data();
    }
    return extras;
}

int64_t learn(const oneof::Learner& learner, const Weights& weights, const Rows& rows,
              vector_in<int64_t> indptr, vector_in<int32_t> codes,
              std::optional<vector_in<int64_t>> order,
              std::optional<vector_in<double>> sample_weight,
              std::optional<vector_out<int32_t>> predictions) {
    const LearntRows batch(weights, rows, indptr, codes, order, sample_weight, predictions);
    nb::gil_scoped_release release;
    return checked(
        chosen().learn(learner, weights.view, rows.view, batch.candidates, batch.extras));
}

int64_t score(const Weights& weights, const Rows& rows,
              std::optional<any_out> scores, std::optional<vector_out<int32_t>> predictions) {
    const oneof::Extras extras = scored_rows(weights, rows, scores, predictions);
    nb::gil_scoped_release release;
    return checked(chosen().score(weights.view, rows.view, extras));
}

// Members that learn the same rows, kept alive.
struct Team {
    oneof::Team view;
    std::vector<oneof::Learner> learners;
    std::vector<oneof::Weights> members;
    std::unique_ptr<bool[]> is_scaled;
    std::vector<Weights> kept;

    Team(const nb::list& learners_, const nb::list& members_, const nb::list& is_scaled_,
         Weights front, double rate)
        : is_scaled(new bool[members_.size()]) {
        require(members_.size() > 0 && learners_.size() == members_.size() &&
                    is_scaled_.size() == members_.size(),
                "a learner for each member");
        kept.reserve(members_.size() + 1);
        for (size_t a = 0; a < members_.size(); ++a) {
            const Weights& member = nb::cast<const Weights&>(members_[a]);
            const oneof::Weights &w = member.view, &first = kept.empty() ? w : kept[0].view;
            is_scaled[a] = nb::cast<bool>(is_scaled_[a]);
            require(w.n_classes == first.n_classes && w.stride == first.stride &&
                        w.n_features == front.view.n_features && w.is_double == front.view.is_double &&
                        !w.spread && (front.view.spread || !is_scaled[a]),
                    "members have the same features and classes");
            learners.push_back(nb::cast<const oneof::Learner&>(learners_[a]));
            members.push_back(w);
            kept.push_back(member);
        }
        kept.push_back(front);
        view = {int64_t(members.size()), learners.data(), members.data(), is_scaled.get(),
                front.view, rate, nullptr};
    }
};

// The first round that cannot be learnt, or -1; and the mistakes of the vote.
std::pair<int64_t, int64_t> learn_team(const Team& team, const Rows& rows, vector_in<int64_t> indptr,
                                       vector_in<int32_t> codes,
                                       std::optional<vector_in<int64_t>> order,
                                       std::optional<vector_in<double>> sample_weight,
                                       vector_out<int32_t> predictions) {
    const LearntRows batch(team.kept[0], rows, indptr, codes, order, sample_weight, predictions);
    int64_t n_mistakes = 0;
    oneof::Team view = team.view;
    view.n_mistakes = &n_mistakes;
    nb::gil_scoped_release release;
    const int64_t failed =
        checked(chosen().learn_team(view, rows.view, batch.candidates, batch.extras));
    return {failed, n_mistakes};
}

int64_t score_team(const Team& team, const Rows& rows, std::optional<any_out> scores,
                   std::optional<vector_out<int32_t>> predictions) {
    const oneof::Extras extras = scored_rows(team.kept[0], rows, scores, predictions);
    nb::gil_scoped_release release;
    return checked(chosen().score_team(team.view, rows.view, extras));
}

nb::tuple check(const Rows& rows) {
    oneof::Finding finding;
    {
        nb::gil_scoped_release release;
        finding = chosen().check(rows.view);
    }
    static const char* const names[] = {"", "not finite", "bad index", "not canonical"};
    return nb::make_tuple(names[int(finding.fault)], finding.row, finding.column, finding.largest);
}

// The one-row calls keep the GIL: taking it back would cost more than a round.
template <class F>
auto with_dict_row(const Weights& weights, nb::handle x, nb::handle columns, bool is_learning,
                   F&& f) {
    const oneof::Columns by(columns.ptr());
    auto by_type = [&]<class T>() {
        oneof::DictRow<T> row(x.ptr());
        const bool is_known = row.read(by, weights.view.n_features, is_learning);
        return f(row.view(weights.view.n_features), is_known);
    };
    return weights.view.is_double ? by_type.template operator()<double>()
                                  : by_type.template operator()<float>();
}

void refuse_overflow(int64_t result) {
    if (checked(result) >= 0) throw nb::value_error("the row's scores overflow: scale it down");
}

// The class predicted before learning; −1, and nothing is learnt, if a name or label is not known.
int32_t learn_one(const oneof::Learner& learner, const Weights& weights, nb::handle columns,
                  nb::handle labels, nb::handle x, nb::handle y, nb::handle weight) {
    require(PyDict_Check(labels.ptr()), "labels come as a dict of codes");
    const double w = PyFloat_AsDouble(weight.ptr());
    if (PyErr_Occurred()) throw nb::python_error();
    require(w >= 0 && w < __builtin_inf(), "w must be a finite number of at least 0");
    std::vector<int32_t> codes;
    codes.reserve(16);
    const bool is_known_label = oneof::append_codes(codes, labels.ptr(), y.ptr());
    require(codes.empty() || codes.back() < weights.view.n_classes, "a code for each class");
    return with_dict_row(weights, x, columns, true, [&](const oneof::Rows& rows, bool is_known) {
        if (!is_known || !is_known_label) return -1;
        const int64_t indptr[] = {0, int64_t(codes.size())};
        int32_t prediction = -1;
        const oneof::Extras extras{nullptr, 1, &w, &prediction, nullptr};
        refuse_overflow(
            chosen().learn(learner, weights.view, rows, {indptr, codes.data()}, extras));
        return prediction;
    });
}

int32_t predict_one(const Weights& weights, nb::handle columns, nb::handle x) {
    return with_dict_row(weights, x, columns, false, [&](const oneof::Rows& rows, bool) {
        int32_t prediction = -1;
        refuse_overflow(
            chosen().score(weights.view, rows, {nullptr, 1, nullptr, &prediction, nullptr}));
        return prediction;
    });
}

nb::list scores_one(const Weights& weights, nb::handle columns, nb::handle x) {
    return with_dict_row(weights, x, columns, false, [&](const oneof::Rows& rows, bool) {
        std::vector<char> room(size_t(weights.view.n_classes * (rows.is_double ? 8 : 4)));
        refuse_overflow(
            chosen().score(weights.view, rows, {nullptr, 1, nullptr, nullptr, room.data()}));
        nb::list scores;
        for (int64_t k = 0; k < weights.view.n_classes; ++k)
            scores.append(rows.is_double ? reinterpret_cast<double*>(room.data())[k]
                                         : double(reinterpret_cast<float*>(room.data())[k]));
        return scores;
    });
}

template <class T>
nb::object as_array(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// The packed codes of ys[start:], up to the first whose codes are not all known.
nb::tuple codes_many(nb::dict labels, nb::list ys, size_t start) {
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> codes;
    for (size_t i = start; i < ys.size(); ++i) {
        const nb::object y = ys[i];
        if (!oneof::append_codes(codes, labels.ptr(), y.ptr())) break;
        indptr.push_back(int64_t(codes.size()));
    }
    return nb::make_tuple(as_array(std::move(indptr)), as_array(std::move(codes)));
}

// The column of a feature's name among n, and the sign of its values there.
std::pair<int32_t, int> hashed_place(nb::handle name, int64_t n) {
    const nb::int_ columns(n);
    const oneof::Place place = oneof::Columns(columns.ptr()).find(name.ptr());
    return {place.column, place.is_negative ? -1 : 1};
}

}  // namespace

NB_MODULE(_kernels, m) {
    m.attr("isa") = chosen().isa;
    nb::list builds;
    for (const auto* b : runnable()) builds.append(b->isa);
    m.attr("builds") = nb::tuple(builds);
    m.attr("alignment") = oneof::kAlignment;
    m.def("padded", &oneof::padded, "n_classes"_a, "itemsize"_a);

    nb::enum_<oneof::Loss>(m, "Loss")
        .value("avg", oneof::Loss::avg)
        .value("max", oneof::Loss::max)
        .value("soft", oneof::Loss::soft)
        .value("log", oneof::Loss::log);
    nb::enum_<oneof::Rule>(m, "Rule")
        .value("perceptron", oneof::Rule::perceptron)
        .value("pegasos", oneof::Rule::pegasos)
        .value("passive_aggressive", oneof::Rule::passive_aggressive)
        .value("gradient", oneof::Rule::gradient);
    nb::enum_<oneof::Variant>(m, "Variant")
        .value("pa", oneof::Variant::pa)
        .value("pa_1", oneof::Variant::pa_1)
        .value("pa_2", oneof::Variant::pa_2);
    nb::class_<oneof::Learner>(m, "Learner")
        .def("__init__",
             [](oneof::Learner* self, oneof::Loss loss, oneof::Rule rule, double beta, double eta0,
                bool update, double alpha, bool shrink, double C, oneof::Variant variant,
                bool exact, bool step) {
                 new (self) oneof::Learner{loss, rule, beta, eta0, update, alpha, shrink,
                                           C, variant, exact, step};
             },
             "loss"_a, "rule"_a, nb::kw_only(), "beta"_a = 1.0, "eta0"_a = 1.0,
             "update"_a = false, "alpha"_a = 0.0, "shrink"_a = false, "C"_a = 1.0,
             "variant"_a = oneof::Variant::pa, "exact"_a = false, "step"_a = false);

    nb::class_<Rows>(m, "Rows")
        .def_static("dense", &Rows::dense, "X"_a.noconvert())
        .def_static("csr", &Rows::csr, "data"_a.noconvert(), "indices"_a.noconvert(),
                    "indptr"_a.noconvert(), "n_features"_a)
        .def("check", &check)
        .def("__len__", [](const Rows& rows) { return rows.view.n_rows; });
    nb::class_<Weights>(m, "Weights")
        .def(nb::init<any_out, vector_out<double>, vector_out<int64_t>, int64_t, bool, bool,
                      std::optional<matrix_out<double>>>(),
             "weights"_a.noconvert(), "scale"_a.noconvert(), "counters"_a.noconvert(),
             "n_classes"_a, "has_intercept"_a, "is_averaged"_a,
             "moments"_a.noconvert().none() = nb::none());
    m.def("learn", &learn, "learner"_a, "weights"_a, "rows"_a, "indptr"_a.noconvert(),
          "codes"_a.noconvert(), nb::kw_only(), "order"_a.noconvert().none() = nb::none(),
          "sample_weight"_a.noconvert().none() = nb::none(),
          "predictions"_a.noconvert().none() = nb::none());
    m.def("score", &score, "weights"_a, "rows"_a, nb::kw_only(),
          "scores"_a.noconvert().none() = nb::none(),
          "predictions"_a.noconvert().none() = nb::none());
    nb::class_<Team>(m, "Team")
        .def(nb::init<nb::list, nb::list, nb::list, Weights, double>(), "learners"_a, "members"_a,
             "is_scaled"_a, "front"_a, "rate"_a);
    m.def("learn_team", &learn_team, "team"_a, "rows"_a, "indptr"_a.noconvert(),
          "codes"_a.noconvert(), nb::kw_only(), "order"_a.noconvert().none() = nb::none(),
          "sample_weight"_a.noconvert().none() = nb::none(), "predictions"_a.noconvert());
    m.def("score_team", &score_team, "team"_a, "rows"_a, nb::kw_only(),
          "scores"_a.noconvert().none() = nb::none(),
          "predictions"_a.noconvert().none() = nb::none());
    m.def("learn_one", &learn_one, "learner"_a, "weights"_a, "columns"_a, "labels"_a,
          "x"_a.none(), "y"_a.none(), "weight"_a.none());
    m.def("predict_one", &predict_one, "weights"_a, "columns"_a, "x"_a.none());
    m.def("scores_one", &scores_one, "weights"_a, "columns"_a, "x"_a.none());
    m.def("codes_many", &codes_many, "labels"_a, "ys"_a, "start"_a);
    m.def("hashed_place", &hashed_place, "name"_a.none(), "n"_a);
    bind_parsers(m);
}
