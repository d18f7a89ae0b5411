// SPDX-License-Identifier: MIT
#include "launch/run/tether_server.hpp"

#include <future>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/process_identity.hpp"
#include "base/system/open_files.hpp"
#include "base/this_host.hpp"
#include "run/liveness/connection.hpp"

namespace gangway::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLimit{20'000};

/// A server of two ranks that is served until something has come about.
class TetherServerTest : public ::testing::Test {
 protected:
  void serve_until(const std::function<bool()>& condition) {
    const auto end = steady_clock::now() + kLimit;
    while (!condition() && steady_clock::now() < end) {
      pollfd waiting{.fd = server_.descriptor(), .events = POLLIN, .revents = 0};
      (void)::poll(&waiting, 1, 10);
      serve(steady_clock::now());
    }
    EXPECT_TRUE(condition());
  }
  void serve(steady_clock::time_point now) {
    server_.serve({.greeted = [this](const TetheredRank& rank) { greeted_[rank.said.rank] = rank; },
                   .heard = [this](Rank rank) { ++heard_[rank]; },
                   .settled = [this](Rank rank) { settled_.insert(rank); },
                   .gone = [this](Rank rank) { gone_.insert(rank); }},
                  now);
  }
  FileDescriptor greeted_as(const TetherGreeting& rank) {
    return connect_and_greet(server_.address(), {.rank = rank.rank, .words = tether_words(rank)},
                             kLimit, "it");
  }
  FileDescriptor connect(Rank rank) {
    auto socket = std::async(std::launch::async, [this, rank] {
      return greeted_as({.rank = rank, .process = own_process(), .host = "here"});
    });
    serve_until([this, rank] { return greeted_.contains(rank); });
    return socket.get();
  }

  TetherServer server_{BindScope::kThisHost, 0, 2};
  std::map<Rank, TetheredRank> greeted_;
  std::map<Rank, int> heard_;
  std::set<Rank> settled_;
  std::set<Rank> gone_;
};

TEST_F(TetherServerTest, HearsOfARankFromItsGreetingToItsEnd) {
  FileDescriptor rank = connect(Rank(1));
  EXPECT_EQ(greeted_[Rank(1)].said.host, "here");
  EXPECT_TRUE(greeted_[Rank(1)].is_local);
  ASSERT_EQ(::send(rank.get(), ".s", 2, MSG_NOSIGNAL), 2);
  serve_until([this] { return heard_[Rank(1)] > 0 && settled_.contains(Rank(1)); });
  rank.reset();
  serve_until([this] { return gone_.contains(Rank(1)); });
  EXPECT_TRUE(server_.present().empty());
}

TEST_F(TetherServerTest, TellsRanksToLeave) {
  const FileDescriptor rank = connect(Rank(0));
  server_.order_end();
  pollfd waiting{.fd = rank.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&waiting, 1, static_cast<int>(kLimit.count())), 1);
  char byte = 0;
  EXPECT_EQ(::recv(rank.get(), &byte, 1, 0), 1);
  EXPECT_EQ(byte, kTetherEnd);
}

TEST_F(TetherServerTest, DropsWhoeverDoesNotKnowTheToken) {
  GreetingAddress address = server_.address();
  address.token = "guessed";
  auto refused = std::async(std::launch::async, [&address] {
    EXPECT_THROW((void)connect_and_greet(address, {.rank = Rank(0)}, kLimit, "it"),
                 EnvironmentError);
  });
  serve_until(
      [&refused] { return refused.wait_for(milliseconds(0)) == std::future_status::ready; });
  EXPECT_TRUE(greeted_.empty());
}

TEST_F(TetherServerTest, KeepsOneConnectionOfARankThatComesTwice) {
  const FileDescriptor first = connect(Rank(1));
  auto second = std::async(std::launch::async, [this] {
    EXPECT_THROW((void)greeted_as({.rank = Rank(1), .process = {}, .host = "here"}),
                 EnvironmentError);
  });
  serve_until([&second] { return second.wait_for(milliseconds(0)) == std::future_status::ready; });
  EXPECT_EQ(server_.present().size(), 1U);
  EXPECT_TRUE(gone_.empty());
}

TEST_F(TetherServerTest, TakesAProcessOfAnotherHostOrContainerForNoneOfThisOne) {
  TetherGreeting said{.rank = Rank(1), .process = own_process(), .job = 0, .host = "here"};
  said.process.pid_namespace = "pid:[1]";
  auto socket = std::async(std::launch::async, [&] { return greeted_as(said); });
  serve_until([this] { return greeted_.contains(Rank(1)); });
  EXPECT_FALSE(greeted_[Rank(1)].is_local);
}

TEST_F(TetherServerTest, LetsRanksInWhileStrangersHoldMoreConnectionsThanItKeeps) {
  std::vector<FileDescriptor> strangers;
  const auto besiege = [&](int count) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server_.address().port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < count; ++i) {
      FileDescriptor& one = strangers.emplace_back(::socket(AF_INET, SOCK_STREAM, 0));
      ASSERT_EQ(::connect(one.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
      if (i % 100 == 99) {
        serve(steady_clock::now());
      }
    }
  };
  raise_open_files();
  besiege(1'500);
  const FileDescriptor first = connect(Rank(0));
  besiege(1'500);  // of which none drives a rank out
  const FileDescriptor second = connect(Rank(1));
  EXPECT_EQ(server_.present().size(), 2U);
  EXPECT_TRUE(gone_.empty());
}

TEST_F(TetherServerTest, ListensOnTheNetworksThatTheHostsMeetOn) {
  const TetherServer loopback(BindScope::kThisHost, 0, 2);
  EXPECT_EQ(loopback.address().hosts, "127.0.0.1");
  const std::vector<OwnAddress> own = own_addresses();
  ASSERT_FALSE(own.empty());
  const TetherServer chosen(BindScope::kEveryHost, 0, 2, own.front().interface);
  EXPECT_TRUE(chosen.address().hosts.starts_with(own.front().address));
}

TEST_F(TetherServerTest, ListensNoLongerThanItMust) {
  const FileDescriptor first = connect(Rank(0));
  const FileDescriptor second = connect(Rank(1));
  EXPECT_THROW((void)greeted_as({.rank = Rank(1), .process = {}, .host = "here"}),
               EnvironmentError);
}

}  // namespace
}  // namespace gangway::launch
