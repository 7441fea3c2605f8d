// Several learners on one stream. Each row is read, and scaled, once; then it is every member's turn,
// and their votes are counted. What a member does in a round is not said here.
#pragma once
#include <new>
#include <type_traits>

#include "learn.hpp"

namespace ONEOF_ISA {

// A member's vote weighs exp(−rate·mistakes), against the best member's.
class Votes {
public:
    static int64_t scratch_bytes(const oneof::Team& team) {
        return 2 * Arena::piece_bytes<double>(team.n_members) +
               Arena::piece_bytes<double>(team.members[0].n_classes);
    }
    Votes(const oneof::Team& team, Arena& arena)
        : n_(team.n_members), n_classes_(team.members[0].n_classes), rate_(team.rate),
          mistakes_(arena.take<double>(n_)), weights_(arena.take<double>(n_)),
          sums_(arena.take<double>(n_classes_)) {
        for (int64_t a = 0; a < n_; ++a) mistakes_[a] = double(team.members[a].counters[2]);
        for (int64_t k = 0; k < n_classes_; ++k) sums_[k] = 0;
        weigh();
    }

    // The class with the largest sum of votes, the first of equals; and each class's share of them.
    template <class T>
    int32_t winner(const int32_t* guesses, T* shares) {
        double total = 0;
        for (int64_t a = 0; a < n_; ++a) sums_[guesses[a]] += weights_[a], total += weights_[a];
        int32_t best = guesses[0];
        for (int64_t a = 1; a < n_; ++a) {
            const int32_t k = guesses[a];
            if (sums_[k] > sums_[best] || (sums_[k] == sums_[best] && k < best)) best = k;
        }
        if (shares)
            for (int64_t k = 0; k < n_classes_; ++k) shares[k] = T(sums_[k] / total);
        for (int64_t a = 0; a < n_; ++a) sums_[guesses[a]] = 0;
        return best;
    }

    // Lets trust follow from what the members said of a round.
    void count(const int32_t* guesses, const CandidateRow& set) {
        bool is_any = false;
        for (int64_t a = 0; a < n_; ++a) {
            const bool is_mistake = set.is_rival(guesses[a]);
            mistakes_[a] += is_mistake;
            is_any |= is_mistake;
        }
        if (is_any) weigh();
    }

private:
    void weigh() {
        double fewest = mistakes_[0];
        for (int64_t a = 1; a < n_; ++a) fewest = mistakes_[a] < fewest ? mistakes_[a] : fewest;
        for (int64_t a = 0; a < n_; ++a)
            weights_[a] = power(-rate_ * (mistakes_[a] - fewest)).value();
    }

    const int64_t n_, n_classes_;
    const double rate_;
    double *mistakes_, *weights_, *sums_;
};

// Reads rows for all members: as they come, scaled, or both, each into memory of its own.
template <class T, class RowsOf>
class Desk {
public:
    using Scaled = ScaledRows<T, RowsOf>;
    using RowType = typename Scaled::RowType;
    struct Entry {
        RowType rows[2];     // as it comes, scaled
        double lengths[2];   // squared
    };

    Desk(const oneof::Team& team, const oneof::Rows& rows) : team_(team), rows_(rows) {
        for (int64_t a = 0; a < team.n_members; ++a) {
            is_asked_[team.is_scaled[a]] = true;
            has_length_ |= uses_length(team.learners[a]);
        }
        auto bytes = [](int64_t n) { return Arena::piece_bytes<char>(n); };
        plain_bytes_ = is_asked_[0] * bytes(RowsOf::scratch_bytes(rows, team.front));
        row_bytes_ = plain_bytes_ + is_asked_[1] * bytes(Scaled::scratch_bytes(rows, team.front));
    }
    int64_t scratch_bytes(int64_t n) const {
        return Arena::piece_bytes<Entry>(n) + Arena::piece_bytes<char>(n * row_bytes_);
    }
    void take(Arena& arena, int64_t n) {
        entries_ = arena.take<Entry>(n);
        memory_ = arena.take<char>(n * row_bytes_);
    }

    // False if row i cannot be read. Learning, it is round t of the moments.
    bool read(int64_t b, int64_t i, int64_t t, bool is_learning) {
        Entry& entry = entries_[b];
        char* const memory = memory_ + b * row_bytes_;
        if (is_asked_[0]) {
            const RowsOf view = RowsOf::of(rows_, team_.front, memory);
            const auto row = view[i];
            if (!view.is_canonical(row)) return false;
            put(entry, 0, {row.x, row.j, row.n});
        }
        if (is_asked_[1]) {
            const Scaled view = Scaled::of(rows_, team_.front, memory + plain_bytes_);
            const RowType row = is_learning ? view.learn(i, t) : view[i];
            if (!view.is_canonical(row)) return false;
            put(entry, 1, row);
        }
        return true;
    }
    const Entry& operator[](int64_t b) const { return entries_[b]; }

    // The moments as they were before row i, the last one read, joined them; see ScaledRows.
    void forget(int64_t b, int64_t i) const {
        if (!is_asked_[1]) return;
        Scaled::of(rows_, team_.front, memory_ + b * row_bytes_ + plain_bytes_).forget(i);
    }

private:
    void put(Entry& entry, int which, const RowType& row) {
        entry.rows[which] = row;
        if (has_length_) entry.lengths[which] = sum_of_squares(row.x, row.n);
    }

