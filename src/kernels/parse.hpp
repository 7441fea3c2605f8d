// Lines of svmlight text to packed rows: everything is checked, a bad row leaves no trace. No files,
// no sentences: a fault is a kind and the text at fault.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <utility>

#include "text.hpp"

namespace oneof {

// An array that grows and can be given away; what is beyond its size is not initialised.
template <class T>
class Buffer {
public:
    Buffer() = default;
    Buffer(Buffer&& other) noexcept
        : items_(std::exchange(other.items_, nullptr)), size_(std::exchange(other.size_, 0)),
          room_(std::exchange(other.room_, 0)) {}
    Buffer& operator=(Buffer&&) = delete;
    ~Buffer() { std::free(items_); }

    void push(T item) {
        if (size_ == room_) grow();
        items_[size_++] = item;
    }
    void cut(int64_t size) { size_ = size; }
    int64_t size() const { return size_; }
    T* begin() { return items_; }
    T* end() { return items_ + size_; }
    // Gives the memory away, to be freed with std::free.
    T* release() {
        if (!items_) grow();
        size_ = room_ = 0;
        return std::exchange(items_, nullptr);
    }

private:
    void grow() {
        const int64_t room = room_ ? 2 * room_ : 1024;
        auto* items = static_cast<T*>(std::realloc(items_, static_cast<size_t>(room) * sizeof(T)));
        if (!items) throw std::bad_alloc();
        items_ = items;
        room_ = room;
    }
    T* items_ = nullptr;
    int64_t size_ = 0, room_ = 0;
};

// What can be wrong with a row; the names are those of the sentences in readers/faults.py.
enum class RowFault {
    none, no_label, empty_label, bad_label, not_utf8, colon_in_label, unknown_label, many_labels,
    two_truths, bad_truth, qid, bad_feature, bad_index, zero_index, large_index, unknown_feature,
    unordered, repeated, bad_number, not_finite, large_number, null_byte, long_line,
};

struct ParseOptions {
    bool is_labelled;         // else labels are checked for their syntax only
    bool is_collecting;       // new labels join the vocabulary
    int64_t index_base;       // 0 or 1
    int64_t n_features;       // indices from here on are new; -1: none is
    bool ignores_new;         // leave new features out, rather than refuse them
    int64_t max_line;         // bytes
};

// The packed rows of a batch. T is the type of the values.
template <class T>
struct Batch {
    Buffer<T> values;
    Buffer<int32_t> indices, indptr, codes, truth;
    Buffer<int64_t> sets;     // indptr of the candidates
    Batch() { indptr.push(0), sets.push(0); }
    int64_t n_rows() const { return indptr.size() - 1; }
};

template <class T>
class SvmlightParser {
public:
    SvmlightParser(text::Vocabulary classes, const ParseOptions& options)
        : vocabulary(std::move(classes)), options_(options) {}

    // Reads whole lines of [p, end), each with its line feed, until there is no more, the batch is
    // full or a row is bad; returns where it stopped, which is the start of the bad row.
    const char* parse(const char* p, const char* end, int64_t max_rows, int64_t max_values) {
        fault = RowFault::none;
        n_lines = 0;
        end_ = end;
        while (p < end && batch.n_rows() < max_rows && batch.values.size() < max_values) {
            line_ = p;
            n_names_ = vocabulary.names().size();
            const char* const stop = row(p);
            if (!stop) return line_;
            p = stop;
            ++n_lines;
        }
        return p;
    }

    // Begins a new batch; the arrays of the last one have been given away.
    void start_batch() {
        batch.truth.cut(0);
        batch.indptr.push(0), batch.sets.push(0);
        has_truth = false;
    }

