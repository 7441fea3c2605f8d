// Scratch memory of one call. No types of ours.
#pragma once
#include <cstdint>
#include <cstdlib>

namespace ONEOF_ISA {

// Scratch memory of one call, handed out in aligned pieces.
class Arena {
public:
    explicit Arena(int64_t bytes)
        : memory_(static_cast<char*>(std::aligned_alloc(64, size_t(rounded(bytes))))) {}
    ~Arena() { std::free(memory_); }
    Arena(const Arena&) = delete;
    explicit operator bool() const { return memory_; }

    template <class T>
    T* take(int64_t n) {
        char* piece = memory_ + used_;
        used_ += piece_bytes<T>(n);
        return reinterpret_cast<T*>(piece);
    }
    template <class T>
    static int64_t piece_bytes(int64_t n) { return rounded(n * int64_t(sizeof(T))); }

private:
    static int64_t rounded(int64_t bytes) { return (bytes + 63) / 64 * 64 + 64; }
    char* memory_;
    int64_t used_ = 0;
};

}  // namespace ONEOF_ISA
