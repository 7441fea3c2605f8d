// Arrays in, names out: checks the shapes that memory safety rests on, chooses the build for this
// machine, releases the GIL. No arithmetic.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

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

    Weights(any_out weights_, vector_out<double> scale_, vector_out<int64_t> counters_,
            int64_t n_classes, bool has_intercept, bool is_averaged)
        : weights(weights_), scale(scale_), counters(counters_) {
        const bool is_double = holds<double>(weights);
        require(is_double || holds<float>(weights), "weights are float32 or float64");
        require(scale.size() == 3 && counters.size() == 3, "scale and counters have three entries");
        require(n_classes > 0, "a model has a class");
        require(weights.ndim() == 2, "weights are two-dimensional");
        const int64_t stride = int64_t(weights.shape(1)) / (1 + is_averaged);
        require(oneof::is_stride(stride, n_classes, is_double ? 8 : 4) &&
                    weights.shape(1) == size_t(stride * (1 + is_averaged)) &&
                    weights.stride(1) == 1 && weights.stride(0) == int64_t(weights.shape(1)) &&
                    weights.shape(0) >= size_t(has_intercept) &&
                    reinterpret_cast<uintptr_t>(weights.data()) % oneof::kAlignment == 0,
                "weights are aligned, contiguous and padded");
        view = {weights.data(), scale.data(), counters.data(),
                int64_t(weights.shape(0)) - has_intercept, n_classes, stride, has_intercept,
                is_averaged, is_double};
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

int64_t learn(const oneof::Learner& learner, const Weights& weights, const Rows& rows,
              vector_in<int64_t> indptr, vector_in<int32_t> codes,
              std::optional<vector_in<int64_t>> order,
              std::optional<vector_in<double>> sample_weight,
              std::optional<vector_out<int32_t>> predictions) {
    oneof::Extras extras = extras_of(weights, rows, order);
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
    const oneof::Candidates candidates{indptr.data(), codes.data()};
    nb::gil_scoped_release release;
    return checked(chosen().learn(learner, weights.view, rows.view, candidates, extras));
}

int64_t score(const Weights& weights, const Rows& rows,
              std::optional<any_out> scores, std::optional<vector_out<int32_t>> predictions) {
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
    nb::gil_scoped_release release;
    return checked(chosen().score(weights.view, rows.view, extras));
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
        .value("max", oneof::Loss::max);
    nb::enum_<oneof::Rule>(m, "Rule")
        .value("perceptron", oneof::Rule::perceptron)
        .value("pegasos", oneof::Rule::pegasos);
    nb::class_<oneof::Learner>(m, "Learner")
        .def("__init__",
             [](oneof::Learner* self, oneof::Loss loss, oneof::Rule rule, double eta0, bool update,
                double alpha, bool shrink) {
                 new (self) oneof::Learner{loss, rule, eta0, update, alpha, shrink};
             },
             "loss"_a, "rule"_a, nb::kw_only(), "eta0"_a = 1.0, "update"_a = false,
             "alpha"_a = 1.0, "shrink"_a = false);

    nb::class_<Rows>(m, "Rows")
        .def_static("dense", &Rows::dense, "X"_a.noconvert())
        .def_static("csr", &Rows::csr, "data"_a.noconvert(), "indices"_a.noconvert(),
                    "indptr"_a.noconvert(), "n_features"_a)
        .def("check", &check)
        .def("__len__", [](const Rows& rows) { return rows.view.n_rows; });
    nb::class_<Weights>(m, "Weights")
        .def(nb::init<any_out, vector_out<double>, vector_out<int64_t>, int64_t, bool, bool>(),
             "weights"_a.noconvert(), "scale"_a.noconvert(), "counters"_a.noconvert(),
             "n_classes"_a, "has_intercept"_a, "is_averaged"_a);
    m.def("learn", &learn, "learner"_a, "weights"_a, "rows"_a, "indptr"_a.noconvert(),
          "codes"_a.noconvert(), nb::kw_only(), "order"_a.noconvert().none() = nb::none(),
          "sample_weight"_a.noconvert().none() = nb::none(),
          "predictions"_a.noconvert().none() = nb::none());
    m.def("score", &score, "weights"_a, "rows"_a, nb::kw_only(),
          "scores"_a.noconvert().none() = nb::none(),
          "predictions"_a.noconvert().none() = nb::none());
}
