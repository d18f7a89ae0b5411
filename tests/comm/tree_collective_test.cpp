// SPDX-License-Identifier: MIT
#include "comm/host/tree_collective.hpp"

#include <atomic>
#include <cstdint>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/host/exchange_words.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "tests/comm/spawn_ranks.hpp"

namespace gangway::comm {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr milliseconds kLong{60'000};

TEST(TreeCollective, BringsPartsOfAnyLengthToTheFirstAndItsWordToAll) {
  for (const int size : {1, 2, 3, 4, 7, 13}) {
    LoopbackHub hub(size);
    spawn_ranks(size, [&](int rank) {
      LoopbackTransport transport(hub, rank);
      // Peers not in ascending order; member p has p % 3 words, all equal to p.
      std::vector<int> peers;
      for (int place = 0; place < size; ++place) {
        peers.push_back(size - 1 - place);
      }
      std::vector<std::size_t> begins{0};
      std::vector<std::uint64_t> expected;
      for (std::size_t place = 0; place < peers.size(); ++place) {
        expected.insert(expected.end(), place % 3, place);
        begins.push_back(expected.size() * sizeof(std::uint64_t));
      }
      const auto own = static_cast<std::size_t>(size - 1 - rank);
      std::vector<std::uint64_t> words(expected.size());
      std::fill_n(words.begin() + static_cast<std::ptrdiff_t>(begins[own] / sizeof(std::uint64_t)),
                  own % 3, own);
      TreeCollective collective(transport, peers);
      for (int round = 0; round < 3; ++round) {
        collective.gather({1, 0, MessageKind::kBarrier, 0, 0},
                          std::as_writable_bytes(std::span(words)), begins);
        collective.finish(Deadline(kLong), "parts");
        if (collective.is_root()) {
          EXPECT_EQ(words, expected);
        }
        std::uint64_t word = collective.is_root() ? 77U + static_cast<unsigned>(round) : 0U;
        collective.broadcast({1, 0, MessageKind::kBarrier, 0, 0},
                             std::as_writable_bytes(std::span(&word, 1)));
        collective.finish(Deadline(kLong), "the word");
        EXPECT_EQ(word, 77U + static_cast<unsigned>(round));
      }
    });
  }
}

TEST(ExchangeWords, TellsAllWordsToAllWithTwoMessagesEach) {
  for (const int size : {1, 2, 5, 16}) {
    LoopbackHub hub(size);
    std::atomic<int> messages = 0;
    hub.inject([&](int, int, MessageTag) {
      ++messages;
      return LoopbackHub::MessageFault{};
    });
    spawn_ranks(size, [&](int rank) {
      LoopbackTransport transport(hub, rank);
      const std::vector<std::uint64_t> words =
          exchange_words(transport, 100U + static_cast<unsigned>(rank), "words", kLong);
      for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
        EXPECT_EQ(words.at(i), 100U + i);
      }
    });
    EXPECT_EQ(messages, 2 * (size - 1));
  }
}

TEST(ExchangeWords, NamesTheOneItWaitsForInVain) {
  LoopbackHub hub(4);
  LoopbackTransport transport(hub, 0);
  try {
    (void)exchange_words(transport, 1, "words", milliseconds(20));
    FAIL() << "nobody else has called";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), HasSubstr("for rank 2 (words)"));
  }
}

}  // namespace
}  // namespace gangway::comm
