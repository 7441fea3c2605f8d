// Memory that batches have left, for those to come. Fresh memory is slow where it is touched first:
// a page of it costs more than to parse into it. No types, no Python.
#pragma once
#include <array>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

namespace oneof::recycling {

// Before the bytes that are taken lies how many they are.
struct alignas(std::max_align_t) Block {
    size_t size;
};

// Few blocks, since every reader needs few at a time; smaller ones malloc keeps well itself.
inline constexpr size_t kMost = 12, kSmallest = size_t(1) << 16, kLargest = size_t(1) << 22;

struct Shelf {
    std::mutex mutex;
    std::array<Block*, kMost> blocks{};
    size_t n = 0;
};
inline Shelf& shelf() {
    static Shelf* const it = new Shelf;   // for ever: arrays may be dropped after static objects
    return *it;
}

// At least so many bytes, to be given back by `give`, in any thread.
inline void* take(size_t size) {
    if (size >= kSmallest) {
        Shelf& s = shelf();
        const std::lock_guard lock(s.mutex);
        for (size_t i = s.n; i-- > 0;) {
            Block* const block = s.blocks[i];
            if (block->size < size || block->size / 2 > size) continue;
            s.blocks[i] = s.blocks[--s.n];
            return block + 1;
        }
    }
    auto* const block = static_cast<Block*>(std::malloc(sizeof(Block) + size));
    if (!block) throw std::bad_alloc();
    block->size = size;
    return block + 1;
}

inline void give(void* bytes) noexcept {
    if (!bytes) return;
    Block* block = static_cast<Block*>(bytes) - 1;
    if (block->size >= kSmallest && block->size <= kLargest) {
        Shelf& s = shelf();
        const std::lock_guard lock(s.mutex);
        if (s.n < kMost) s.blocks[s.n++] = std::exchange(block, nullptr);
    }
    std::free(block);
}

}  // namespace oneof::recycling
