// Lines of text to packed rows, whatever the format: a bad row leaves no trace. No files, no
// sentences: a fault is a kind and the text at fault.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>

#include "recycling.hpp"
#include "text.hpp"

namespace oneof {

// An array that grows and can be given away; what is beyond its size is not initialised.
template <class T>
class Buffer {
public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    ~Buffer() { recycling::give(items_); }

    void push(T item) {
        if (size_ == room_) grow(size_ + 1);
        items_[size_++] = item;
    }
    void reserve(int64_t n_more) {
        if (room_ - size_ < n_more) grow(size_ + n_more);
    }
    void cut(int64_t size) { size_ = size; }
    int64_t size() const { return size_; }
    T* begin() { return items_; }
    T* end() { return items_ + size_; }

    // Gives the items away, for `recycling::give` in the end. One that has little in it stays, and
    // a copy goes: who keeps many small batches shall not keep the room for large ones.
    T* release() {
        T* items = items_;
        if (size_ < room_ / 2 || !items) {
            items = taken(size_);
            copy(items);
        } else {
            items_ = nullptr;
            last_room_ = std::exchange(room_, 0);
        }
        size_ = 0;
        return items;
    }

private:
    static T* taken(int64_t room) {
        return static_cast<T*>(recycling::take(static_cast<size_t>(room) * sizeof(T)));
    }
    void copy(T* to) const {
        if (size_) std::memcpy(to, items_, static_cast<size_t>(size_) * sizeof(T));
    }
    void grow(int64_t least) {
        const int64_t room = std::max({least, room_ + room_ / 4, last_room_, int64_t(1024)});
        T* const items = taken(room);
        copy(items);
        recycling::give(std::exchange(items_, items));
        room_ = room;
    }
    T* items_ = nullptr;
    int64_t size_ = 0, room_ = 0, last_room_ = 0;
};

// What can be wrong with a row; the names are those of the sentences in readers/faults.py.
enum class RowFault {
    none, no_label, empty_label, bad_label, not_utf8, colon_in_label, unknown_label, many_labels,
    two_truths, bad_truth, qid, bad_feature, bad_index, zero_index, large_index, unknown_feature,
    unordered, repeated, bad_number, not_finite, large_number, null_byte, long_line,
    few_fields, many_fields, bad_quote, empty_number, control_byte,
};

struct ParseOptions {
    bool is_labelled;         // else labels are checked for their syntax only
    bool is_collecting;       // new labels join the vocabulary
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
class RowParser {
public:
    RowParser(text::Vocabulary classes, const ParseOptions& options)
        : vocabulary(std::move(classes)), options(options) {}
    virtual ~RowParser() = default;

    // Reads whole lines of [p, end), each with its line feed, until there is no more, the batch is
    // full or a row is bad; returns where it stopped, which is the start of the bad row.
    const char* parse(const char* p, const char* stop, int64_t max_rows, int64_t max_values) {
        fault = RowFault::none;
        n_lines = 0;
        end = stop;
        while (p < end && batch.n_rows() < max_rows && batch.values.size() < max_values) {
            line = p;
            n_names_ = vocabulary.names().size();
            const char* const next = row(p);
            if (!next) return line;
            p = next;
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
    int64_t fault_field = 0;       // of the line, from 0, where a line has fields
    std::string fault_text;        // its first bytes

protected:
    // Returns where the next line starts, null if this one is refused.
    virtual const char* row(const char* p) = 0;

    static bool is_end(const char* p) { return *p == '\n' || (*p == '\r' && p[1] == '\n'); }

    // Undoes the row and notes what is wrong with it.
    const char* refuse(RowFault kind, const char* at, const char* stop) {
        fault = kind;
        fault_text.assign(at, static_cast<size_t>(std::min<int64_t>(stop - at, 80)));
        batch.values.cut(batch.indptr.end()[-1]);
        batch.indices.cut(std::min<int64_t>(batch.indices.size(), batch.indptr.end()[-1]));
        batch.codes.cut(batch.sets.end()[-1]);
        vocabulary.cut(n_names_);
        return nullptr;
    }

    // The code of a label, -1 if it is refused.
    int32_t code_of(std::string_view name) {
        const int32_t code = options.is_collecting ? vocabulary.add(name) : vocabulary.find(name);
        if (code < 0)
            refuse(options.is_collecting ? RowFault::many_labels : RowFault::unknown_label,
                   name.data(), name.data() + name.size());
        return code;
    }

    // Takes the row whose values and codes have been pushed.
    void keep(int32_t truth) {
        const int64_t first_value = batch.indptr.end()[-1], n_values = batch.values.size();
        if (n_values > first_value && batch.indices.size() == n_values) {
            width = std::max(width, int64_t(batch.indices.end()[-1]) + 1);
            least = std::min(least, int64_t(batch.indices.begin()[first_value]));
        }
        batch.indptr.push(static_cast<int32_t>(n_values));
        batch.truth.push(truth);
        has_truth |= truth >= 0;
        if (options.is_labelled) {
            int32_t* const first = batch.codes.begin() + batch.sets.end()[-1];
            std::sort(first, batch.codes.end());
            batch.codes.cut(std::unique(first, batch.codes.end()) - batch.codes.begin());
        }
        batch.sets.push(batch.codes.size());
    }

    const ParseOptions options;
    const char* line = nullptr;   // the row's start
    const char* end = nullptr;    // of what may be read

private:
    size_t n_names_ = 0;          // before this row
};

}  // namespace oneof
