// One row as Python has it: a dict of features, a label or a set of labels. Python's objects in, the
// kernels' views out; a name or label without a number is reported, never given one.
#pragma once
#include <nanobind/nanobind.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "hash.hpp"
#include "kernels.hpp"

namespace oneof {

namespace nb = nanobind;

// Room for n things; on the stack, if they are few.
template <class T>
class Room {
public:
    explicit Room(int64_t n) : many_(n > kFew ? new T[size_t(n)] : nullptr), n_(n) {}
    T* data() { return many_ ? many_.get() : few_; }
    T& operator[](int64_t i) { return data()[i]; }
    int64_t size() const { return n_; }

private:
    static constexpr int64_t kFew = 256;
    T few_[kFew];
    std::unique_ptr<T[]> many_;
    int64_t n_;
};

template <class... Parts>
[[noreturn]] void refuse(const char* format, Parts... parts) {
    PyErr_Format(PyExc_ValueError, format, parts...);
    throw nb::python_error();
}

// Names are tuples of tuples of … at most as deep as Python's own recursion.
struct Depth {
    Depth() { if (Py_EnterRecursiveCall(" in a feature's name")) throw nb::python_error(); }
    ~Depth() { Py_LeaveRecursiveCall(); }
    Depth(const Depth&) = delete;
};

// Strings are hashed as UTF-8, integers as their decimal digits, tuples part by part.
inline uint32_t hash_of(PyObject* name, uint32_t seed) {
    auto of_text = [seed](PyObject* text) {
        Py_ssize_t n = 0;
        const char* bytes = PyUnicode_AsUTF8AndSize(text, &n);
        if (!bytes) throw nb::python_error();
        return murmur3(bytes, n, seed);
    };
    if (PyUnicode_Check(name)) return of_text(name);
    if (PyTuple_Check(name)) {
        const Depth depth;
        uint32_t hash = murmur3("(", 1, seed);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(name); ++i)
            hash = hash_of(PyTuple_GET_ITEM(name, i), hash);
        return murmur3(")", 1, hash);
    }
    if (!PyIndex_Check(name))
        refuse("%.200R names no feature: strings, integers and tuples of these do", name);
    const nb::object digits = nb::steal(PyNumber_ToBase(name, 10));
    if (!digits) throw nb::python_error();
    return of_text(digits.ptr());
}

// Where features' weights lie: by name, a dict of columns; or by hash, a number of columns.
class Columns {
public:
    explicit Columns(PyObject* by) : index_(PyDict_Check(by) ? by : nullptr) {
        if (!index_) n_hashed_ = PyLong_AsLongLong(by);
        if (PyErr_Occurred()) throw nb::python_error();
        if (!index_ && (n_hashed_ < 1 || n_hashed_ > INT32_MAX))
            throw nb::value_error("features are hashed to 1 to 2147483647 columns");
    }
    bool are_hashed() const { return !index_; }

    // A column of −1 is none.
    Place find(PyObject* name) const {
        if (!index_) return place_of(hash_of(name, 0), n_hashed_);
        PyObject* column = PyDict_GetItemWithError(index_, name);
        if (!column && PyErr_Occurred()) throw nb::python_error();
        return {column ? int32_t(PyLong_AsLong(column)) : -1, false};
    }

private:
    PyObject* index_;
    int64_t n_hashed_ = 0;
};

template <class T>
T finite_number(PyObject* name, PyObject* value) {
    const double exact = PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value)
                                                   : PyFloat_AsDouble(value);
    if (exact == -1.0 && PyErr_Occurred()) {
        const bool is_large = PyErr_ExceptionMatches(PyExc_OverflowError);
        if (!is_large && !PyErr_ExceptionMatches(PyExc_TypeError) &&
            !PyErr_ExceptionMatches(PyExc_ValueError))
            throw nb::python_error();
        PyErr_Clear();
        if (is_large) refuse("feature %.200R is too large: scale it down", name);
        refuse("feature %.200R is %.200R, not a number: leave it out, or encode it", name, value);
    }
    const T x = T(exact);
    if (!(__builtin_fabs(double(x)) < __builtin_inf()))
        refuse("feature %.200R is %s: leave it out, or impute the value", name,
               exact != exact ? "NaN" : "infinite");
    return x;
}

// A dict of features as pairs of column and value: columns rise, no value is 0.
template <class T>
class DictRow {
public:
    explicit DictRow(PyObject* x)
        : dict_(PyDict_Check(x) ? nb::borrow(x) : copy_of(x)), x_(PyDict_GET_SIZE(dict_.ptr())),
          j_(x_.size()) {}