    text::Vocabulary vocabulary;
    Batch<T> batch;
    bool has_truth = false;        // in this batch
    int64_t n_lines = 0;           // read by the last call, without the bad one
    int64_t width = 0;             // largest index seen, and 1
    int64_t least = INT64_MAX;     // smallest index seen
    RowFault fault = RowFault::none;
    int64_t fault_at = 0;          // byte of the line
    std::string fault_text;        // its first bytes

private:
    static constexpr int64_t kMaxIndex = INT32_MAX - 1;
    static bool is_blank(char c) { return c == ' ' || c == '\t'; }
    static bool is_end(const char* p) { return *p == '\n' || (*p == '\r' && p[1] == '\n'); }
    static bool ends_value(const char* p) { return is_blank(*p) || is_end(p) || *p == '#'; }

    static const char* skip_blanks(const char* p) {
        while (is_blank(*p)) ++p;
        return p;
    }

    // Undoes the row and notes what is wrong with it.
    const char* refuse(RowFault kind, const char* at, const char* stop) {
        fault = kind;
        fault_at = at - line_;
        fault_text.assign(at, static_cast<size_t>(std::min<int64_t>(stop - at, 80)));
        batch.values.cut(batch.indptr.end()[-1]);
        batch.indices.cut(batch.indptr.end()[-1]);
        batch.codes.cut(batch.sets.end()[-1]);
        vocabulary.cut(n_names_);
        return nullptr;
    }
    const char* refuse_token(RowFault kind, const char* at) {
        const char* stop = at;
        while (!is_blank(*stop) && *stop != '\n') ++stop;
        return refuse(kind, at, stop - (stop > at && is_end(stop - 1)));
    }

    // Returns where the next line starts, null if this one is refused.
    const char* row(const char* p) {
        p = skip_blanks(p);
        Row row;
        if (*p != '#' && !is_end(p)) {
            row.is_there = true;
            if (!(p = labels(p)) || !(p = features(p))) return nullptr;
        }
        if (*p == '#' && !(p = comment(p, row))) return nullptr;
        p += *p == '\r';
        if (p - line_ > options_.max_line) return refuse(RowFault::long_line, line_, line_);
        if (row.is_there) keep(row);
        return p + 1;
    }

    struct Row {
        bool is_there = false, has_truth = false;
        int32_t truth = -1;
    };

    void keep(const Row& row) {
        const int64_t first_value = batch.indptr.end()[-1], n_values = batch.values.size();
        if (n_values > first_value) {
            width = std::max(width, int64_t(batch.indices.end()[-1]) + 1);
            least = std::min(least, int64_t(batch.indices.begin()[first_value]));
        }
        batch.indptr.push(static_cast<int32_t>(n_values));
        batch.truth.push(row.truth);
        has_truth |= row.truth >= 0;
        if (options_.is_labelled) {
            int32_t* const first = batch.codes.begin() + batch.sets.end()[-1];
            std::sort(first, batch.codes.end());
            batch.codes.cut(std::unique(first, batch.codes.end()) - batch.codes.begin());
        }
        batch.sets.push(batch.codes.size());
    }

    // Labels are separated by commas, without blanks.
    const char* labels(const char* p) {
        const char* const first = p;
        for (;; ++p) {
            const char* const start = p;
            bool is_plain = true;
            while (static_cast<unsigned char>(*p) > ' ' && *p != ',' && *p != ':' && *p != '#' &&
                   *p != 0x7F)
                is_plain &= static_cast<unsigned char>(*p++) < 0x80;
            if (*p == ':') {
                if (start != first) return refuse_token(RowFault::colon_in_label, start);
                if (options_.is_labelled) return refuse_token(RowFault::no_label, start);
                return start;
            }
            const bool is_last = *p != ',';
            if (is_last && !ends_value(p))
                return refuse_token(*p ? RowFault::bad_label : RowFault::null_byte, start);
            if (p == start) return refuse_token(RowFault::empty_label, first);
            const std::string_view name(start, static_cast<size_t>(p - start));
            if (!is_plain && !text::is_utf8(name)) return refuse(RowFault::not_utf8, start, p);
            if (options_.is_labelled) {
                const int32_t code = code_of(name);
                if (code < 0) return refuse(unknown(), start, p);
                batch.codes.push(code);
            }
            if (is_last) return p;
        }
    }

