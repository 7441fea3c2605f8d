// Lines of svmlight text: LABEL,LABEL INDEX:VALUE INDEX:VALUE # truth=LABEL. Everything is checked.
#pragma once
#include "parse.hpp"

namespace oneof {

struct SvmlightOptions {
    int64_t index_base;       // 0 or 1
    int64_t n_features;       // indices from here on are new; -1: none is
    bool ignores_new;         // leave new features out, rather than refuse them
};

template <class T>
class SvmlightParser : public RowParser<T> {
public:
    SvmlightParser(text::Vocabulary classes, const ParseOptions& options,
                   const SvmlightOptions& features)
        : RowParser<T>(std::move(classes), options), features_(features) {}

private:
    using Base = RowParser<T>;
    using Base::batch, Base::code_of, Base::end, Base::is_end, Base::keep, Base::line,
        Base::options, Base::refuse;

    static constexpr int64_t kMaxIndex = INT32_MAX - 1;
    static bool is_blank(char c) { return c == ' ' || c == '\t'; }
    static bool ends_value(const char* p) { return is_blank(*p) || is_end(p) || *p == '#'; }

    static const char* skip_blanks(const char* p) {
        while (is_blank(*p)) ++p;
        return p;
    }

    const char* refuse_token(RowFault kind, const char* at) {
        const char* stop = at;
        while (!is_blank(*stop) && *stop != '\n') ++stop;
        return refuse(kind, at, stop - (stop > at && is_end(stop - 1)));
    }

    const char* row(const char* p) override {
        p = skip_blanks(p);
        Row row;
        if (*p != '#' && !is_end(p)) {
            row.is_there = true;
            if (!(p = labels(p)) || !(p = features(p))) return nullptr;
        }
        if (*p == '#' && !(p = comment(p, row))) return nullptr;
        p += *p == '\r';
        if (p - line > options.max_line) return refuse(RowFault::long_line, line, line);
        if (row.is_there) keep(row.truth);
        return p + 1;
    }

    struct Row {
        bool is_there = false, has_truth = false;
        int32_t truth = -1;
    };

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
                if (options.is_labelled) return refuse_token(RowFault::no_label, start);
                return start;
            }
            const bool is_last = *p != ',';
            if (is_last && !ends_value(p))
                return refuse_token(*p ? RowFault::bad_label : RowFault::null_byte, start);
            if (p == start) return refuse_token(RowFault::empty_label, first);
            const std::string_view name(start, static_cast<size_t>(p - start));
            if (!is_plain && !text::is_utf8(name)) return refuse(RowFault::not_utf8, start, p);
            if (options.is_labelled) {
                const int32_t code = code_of(name);
                if (code < 0) return nullptr;
                batch.codes.push(code);
            }
            if (is_last) return p;
        }
    }

    // INDEX:VALUE pairs with rising indices.
    const char* features(const char* p) {
        // A feature and the blank before it take four bytes.
        batch.indices.reserve((end - p) / 4 + 1), batch.values.reserve((end - p) / 4 + 1);
        int64_t previous = -1;
        for (;;) {
            p = text::kReadsEight ? plain_features(p, previous) : skip_blanks(p);
            if (is_end(p) || *p == '#') return p;
            if (!(p = feature(p, previous))) return nullptr;
        }
    }

    // Reads features while they are written as most are and nothing is wrong with them; returns
    // where the first other one starts.
    const char* plain_features(const char* p, int64_t& previous) {
        const int64_t limit = features_.n_features < 0 ? INT64_MAX : features_.n_features;
        int32_t* indices = batch.indices.end();
        T* values = batch.values.end();
        while (end - (p = skip_blanks(p)) >= kReach) {
            int64_t index = 0;
            double value = 0;
            const char* const stop = plain_feature(p, index, value);
            if (!stop || index <= previous || index >= limit) break;
            *indices++ = static_cast<int32_t>(previous = index);
            *values++ = static_cast<T>(value);
            p = stop;
        }
        batch.indices.cut(indices - batch.indices.begin());
        batch.values.cut(values - batch.values.begin());
        return p;
    }

    static constexpr int64_t kReach = 8 + text::kPlainReach;

    // Null if the index has more than seven digits, or either is written as few are.
    const char* plain_feature(const char* p, int64_t& index, double& value) const {
        const int n = colon_after(p);
        const auto [n_digits, written] = text::first_digits(p);
        if (n_digits != n || p[n] != ':') return nullptr;
        index = static_cast<int64_t>(written) - features_.index_base;
        p = text::plain_number(p + n + 1, value);
        return p && (is_blank(*p) || *p == '\n') ? p : nullptr;
    }

    // Where the colon is, if there is one within eight bytes. Neighbours have indices of as many
    // digits, so that branches are foreseen; the next number need not wait for this one's digits.
    static int colon_after(const char* p) {
        return p[1] == ':' ? 1 : p[2] == ':' ? 2 : p[3] == ':' ? 3
             : p[4] == ':' ? 4 : p[5] == ':' ? 5 : p[6] == ':' ? 6 : 7;
    }

    // One feature, however it is written.
    const char* feature(const char* p, int64_t& previous) {
        const char* const start = p;
        uint64_t written = 0;
        p = text::digits(p, end, written);
        if (*p != ':' || p == start) return refuse_feature(start, p);
        const int64_t index = static_cast<int64_t>(written) - features_.index_base;
        if (p - start > 10 || index > kMaxIndex) return refuse(RowFault::large_index, start, p);
        if (index < 0) return refuse(RowFault::zero_index, start, p);
        if (index <= previous)
            return refuse(index < previous ? RowFault::unordered : RowFault::repeated, start, p);
        previous = index;
        const char* const value_at = ++p;
        double value = 0;
        p = text::number(p, end, value);
        if (!p || !ends_value(p)) return refuse_value(value_at);
        const T rounded = static_cast<T>(value);
        if (std::isinf(rounded)) return refuse(RowFault::large_number, value_at, p);
        if (features_.n_features >= 0 && index >= features_.n_features) {
            if (features_.ignores_new) return p;
            return refuse(RowFault::unknown_feature, start, value_at - 1);
        }
        batch.indices.push(static_cast<int32_t>(index));
        batch.values.push(rounded);
        return p;
    }

    const char* refuse_feature(const char* start, const char* p) {
        const bool is_qid = end - start >= 4 && std::memcmp(start, "qid:", 4) == 0;
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
        if (!options.is_labelled) return true;
        row.truth = code_of(name);
        return row.truth >= 0;
    }

    const SvmlightOptions features_;
};

}  // namespace oneof
