// Text taken apart: digits, numbers, UTF-8, names of classes. No rows, no formats.
//
// Every function may read up to `end`, and relies on a line feed right before `end`.
#pragma once
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace oneof::text {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

inline constexpr uint64_t kTens[] = {1,       10,        100,        1'000,    10'000,
                                     100'000, 1'000'000, 10'000'000, 100'000'000};
inline constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// The first digits at p, eight at most: how many there are, and their value. Reads eight bytes, and
// takes no branch per digit; for little-endian machines.
struct Digits {
    int n;
    uint64_t value;
};
inline constexpr bool kReadsEight = std::endian::native == std::endian::little;
inline Digits first_digits(const char* p) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    w ^= 0x3030303030303030;   // a digit becomes its value, any other byte more than 9
    const uint64_t others = ((w + 0x7676767676767676) | w) & 0x8080808080808080;
    int n = 8;
    if (others) {
        const int last = std::countr_zero(others);   // the last bit of the first other byte
        n = last >> 3;
        w = w << (70 - last) << 1;   // the digits alone, behind zeros
    }
    w = w * 10 + (w >> 8);
    w = ((w & 0x000000FF000000FF) * 0x000F424000000064 +
         ((w >> 16) & 0x000000FF000000FF) * 0x0000271000000001) >> 32;
    return {n, w};
}

// Appends the digits at p to m, which wraps beyond 19 digits; returns where they stop.
inline const char* digits(const char* p, const char* end, uint64_t& m) {
    if constexpr (kReadsEight) {
        while (end - p >= 8) {
            const auto [n, value] = first_digits(p);
            m = m * kTens[n] + value;
            p += n;
            if (n < 8) return p;
        }
    }
    for (; p < end && is_digit(*p); ++p) m = m * 10 + static_cast<uint64_t>(*p - '0');
    return p;
}

// Reads a number as most are written, a few digits with or without a point and a sign; null if it
// is written otherwise, which `number` may understand. Reads up to kPlainReach bytes.
inline constexpr int kPlainReach = 32;
inline const char* plain_number(const char* p, double& value) {
    bool is_negative = false;
    if (*p == '-') [[unlikely]] is_negative = true, ++p;
    Digits read{1, static_cast<uint64_t>(*p - '0')};
    if (p[1] != '.') read = first_digits(p);
    if (!is_digit(*p)) return nullptr;
    p += read.n;
    int n_decimals = 0;
    if (*p == '.') {
        const auto [n, decimals] = first_digits(++p);
        read.value = read.value * kTens[n] + decimals;
        n_decimals = n;
        if (n == 8) {
            const auto [n_more, more] = first_digits(p + 8);
            if (read.n + n_more > 9) return nullptr;   // 18 digits and more might wrap
            read.value = read.value * kTens[n_more] + more;
            n_decimals += n_more;
            if (read.value > uint64_t(1) << 53) return nullptr;
        }
        p += n_decimals;
    }
    // Both operands of the one rounding are exact (Clinger).
    value = static_cast<double>(static_cast<int64_t>(read.value)) / kPowers[n_decimals];
    if (is_negative) value = -value;
    return p;
}

// A number that the fast path does not hold; `exponent` is the power of ten of its last digit.
inline double slow_number(const char* first, const char* stop, int64_t exponent) {
    double value = 0;
    const auto [_, error] = std::from_chars(first, stop, value);
    if (error != std::errc::result_out_of_range) return value;
    // Too large or too small? The place of the first digit that counts tells.
    while (*first == '0' || *first == '.') ++first;
    for (; first < stop && (is_digit(*first) || *first == '.'); ++first) exponent += *first != '.';
    return exponent > 0 ? __builtin_inf() : 0.0;
}

// Reads the decimal number at p as Python's float() does, correctly rounded; infinity if it is too
// large. Returns where it stops, null if there is none. Accepts no inf, nan, hexadecimals, "_".
inline const char* number(const char* p, const char* end, double& value) {
    const bool is_negative = *p == '-';
    p += is_negative || *p == '+';
    const char* const first = p;
    uint64_t m = 0;
    p = digits(p, end, m);
    int64_t n_digits = p - first, exponent = 0;
    if (*p == '.') {
        const char* const fraction = ++p;
        p = digits(p, end, m);
        exponent = fraction - p;
        n_digits += p - fraction;
    }
    if (n_digits == 0) return nullptr;
    if ((*p | 32) == 'e') {
        const char* q = p + 1;
        const bool is_below = *q == '-';
        q += is_below || *q == '+';
        if (is_digit(*q)) {
            int64_t e = 0;
            for (; is_digit(*q); ++q) e = e < 1'000'000'000'000 ? e * 10 + (*q - '0') : e;
            exponent += is_below ? -e : e;
            p = q;
        }
    }
    // Both operands of the one rounding are exact (Clinger).
    if (n_digits <= 19 && m <= uint64_t(1) << 53 && exponent >= -22 && exponent <= 22) {
        const double whole = static_cast<double>(m);
        value = exponent < 0 ? whole / kPowers[-exponent] : whole * kPowers[exponent];
    } else {
        value = slow_number(first, p, exponent);
    }
    if (is_negative) value = -value;
    return p;
}

// Tells whether the bytes are UTF-8: no overlong forms, surrogates or code points past the last.
inline bool is_utf8(std::string_view s) {
    auto at = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
    auto follows = [&](size_t i) { return (at(i) & 0xC0) == 0x80; };
    for (size_t i = 0; i < s.size();) {
        const unsigned c = at(i), d = at(i + 1);
        if (c < 0x80) {
            i += 1;
        } else if (c >= 0xC2 && c <= 0xDF && follows(i + 1)) {
            i += 2;
        } else if (c >= 0xE0 && c <= 0xEF && follows(i + 1) && follows(i + 2) &&
                   !(c == 0xE0 && d < 0xA0) && !(c == 0xED && d > 0x9F)) {
            i += 3;
        } else if (c >= 0xF0 && c <= 0xF4 && follows(i + 1) && follows(i + 2) && follows(i + 3) &&
                   !(c == 0xF0 && d < 0x90) && !(c == 0xF4 && d > 0x8F)) {
            i += 4;
        } else {
            return false;
        }
    }
    return true;
}

// A whole number in its plain spelling: "+3" and "3.0" are "3". "03" and "1e2" are names, not
// numbers: to read them as 3 and 100 might merge two classes.
inline std::optional<std::string> whole(std::string_view s) {
    const bool is_negative = s.starts_with('-');
    if (is_negative || s.starts_with('+')) s.remove_prefix(1);
    if (const size_t point = s.find('.'); point != s.npos) {
        const std::string_view zeros = s.substr(point + 1);
        if (zeros.empty() || zeros.find_first_not_of('0') != s.npos) return std::nullopt;
        s = s.substr(0, point);
    }
    if (s.empty() || s.find_first_not_of("0123456789") != s.npos) return std::nullopt;
    if (s == "0") return "0";
    if (s[0] == '0') return std::nullopt;
    std::string plain(s);
    if (is_negative) plain.insert(plain.begin(), '-');
    return plain;
}

// Names of the classes and their codes. A frozen vocabulary finds, one that grows also adds.
class Vocabulary {
public:
    Vocabulary(const std::vector<std::string>& names, bool is_integer, int64_t most)
        : is_integer_(is_integer), most_(most) {
        short_codes_.fill(-1);
        for (const auto& name : names) add(name);
    }

    // -1 if there is no such class.
    int32_t find(std::string_view name) const {
        if (const int32_t code = short_code(name); code >= 0) return code;
        if (const auto it = codes_.find(name); it != codes_.end()) return it->second;
        if (is_integer_)
            if (const auto plain = whole(name))
                if (const auto it = codes_.find(*plain); it != codes_.end()) return it->second;
        return -1;
    }

    // The code of a name that may be new; -1 if there would be too many.
    int32_t add(std::string_view name) {
        if (const int32_t code = short_code(name); code >= 0) return code;
        if (const auto it = codes_.find(name); it != codes_.end()) return it->second;
        if (static_cast<int64_t>(names_.size()) >= most_) return -1;
        const auto code = static_cast<int32_t>(names_.size());
        names_.emplace_back(name);
        codes_.emplace(names_.back(), code);
        if (name.size() == 1) short_codes_[static_cast<unsigned char>(name[0])] = code;
        return code;
    }

    // Forgets all but the first `size` names.
    void cut(size_t size) {
        for (; names_.size() > size; names_.pop_back()) {
            const std::string& name = names_.back();
            if (name.size() == 1) short_codes_[static_cast<unsigned char>(name[0])] = -1;
            codes_.erase(name);
        }
    }

    const std::vector<std::string>& names() const { return names_; }

private:
    struct Hash {
        using is_transparent = void;
        size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
    };
    // The code of a name of one byte, as most numbers of classes are: no hash, no comparison.
    int32_t short_code(std::string_view name) const {
        return name.size() == 1 ? short_codes_[static_cast<unsigned char>(name[0])] : -1;
    }
    std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> codes_;
    std::array<int32_t, 256> short_codes_;
    std::vector<std::string> names_;
    bool is_integer_;
    int64_t most_;
};

}  // namespace oneof::text
