// Lines of CSV: fields between delimiters, quoted where they hold one. Everything is checked.
#pragma once
#include "hash.hpp"
#include "parse.hpp"

namespace oneof {

// What a column is. A number or a word that is hashed goes to a column of its name's hash.
enum class Field : int { ignored, label, truth, number, hashed_number, hashed_word };

struct CsvColumn {
    Field field;
    int64_t place;        // a number's column among the features
    std::string name;     // of a hashed feature
};

struct CsvOptions {
    std::vector<CsvColumn> columns;
    char delimiter;
    int64_t width;        // columns of the features; of the hash if `is_hashed`
    bool is_hashed;
};

// Dense rows of `width` values or, hashed, sparse ones.
template <class T>
class CsvParser : public RowParser<T> {
public:
    CsvParser(text::Vocabulary classes, const ParseOptions& options, const CsvOptions& csv)
        : RowParser<T>(std::move(classes), options), csv_(csv) {}

    int64_t width_of_rows() const { return csv_.width; }
    bool is_hashed() const { return csv_.is_hashed; }
    // Another file may have its columns in another order.
    void set_columns(const std::vector<CsvColumn>& columns) { csv_.columns = columns; }

private:
    using Base = RowParser<T>;
    using Base::batch, Base::code_of, Base::end, Base::is_end, Base::keep, Base::line,
        Base::options, Base::refuse;

    bool is_blank(char c) const { return c == ' ' || (c == '\t' && csv_.delimiter != '\t'); }
    bool ends_field(const char* p) const { return *p == csv_.delimiter || is_end(p); }

    const char* row(const char* p) override {
        const char* start = p;
        while (is_blank(*start)) ++start;
        if (is_end(start)) return start + (*start == '\r') + 1;
        truth_ = -1;
        pairs_.clear();
        if (!csv_.is_hashed)
            for (int64_t j = 0; j < csv_.width; ++j) batch.values.push(T(0));
        const size_t n = csv_.columns.size();
        for (size_t i = 0;; ++i, ++p) {
            this->fault_field = static_cast<int64_t>(i);
            if (i == n) return refuse(RowFault::many_fields, line, line);
            if (!(p = field(p, csv_.columns[i]))) return nullptr;
            if (is_end(p)) {
                if (i + 1 == n) break;
                this->fault_field = static_cast<int64_t>(i) + 1;
                return refuse(RowFault::few_fields, line, line);
            }
        }
        p += *p == '\r';
        if (p - line > options.max_line) return refuse(RowFault::long_line, line, line);
        if (csv_.is_hashed && !merge()) return nullptr;
        keep(truth_);
        return p + 1;
    }

    // Returns the end of the field, which is at a delimiter or the line's end; null if refused.
    const char* field(const char* p, const CsvColumn& column) {
        while (is_blank(*p)) ++p;
        const bool is_number = column.field == Field::number || column.field == Field::hashed_number;
        if (is_number && *p != '"') {
            double value = 0;
            const char* stop = text::number(p, end, value);
            if (stop) {
                const char* const last = stop;
                while (is_blank(*stop)) ++stop;
                if (ends_field(stop)) return take(column, value, p, last) ? stop : nullptr;
            }
        }
        std::string_view held;
        p = *p == '"' ? quoted(p, held) : plain(p, held);
        if (!p) return nullptr;
        return take(column, held) ? p : nullptr;
    }

    // A field without quotes; blanks around it do not count.
    const char* plain(const char* p, std::string_view& held) {
        const char* const start = p;
        while (!ends_field(p)) {
            const auto c = static_cast<unsigned char>(*p);
            if (c == 0) return refuse(RowFault::null_byte, p, p + 1);
            if (c == '"') return refuse(RowFault::bad_quote, start, p + 1);
            if (c < ' ' && c != '\t') return refuse(RowFault::control_byte, start, p + 1);
            ++p;
        }
        const char* stop = p;
        while (stop > start && is_blank(stop[-1])) --stop;
        held = {start, static_cast<size_t>(stop - start)};
        return p;
    }

