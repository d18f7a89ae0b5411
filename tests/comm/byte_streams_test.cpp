// SPDX-License-Identifier: MIT
#include "comm/transport/byte_streams.hpp"

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "base/errors.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "tests/comm/spawn_ranks.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;

/// Sends each word to its receiver, and stores received words.
class Letters final : public StreamEnds {
 public:
  explicit Letters(std::map<int, std::vector<std::string>> out) : out_(std::move(out)) {}

  std::optional<StreamMessage> next(int peer) override {
    auto& letters = out_[peer];
    if (sent_[peer] == letters.size()) {
      return std::nullopt;
    }
    const std::string& letter = letters[sent_[peer]++];
    return StreamMessage{.words = {letter.size()}, .bytes = std::as_bytes(std::span(letter))};
  }
  std::span<std::byte> place(int peer, const StreamWords& words, std::size_t bytes) override {
    EXPECT_EQ(words[0], bytes);
    buffer_[peer].resize(bytes);
    return std::as_writable_bytes(std::span(buffer_[peer]));
  }
  void arrived(int peer, const StreamWords& words) override {
    in[peer].push_back(words[0] == 0 ? "" : buffer_[peer]);
  }

  std::map<int, std::vector<std::string>> in;

 private:
  std::map<int, std::vector<std::string>> out_;
  std::map<int, std::size_t> sent_;
  std::map<int, std::string> buffer_;
};

TEST(ByteStreams, BringsEachItsOwnInOrder) {
  LoopbackHub hub(3);
  spawn_ranks(3, [&](int me) {
    LoopbackTransport transport(hub, me);
    std::map<int, std::vector<std::string>> out;
    std::vector<int> peers;
    for (int peer = 0; peer < 3; ++peer) {
      if (peer != me) {
        peers.push_back(peer);
        out[peer] = {std::to_string(me) + "to" + std::to_string(peer), "",
                     std::string(100'000, static_cast<char>('a' + me))};
      }
    }
    Letters letters(out);
    exchange_streams(transport, peers, peers, letters, 20s);
    for (const int peer : peers) {
      EXPECT_THAT(letters.in[peer],
                  ElementsAre(std::to_string(peer) + "to" + std::to_string(me), "",
                              std::string(100'000, static_cast<char>('a' + peer))));
    }
  });
}

TEST(ByteStreams, ServesOneDirectionAlone) {
  LoopbackHub hub(2);
  spawn_ranks(2, [&](int me) {
    LoopbackTransport transport(hub, me);
    Letters letters({{1, {"for you"}}});
    const std::vector<int> other{1 - me};
    const std::vector<int> nobody;
    exchange_streams(transport, me == 0 ? other : nobody, me == 0 ? nobody : other, letters, 20s);
    if (me == 1) {
      EXPECT_THAT(letters.in[0], ElementsAre("for you"));
    }
  });
}

TEST(ByteStreams, NamesWhoIsSilent) {
  LoopbackHub hub(2);
  LoopbackTransport transport(hub, 0);
  Letters letters({});
  const std::vector<int> from{1};
  try {
    exchange_streams(transport, {}, from, letters, 50ms);
    FAIL() << "nobody sent anything";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 1 waited 0.1 s for rank 2 (state at the start)"));
  }
}

}  // namespace
}  // namespace gangway::comm
