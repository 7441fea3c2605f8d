// What readers compute, as Python sees it: bytes in, arrays out, the GIL released. No parsing.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings_parse.hpp"
#include "columns.hpp"
#include "csv.hpp"
#include "svmlight.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Text = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr const char* kFaults[] = {
    "", "no_label", "empty_label", "bad_label", "not_utf8", "colon_in_label", "unknown_label",
    "many_labels", "two_truths", "bad_truth", "qid", "bad_feature", "bad_index", "zero_index",
    "large_index", "unknown_feature", "unordered", "repeated", "bad_number", "not_finite",
    "large_number", "null_byte", "long_line", "few_fields", "many_fields", "bad_quote",
    "empty_number", "control_byte",
};
static_assert(std::size(kFaults) == size_t(oneof::RowFault::control_byte) + 1);

void require(bool condition, const char* what) {
    if (!condition) throw nb::value_error(what);
}

template <class T>
nb::object given_away(oneof::Buffer<T>& buffer) {
    const auto size = static_cast<size_t>(buffer.size());
    T* items = buffer.release();
    nb::capsule owner(items, [](void* p) noexcept { oneof::recycling::give(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(items, {size}, owner));
}

oneof::text::Vocabulary vocabulary(const nb::list& classes, bool is_integer, int64_t most) {
    return {nb::cast<std::vector<std::string>>(classes), is_integer, most};
}

template <class T>
void bind_rows(nb::module_& m, const char* name) {
    using Parser = oneof::RowParser<T>;
    nb::class_<Parser>(m, name)
        .def("parse",
             [](Parser& self, const Text& text, int64_t start, int64_t stop, int64_t max_rows,
                int64_t max_values) {
                 require(0 <= start && start <= stop && stop <= int64_t(text.size()) &&
                             (start == stop || text(size_t(stop) - 1) == '\n'),
                         "text is whole lines");
                 require(max_values < int64_t(1) << 30, "a batch has fewer than 2^30 values");
                 const char* first = reinterpret_cast<const char*>(text.data());
                 nb::gil_scoped_release release;
                 return self.parse(first + start, first + stop, max_rows, max_values) - first;
             },
             "text"_a.noconvert(), "start"_a, "stop"_a, "max_rows"_a, "max_values"_a)
        .def_prop_ro("fault",
                     [](const Parser& self) {
                         const std::string& text = self.fault_text;
                         return nb::make_tuple(kFaults[int(self.fault)], self.fault_field,
                                               nb::bytes(text.data(), text.size()));
                     })
        .def("take",
             [](Parser& self) {
                 auto& batch = self.batch;
                 nb::object truth = nb::none();
                 if (self.has_truth) truth = given_away(batch.truth);
                 nb::tuple parts =
                     nb::make_tuple(given_away(batch.values), given_away(batch.indices),
                                    given_away(batch.indptr), given_away(batch.sets),
                                    given_away(batch.codes), truth);
                 self.start_batch();
                 return parts;
             })
        .def_prop_ro("names", [](const Parser& self) { return self.vocabulary.names(); })
        .def_prop_ro("n_rows", [](const Parser& self) { return self.batch.n_rows(); })
        .def_ro("n_lines", &Parser::n_lines)
        .def_ro("width", &Parser::width)
        .def_ro("least", &Parser::least);
}

template <class T>
void bind_svmlight(nb::module_& m, const char* name) {
    using Parser = oneof::SvmlightParser<T>;
    nb::class_<Parser, oneof::RowParser<T>>(m, name)
        .def("__init__",
             [](Parser* self, const nb::list& classes, bool is_integer, bool is_labelled,
                bool is_collecting, int64_t most_classes, int64_t max_line, int64_t index_base,
                int64_t n_features, bool ignores_new) {
                 new (self) Parser(vocabulary(classes, is_integer, most_classes),
                                   {is_labelled, is_collecting, max_line},
                                   {index_base, n_features, ignores_new});
             },
             "classes"_a, nb::kw_only(), "is_integer"_a, "is_labelled"_a, "is_collecting"_a,
             "most_classes"_a, "max_line"_a, "index_base"_a, "n_features"_a, "ignores_new"_a);
}

// Columns as (kind, place, name); kinds in the order of oneof::Field.
std::vector<oneof::CsvColumn> csv_columns(const nb::list& columns, int64_t width, bool is_hashed) {
    std::vector<oneof::CsvColumn> made;
    for (nb::handle column : columns) {
        const auto field = nb::cast<int>(column[0]);
        const auto place = nb::cast<int64_t>(column[1]);
        require(field >= 0 && field <= int(oneof::Field::hashed_word), "there are six kinds");
        const auto kind = static_cast<oneof::Field>(field);
        require(kind != oneof::Field::number || (!is_hashed && place >= 0 && place < width),
                "a number's place is a column");
        require(kind < oneof::Field::hashed_number || is_hashed, "these columns are not hashed");
        made.push_back({kind, place, nb::cast<std::string>(column[2])});
    }
    return made;
}

template <class T>
void bind_csv(nb::module_& m, const char* name) {
    using Parser = oneof::CsvParser<T>;
    nb::class_<Parser, oneof::RowParser<T>>(m, name)
        .def("__init__",
             [](Parser* self, const nb::list& classes, bool is_integer, bool is_labelled,
                bool is_collecting, int64_t most_classes, int64_t max_line,
                const std::string& delimiter, int64_t width, bool is_hashed) {
                 require(delimiter.size() == 1 && width >= 0 && width <= INT32_MAX &&
                             (!is_hashed || width > 0), "a delimiter and a width");
                 new (self) Parser(vocabulary(classes, is_integer, most_classes),
                                   {is_labelled, is_collecting, max_line},
                                   {{}, delimiter[0], width, is_hashed});
             },
             "classes"_a, nb::kw_only(), "is_integer"_a, "is_labelled"_a, "is_collecting"_a,
             "most_classes"_a, "max_line"_a, "delimiter"_a, "width"_a, "is_hashed"_a)
        .def("set_columns", [](Parser& self, const nb::list& columns) {
            self.set_columns(csv_columns(columns, self.width_of_rows(), self.is_hashed()));
        });
}

template <class T>
using Items = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
void bind_columns(nb::module_& m) {
    m.def("sparse_width",
          [](const Items<T>& values, const Items<int32_t>& indices, const Items<int32_t>& indptr,
             int64_t limit) {
              const int32_t* ends = indptr.data();
              const size_t n = indptr.size();
              require(n > 0 && ends[0] == 0 && values.size() == indices.size() &&
                          size_t(ends[n - 1]) == indices.size() && std::is_sorted(ends, ends + n),
                      "rows follow each other");
              nb::gil_scoped_release release;
              return oneof::sparse_width(values.data(), indices.data(), ends, int64_t(n) - 1, limit);
          },
          "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "limit"_a);
}

}  // namespace

void bind_parsers(nb::module_& m) {
    bind_columns<float>(m);
    bind_columns<double>(m);
    bind_rows<float>(m, "RowParser32");
    bind_rows<double>(m, "RowParser64");
    bind_csv<float>(m, "CsvParser32");
    bind_csv<double>(m, "CsvParser64");
    bind_svmlight<float>(m, "SvmlightParser32");
    bind_svmlight<double>(m, "SvmlightParser64");
    m.def("number", [](const std::string& text) -> nb::object {
        const std::string line = text + "\n";
        double value = 0;
        const char* stop = oneof::text::number(line.data(), line.data() + line.size(), value);
        if (stop != line.data() + text.size()) return nb::none();
        return nb::float_(value);
    });
    m.def("whole_number", [](const std::string& word) { return oneof::text::whole(word); });
    m.def("is_utf8", [](nb::bytes s) { return oneof::text::is_utf8({s.c_str(), s.size()}); });
}