    // A field in quotes, where "" is one quote. It must end on its line: a stray quote would
    // swallow all that follows.
    const char* quoted(const char* p, std::string_view& held) {
        const char* const start = p++;
        unquoted_.clear();
        for (;; ++p) {
            if (*p == '\n') return refuse(RowFault::bad_quote, start, p);
            if (*p == 0) return refuse(RowFault::null_byte, p, p + 1);
            if (static_cast<unsigned char>(*p) < ' ' && *p != '\t')
                return refuse(RowFault::control_byte, start, p + 1);
            if (*p == '"' && *++p != '"') break;
            unquoted_ += *p;
        }
        while (is_blank(*p)) ++p;
        if (!ends_field(p)) return refuse(RowFault::bad_quote, start, p + (*p != '\n'));
        held = unquoted_;
        return p;
    }

    bool take(const CsvColumn& column, double value, const char* first, const char* last) {
        const T rounded = static_cast<T>(value);
        if (std::isinf(rounded)) return refuse(RowFault::large_number, first, last) != nullptr;
        if (column.field == Field::number) row_values()[column.place] = rounded;
        else add(column.name, rounded);
        return true;
    }

    bool take(const CsvColumn& column, std::string_view held) {
        auto fails = [&](RowFault kind) {
            return refuse(kind, held.data(), held.data() + held.size()) != nullptr;
        };
        switch (column.field) {
            case Field::ignored: return true;
            case Field::label: return labels(held);
            case Field::truth:
                if (held.empty() || !options.is_labelled) return true;
                if (!text::is_utf8(held)) return fails(RowFault::not_utf8);
                truth_ = code_of(held);
                return truth_ >= 0;
            case Field::hashed_word:
                if (!text::is_utf8(held)) return fails(RowFault::not_utf8);
                name_ = column.name;
                name_ += '=';
                name_ += held;
                add(name_, T(1));
                return true;
            case Field::number:
            case Field::hashed_number: break;
        }
        if (held.empty()) return fails(RowFault::empty_number);
        const std::string number = std::string(held) + "\n";
        double value = 0;
        const char* const first = number.data();
        const char* const stop = text::number(first, first + number.size(), value);
        if (stop == first + held.size())
            return take(column, value, held.data(), held.data() + held.size());
        const char* p = held.data() + (held[0] == '-' || held[0] == '+');
        const size_t rest = held.size() - static_cast<size_t>(p - held.data());
        auto starts = [&](const char* word) {
            return rest >= 3 && (p[0] | 32) == word[0] && (p[1] | 32) == word[1] &&
                   (p[2] | 32) == word[2];
        };
        return fails(starts("nan") || starts("inf") ? RowFault::not_finite : RowFault::bad_number);
    }

    // Candidates are separated by bars; blanks around them do not count.
    bool labels(std::string_view held) {
        if (!options.is_labelled) return true;
        auto fails = [&](RowFault kind) {
            return refuse(kind, held.data(), held.data() + held.size()) != nullptr;
        };
        if (held.empty()) return fails(RowFault::no_label);
        if (!text::is_utf8(held)) return fails(RowFault::not_utf8);
        for (size_t start = 0; start <= held.size();) {
            const size_t stop = std::min(held.find('|', start), held.size());
            std::string_view name = held.substr(start, stop - start);
            while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
            while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
            if (name.empty()) return fails(RowFault::empty_label);
            const int32_t code = code_of(name);
            if (code < 0) return false;
            batch.codes.push(code);
            start = stop + 1;
        }
        return true;
    }

    T* row_values() { return batch.values.begin() + batch.indptr.end()[-1]; }

    void add(std::string_view name, T value) {
        const Place place =
            place_of(murmur3(name.data(), static_cast<int64_t>(name.size()), 0), csv_.width);
        pairs_.push_back({place.column, place.is_negative ? -value : value});
    }

    // Sorts the hashed features; those that meet in a column add up, in the order of the columns.
    bool merge() {
        std::stable_sort(pairs_.begin(), pairs_.end(),
                         [](const Pair& a, const Pair& b) { return a.column < b.column; });
        for (size_t i = 0; i < pairs_.size();) {
            T sum = 0;
            const int32_t column = pairs_[i].column;
            for (; i < pairs_.size() && pairs_[i].column == column; ++i) sum += pairs_[i].value;
            if (std::isinf(sum)) return refuse(RowFault::large_number, line, line) != nullptr;
            batch.indices.push(column);
            batch.values.push(sum);
        }
        return true;
    }

    struct Pair {
        int32_t column;
        T value;
    };
    CsvOptions csv_;
    int32_t truth_ = -1;
    std::vector<Pair> pairs_;
    std::string unquoted_, name_;
};

}  // namespace oneof
