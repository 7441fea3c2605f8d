// The hash that gives a feature's name its place where memory is bounded: MurmurHash3 (32 bit), as
// in scikit-learn's FeatureHasher. Stable: models on disk rest on it. No Python here.
#pragma once
#include <cstdint>

namespace oneof {

inline uint32_t rotated(uint32_t x, int by) { return x << by | x >> (32 - by); }

inline uint32_t murmur3(const char* text, int64_t n, uint32_t seed) {
    auto scrambled = [](uint32_t k) { return rotated(k * 0xcc9e2d51u, 15) * 0x1b873593u; };
    auto byte = [&](int64_t i) { return uint32_t(static_cast<unsigned char>(text[i])); };
    uint32_t h = seed;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const uint32_t k = byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24;
        h = rotated(h ^ scrambled(k), 13) * 5 + 0xe6546b64u;
    }
    uint32_t tail = 0;
    for (int shift = 0; i < n; ++i, shift += 8) tail |= byte(i) << shift;
    if (n % 4) h ^= scrambled(tail);
    h ^= uint32_t(n);
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

// A feature's column among n, and the sign of its values there, which lets features that share a
// column cancel rather than pile up.
struct Place {
    int32_t column;
    bool is_negative;
};
inline Place place_of(uint32_t hash, int64_t n) {
    const int64_t h = static_cast<int32_t>(hash);
    return {static_cast<int32_t>((h < 0 ? -h : h) % n), h < 0};
}

}  // namespace oneof