    const oneof::Team& team_;
    const oneof::Rows& rows_;
    int64_t plain_bytes_, row_bytes_;
    bool is_asked_[2] = {}, has_length_ = false;
    Entry* entries_ = nullptr;
    char* memory_ = nullptr;
};

// How many rows a member learns before the next one's turn: as many as stay in the cache beside
// its weights; or one, where the weights of all stay there anyway.
template <class T>
int64_t rows_a_turn(const oneof::Team& team, const oneof::Rows& rows, int64_t n_rounds) {
    int64_t n_bytes = 0;
    for (int64_t a = 0; a < team.n_members; ++a) {
        const oneof::Weights& w = team.members[a];
        n_bytes += w.n_features * w.stride * (1 + w.is_averaged) * int64_t(sizeof(T));
    }
    const int64_t n = (int64_t(1) << 15) / (rows.n_features + 1);
    if (n_rounds == 1 || n_bytes <= (int64_t(1) << 15) || n < 2) return 1;
    return n > 128 ? 128 : n;
}

// Learns, or only predicts, block by block; returns as the other entry points do. In a block of one
// row all members see it before one learns, so a round alone is learnt by all or by none. Of
// several, who calls it keeps copies: those before the one that failed have been learnt.
template <bool IsLearning, class T, class RowsOf>
int64_t run_team(const oneof::Team& team, const oneof::Rows& rows,
                 const oneof::Candidates& candidates, const oneof::Extras& extras) {
    const int64_t M = team.n_members, size = rows_a_turn<T>(team, rows, extras.n_rounds);
    const oneof::Weights& first = team.members[0];
    Desk<T, RowsOf> desk(team, rows);
    int64_t n_bytes = desk.scratch_bytes(size) + Votes::scratch_bytes(team) +
                      Exclusions::scratch_bytes(first.stride) +
                      Arena::piece_bytes<Learning<T>>(M) + Arena::piece_bytes<Judgement>(M) +
                      Arena::piece_bytes<int32_t>(size * M);
    for (int64_t a = 0; a < M; ++a) n_bytes += Learning<T>::scratch_bytes(team.members[a]);
    Arena arena(n_bytes);
    if (!arena) return kOutOfMemory;
    desk.take(arena, size);
    Votes votes(team, arena);
    const Exclusions exclusions(first.n_classes, first.stride, arena);
    int32_t* const guesses = arena.take<int32_t>(size * M);
    Judgement* const seen = arena.take<Judgement>(M);
    static_assert(std::is_trivially_destructible_v<Learning<T>>);
    auto* const members = arena.take<Learning<T>>(M);
    for (int64_t a = 0; a < M; ++a)
        new (members + a) Learning<T>(team.learners[a], team.members[a], arena);

    const bool is_scaling = IsLearning && team.front.spread;
    int64_t& t = team.front.counters[0];   // of the moments

    // What some members say of row b of a block; false where one cannot. Learning, all of them see
    // it before one learns.
    auto turn = [&](int64_t from, int64_t to, int64_t b, int64_t i) {
        const auto& entry = desk[b];
        auto row = [&](int64_t a) -> const auto& { return entry.rows[team.is_scaled[a]]; };
        int32_t* const guess = guesses + b * M;
        if constexpr (IsLearning) {
            const CandidateRow set = exclusions.row(candidates, i);
            for (int64_t a = from; a < to; ++a)
                if (!members[a].see(row(a), set, seen[a])) return false;
            for (int64_t a = from; a < to; ++a)
                guess[a] = members[a].learn(row(a), set, seen[a], extras.weight(i),
                                            [&] { return entry.lengths[team.is_scaled[a]]; });
        } else {
            for (int64_t a = from; a < to; ++a) {
                const int64_t k = members[a].prediction(row(a), exclusions.padding());
                if (k < 0) return false;
                guess[a] = static_cast<int32_t>(k);
            }
        }
        return true;
    };
    auto vote = [&](int64_t round_no, const int32_t* guess) {
        T* const scores = static_cast<T*>(extras.scores);
        const int32_t winner =
            votes.winner(guess, scores ? scores + round_no * first.n_classes : nullptr);
        if (extras.predictions) extras.predictions[round_no] = winner;
        if (!IsLearning) return;
        const CandidateRow set = exclusions.row(candidates, extras.row(round_no));
        *team.n_mistakes += set.is_rival(winner);
        votes.count(guess, set);
    };

    const int64_t group = size == 1 ? M : 1;
    for (int64_t start = 0; start < extras.n_rounds; start += size) {
        const int64_t n = start + size < extras.n_rounds ? size : extras.n_rounds - start;
        for (int64_t b = 0; b < n; ++b) {
            if (!desk.read(b, extras.row(start + b), t + 1, IsLearning)) return start + b;
            t += is_scaling;
        }
        for (int64_t a = 0; a < M; a += group)
            for (int64_t b = 0; b < n; ++b) {
                const int64_t i = extras.row(start + b);
                if (turn(a, a + group, b, i)) continue;
                desk.forget(b, i);
                t -= is_scaling;
                return start + b;
            }
        for (int64_t b = 0; b < n; ++b) vote(start + b, guesses + b * M);
    }
    if constexpr (IsLearning)
        for (int64_t a = 0; a < M; ++a) members[a].store();
    return -1;
}

}  // namespace ONEOF_ISA