    // False if it is to be learnt from and a feature is not known; otherwise these are left out.
    bool read(const Columns& columns, int64_t n_columns, bool is_learning) {
        PyObject *name, *value;
        Py_ssize_t at = 0;
        bool is_rising = true;
        while (PyDict_Next(dict_.ptr(), &at, &name, &value)) {
            // Python code may run, and drop them, unless they are what they mostly are.
            const bool is_plain = PyUnicode_CheckExact(name) && PyFloat_CheckExact(value);
            const nb::object kept_name = is_plain ? nb::object() : nb::borrow(name);
            const nb::object kept_value = is_plain ? nb::object() : nb::borrow(value);
            const T v = finite_number<T>(name, value);
            if (v == 0) continue;
            const Place place = columns.find(name);
            if (place.column < 0 && is_learning) return false;
            if (place.column < 0) continue;
            if (place.column >= n_columns) throw nb::value_error("a column has no weights");
            if (n_ == x_.size()) throw nb::value_error("the row of features changed meanwhile");
            x_[n_] = place.is_negative ? -v : v;
            j_[n_] = place.column;
            is_rising &= n_ == 0 || j_[n_ - 1] < j_[n_];
            ++n_;
        }
        if (!is_rising && n_columns <= 64 * n_) sort_by_bits(n_columns);
        else if (!is_rising) sort_by_comparing();
        return true;
    }

    oneof::Rows view(int64_t n_features) {
        ends_[1] = static_cast<int32_t>(n_);
        return {x_.data(), j_.data(), ends_, 1, n_features, n_, 0, 0, sizeof(T) == 8, false};
    }

private:
    static nb::object copy_of(PyObject* x) {
        nb::object dict = nb::steal(PyDict_New());
        if (!PyMapping_Check(x) || PyDict_Update(dict.ptr(), x)) {
            PyErr_Clear();
            refuse("a row of features is a dict, not %.200R", x);
        }
        return dict;
    }

    // Features that share a column are summed in the dict's order, here and below.
    void sort_by_bits(int64_t n_columns) {
        const int64_t n_words = (n_columns + 63) / 64;
        Room<uint64_t> is_there(n_words);
        std::fill_n(is_there.data(), n_words, 0);
        Room<T> sum(n_columns);
        for (int64_t i = 0; i < n_; ++i) {
            const int32_t column = j_[i];
            uint64_t& word = is_there[column / 64];
            const uint64_t bit = uint64_t(1) << (column % 64);
            sum[column] = word & bit ? sum[column] + x_[i] : x_[i];
            word |= bit;
        }
        n_ = 0;
        for (int64_t w = 0; w < n_words; ++w)
            for (uint64_t bits = is_there[w]; bits; bits &= bits - 1) {
                const int64_t column = 64 * w + __builtin_ctzll(bits);
                append(column, sum[column]);
            }
    }

    void sort_by_comparing() {
        Room<uint64_t> order(n_);
        Room<T> unsorted(n_);
        for (int64_t i = 0; i < n_; ++i) {
            order[i] = uint64_t(j_[i]) << 32 | uint64_t(i);
            unsorted[i] = x_[i];
        }
        const int64_t n = n_;
        std::sort(order.data(), order.data() + n);
        n_ = 0;
        for (int64_t i = 0; i < n; ) {
            const uint64_t column = order[i] >> 32;
            T sum = unsorted[uint32_t(order[i])];
            while (++i < n && order[i] >> 32 == column) sum += unsorted[uint32_t(order[i])];
            append(int64_t(column), sum);
        }
    }

    void append(int64_t column, T x) {
        x_[n_] = x;
        j_[n_] = static_cast<int32_t>(column);
        n_ += x != 0;
    }

    nb::object dict_;
    Room<T> x_;
    Room<int32_t> j_;
    int64_t n_ = 0;
    int32_t ends_[2] = {0, 0};
};

// The code of a label; −1 if it has none.
inline int32_t code_of(PyObject* labels, PyObject* label) {
    PyObject* code = PyDict_GetItemWithError(labels, label);
    if (code) return int32_t(PyLong_AsLong(code));
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();   // what cannot be hashed is no label
    return -1;
}

// Appends the codes of a label or of a set, a list or a tuple of labels, rising and each once.
// False, and nothing is appended, if there are none or one is not known.
inline bool append_codes(std::vector<int32_t>& codes, PyObject* labels, PyObject* y) {
    const size_t before = codes.size();
    if (!PyAnySet_Check(y) && !PyList_Check(y) && !PyTuple_Check(y)) {
        codes.push_back(code_of(labels, y));
    } else {
        const nb::object members = nb::steal(PyObject_GetIter(y));
        if (!members) throw nb::python_error();
        while (const nb::object label = nb::steal(PyIter_Next(members.ptr())))
            codes.push_back(code_of(labels, label.ptr()));
        if (PyErr_Occurred()) throw nb::python_error();
    }
    const auto first = codes.begin() + int64_t(before);
    std::sort(first, codes.end());
    codes.erase(std::unique(first, codes.end()), codes.end());
    const bool is_known = codes.size() > before && codes[before] >= 0;
    if (!is_known) codes.resize(before);
    return is_known;
}

}  // namespace oneof