    RowFault unknown() const {
        return options_.is_collecting ? RowFault::many_labels : RowFault::unknown_label;
    }
    int32_t code_of(std::string_view name) {
        return options_.is_collecting ? vocabulary.add(name) : vocabulary.find(name);
    }

    // INDEX:VALUE pairs with rising indices.
    const char* features(const char* p) {
        int64_t previous = -1;
        for (;;) {
            p = skip_blanks(p);
            if (is_end(p) || *p == '#') return p;
            const char* const start = p;
            uint64_t written = 0;
            p = text::digits(p, end_, written);
            if (*p != ':' || p == start) return refuse_feature(start, p);
            const int64_t index = static_cast<int64_t>(written) - options_.index_base;
            if (p - start > 10 || index > kMaxIndex) return refuse(RowFault::large_index, start, p);
            if (index < 0) return refuse(RowFault::zero_index, start, p);
            if (index <= previous)
                return refuse(index < previous ? RowFault::unordered : RowFault::repeated, start, p);
            previous = index;
            const char* const value_at = ++p;
            double value = 0;
            p = text::number(p, end_, value);
            if (!p || !ends_value(p)) return refuse_value(value_at);
            const T rounded = static_cast<T>(value);
            if (std::isinf(rounded)) return refuse(RowFault::large_number, value_at, p);
            if (options_.n_features >= 0 && index >= options_.n_features) {
                if (options_.ignores_new) continue;
                return refuse(RowFault::unknown_feature, start, value_at - 1);
            }
            batch.indices.push(static_cast<int32_t>(index));
            batch.values.push(rounded);
        }
    }

    const char* refuse_feature(const char* start, const char* p) {
        const bool is_qid = end_ - start >= 4 && std::memcmp(start, "qid:", 4) == 0;
        return refuse_token(*p == 0 ? RowFault::null_byte
                            : is_qid ? RowFault::qid
                            : *start == '-' || p > start ? RowFault::bad_index
                                                         : RowFault::bad_feature,
                            start);
    }

    const char* refuse_value(const char* at) {
        const char* p = at + (*at == '-' || *at == '+');
        const char c = static_cast<char>(*p | 32), d = static_cast<char>(p[c == 'i' || c == 'n'] | 32);
        const bool is_named = (c == 'n' && d == 'a') || (c == 'i' && d == 'n');
        return refuse_token(is_named ? RowFault::not_finite : RowFault::bad_number, at);
    }

    // A comment may name the truth, `# truth=NAME`; nothing else of it is read.
    const char* comment(const char* p, Row& row) {
        static constexpr std::string_view key = "truth=";
        for (++p; !is_end(p);) {
            p = skip_blanks(p);
            const char* const start = p;
            while (!is_blank(*p) && !is_end(p) && *p) ++p;
            if (!*p) return refuse(RowFault::null_byte, p, p + 1);
            const std::string_view word(start, static_cast<size_t>(p - start));
            if (row.is_there && word.starts_with(key))
                if (!truth(word.substr(key.size()), row)) return nullptr;
        }
        return p;
    }

    bool truth(std::string_view name, Row& row) {
        const char* const at = name.data();
        auto fails = [&](RowFault kind) { return refuse(kind, at, at + name.size()) != nullptr; };
        if (row.has_truth) return fails(RowFault::two_truths);
        row.has_truth = true;
        if (name.empty()) return fails(RowFault::bad_truth);
        for (const char c : name)
            if (static_cast<unsigned char>(c) <= ' ' || c == 0x7F || c == ',' || c == ':' || c == '#')
                return fails(RowFault::bad_truth);
        if (!text::is_utf8(name)) return fails(RowFault::not_utf8);
        if (!options_.is_labelled) return true;
        row.truth = code_of(name);
        return row.truth >= 0 || fails(unknown());
    }

    ParseOptions options_;
    const char* line_ = nullptr;
    const char* end_ = nullptr;
    size_t n_names_ = 0;      // before this row
};

}  // namespace oneof
