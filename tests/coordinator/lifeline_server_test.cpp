// SPDX-License-Identifier: MIT
#include "coordinator/io/lifeline_server.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/system/open_files.hpp"
#include "base/this_host.hpp"
#include "run/control_protocol.hpp"

namespace gangway::coordinator {
namespace {

using boost::asio::ip::tcp;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kWorkers = 2;
constexpr milliseconds kLong{20'000};  // a machine may be busy

class LifelineServerTest : public ::testing::Test {
 protected:
  explicit LifelineServerTest(StrangerLimits limits = {.greeting = kLong, .most = 3})
      : server_(io_, {}, kWorkers, limits) {
    server_.start({.opened = [this](Rank rank) { opened_.push_back(rank); },
                   .heartbeat = [this](Rank, Pulse pulse) { pulses_.push_back(pulse); },
                   .keeping = [this](Rank rank) { keeping_.push_back(rank); },
                   .dying = [](Rank, int) {},
                   .closed = [this](Rank rank) { closed_.push_back(rank); }});
  }

  tcp::socket call(const std::string& first_words = {}, const char* address = "127.0.0.1") {
    tcp::socket socket(clients_);
    socket.connect({boost::asio::ip::make_address(address), server_.address().port});
    boost::asio::write(socket, boost::asio::buffer(first_words));
    return socket;
  }
  std::string greeting(int rank) const {
    return greeting_line({.rank = Rank(rank)}, server_.address().token);
  }

  /// Drives the server until `is_so`. @return whether it came to be.
  template <typename Condition>
  bool becomes(const Condition& is_so) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (!is_so() && std::chrono::steady_clock::now() < end) {
      io_.run_for(milliseconds(1));
      io_.restart();
    }
    return is_so();
  }
  /// Drives the server until it has hung up on `socket`.
  bool hangs_up_on(tcp::socket& socket) {
    socket.non_blocking(true);
    return becomes([&] {
      std::array<char, 1> byte{};
      boost::system::error_code error;
      socket.read_some(boost::asio::buffer(byte), error);
      return error && error != boost::asio::error::would_block;
    });
  }

  boost::asio::io_context io_;
  boost::asio::io_context clients_;
  LifelineServer server_;
  std::vector<Rank> opened_;
  std::vector<Rank> closed_;
  std::vector<Rank> keeping_;
  std::vector<Pulse> pulses_;
};

TEST_F(LifelineServerTest, KnowsAWorkerByItsGreetingAndTellsOfItsEnd) {
  tcp::socket worker = call(greeting(2));
  EXPECT_TRUE(becomes([&] { return !opened_.empty(); }));
  EXPECT_THAT(opened_, ElementsAre(Rank(2)));
  EXPECT_TRUE(server_.is_open(Rank(2)));
  worker.close();
  EXPECT_TRUE(becomes([&] { return !closed_.empty(); }));
  EXPECT_FALSE(server_.is_open(Rank(2)));
}

TEST_F(LifelineServerTest, TellsWhetherAWorkerWaitsAndWhetherItKeepsItsSnapshots) {
  tcp::socket worker = call(greeting(1));
  boost::asio::write(worker, boost::asio::buffer(&kHeartbeatInWait, 1));
  EXPECT_TRUE(becomes([&] { return !pulses_.empty() && pulses_.back() == Pulse::kWaits; }));
  boost::asio::write(worker, boost::asio::buffer(&kKeeping, 1));
  EXPECT_TRUE(becomes([&] { return !keeping_.empty(); }));
  EXPECT_EQ(pulses_.back(), Pulse::kWaits) << "nothing was said about that";
  boost::asio::write(worker, boost::asio::buffer(&kHeartbeat, 1));
  EXPECT_TRUE(becomes([&] { return pulses_.back() == Pulse::kWorks; }));
  boost::asio::write(worker, boost::asio::buffer(&kHeartbeatInStart, 1));
  EXPECT_TRUE(becomes([&] { return pulses_.back() == Pulse::kBegins; }));
}

TEST_F(LifelineServerTest, HangsUpOnWhoeverDoesNotKnowTheTokenOrIsNoWorker) {
  std::string wrong = greeting(1);
  wrong[wrong.size() - 4] ^= 1;  // the token's last digit
  std::string short_one = greeting(1);
  short_one.erase(short_one.size() - 4, 1);
  for (const std::string& words :
       {wrong, short_one, std::string("GET / HTTP/1.1\r\n"), std::string(4096, 'x'),
        std::string("\n"), greeting(0), greeting(kWorkers + 1), greeting(-1),
        "gangway " + server_.address().token + " 1x\n"}) {
    tcp::socket stranger = call(words);
    EXPECT_TRUE(hangs_up_on(stranger)) << words;
  }
  EXPECT_THAT(opened_, IsEmpty());
}

TEST_F(LifelineServerTest, HangsUpOnASecondOneOfARank) {
  const tcp::socket worker = call(greeting(1));
  EXPECT_TRUE(becomes([&] { return server_.is_open(Rank(1)); }));
  tcp::socket second = call(greeting(1));
  EXPECT_TRUE(hangs_up_on(second));
  EXPECT_TRUE(server_.is_open(Rank(1)));
  EXPECT_THAT(closed_, IsEmpty());
}

TEST_F(LifelineServerTest, DropsTheOldestOfTooManyStrangersAndLetsWorkersIn) {
  std::vector<tcp::socket> idle;
  for (int i = 0; i < 20; ++i) {
    idle.push_back(call("gangway-"));
  }
  EXPECT_TRUE(hangs_up_on(idle.front()));
  EXPECT_TRUE(hangs_up_on(idle[20 - 3 - kWorkers - 1])) << "all but the newest";
  const tcp::socket worker = call(greeting(1));
  EXPECT_TRUE(becomes([&] { return server_.is_open(Rank(1)); }));
  idle.back().non_blocking(true);
  std::array<char, 1> byte{};
  boost::system::error_code error;
  idle.back().read_some(boost::asio::buffer(byte), error);
  EXPECT_EQ(error, boost::asio::error::would_block) << "the newest may still greet";
}

TEST_F(LifelineServerTest, ListensAtItsOwnAddressAlone) {
  EXPECT_EQ(server_.address().hosts, "127.0.0.1");
  EXPECT_THROW(call({}, "127.0.0.2"), boost::system::system_error);
  LifelineServer far(io_, {.reach = BindScope::kEveryHost}, kWorkers);
  EXPECT_THAT(far.address().hosts, ::testing::EndsWith("127.0.0.1"));
  tcp::socket socket(clients_);
  boost::system::error_code error;
  socket.connect({boost::asio::ip::make_address("127.0.0.2"), far.address().port}, error);
  EXPECT_EQ(error, boost::asio::error::connection_refused) << "0.0.0.0 answers there too";
}

TEST_F(LifelineServerTest, HasATokenOf256BitsThatNoOtherHas) {
  EXPECT_THAT(server_.address().token, ::testing::MatchesRegex("[0-9a-f]{64}"));
  EXPECT_NE(LifelineServer(io_, {}, kWorkers).address().token, server_.address().token);
}

class ImpatientServerTest : public LifelineServerTest {
 protected:
  ImpatientServerTest() : LifelineServerTest({.greeting = milliseconds(50), .most = 100}) {}
};

TEST_F(ImpatientServerTest, HangsUpOnWhoeverDoesNotGreetInTime) {
  tcp::socket silent = call();
  tcp::socket half = call("gangway ");
  EXPECT_TRUE(hangs_up_on(silent));
  EXPECT_TRUE(hangs_up_on(half));
}

TEST_F(ImpatientServerTest, KeepsAWorkerForLongerThanItsGreetingMayTake) {
  const tcp::socket worker = call(greeting(1));
  EXPECT_TRUE(becomes([&] { return server_.is_open(Rank(1)); }));
  io_.run_for(milliseconds(150));
  EXPECT_TRUE(server_.is_open(Rank(1)));
}

/// A process may open no more files than are open now, until this goes out of scope.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    const int next = ::dup(0);
    ::close(next);
    none.rlim_cur = static_cast<rlim_t>(next);
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreDescriptors(const NoMoreDescriptors&) = delete;
  NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST_F(LifelineServerTest, DoesNotSpinWithoutDescriptorsAndAcceptsOnceThereAreSome) {
  const tcp::socket worker = call(greeting(1));
  {
    const NoMoreDescriptors none;
    io_.restart();
    EXPECT_LT(io_.run_for(milliseconds(500)), 50U) << "handlers run: it tries again and again";
    EXPECT_FALSE(server_.is_open(Rank(1)));
  }
  io_.restart();
  EXPECT_TRUE(becomes([&] { return server_.is_open(Rank(1)); }));
}

/// The usual soft limit of open files, until this goes out of scope.
class UsualDescriptors {
 public:
  UsualDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit usual = before_;
    usual.rlim_cur = std::min<rlim_t>(1024, usual.rlim_cur);
    ::setrlimit(RLIMIT_NOFILE, &usual);
  }
  ~UsualDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  UsualDescriptors(const UsualDescriptors&) = delete;
  UsualDescriptors& operator=(const UsualDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST(LifelineServer, HoldsSixHundredLifelinesWhereTheUsualLimitIsRaisedAsEachProgramDoes) {
  constexpr int kMany = 600;  // with the workers' own ends, all in this process: 1,200
  const UsualDescriptors usual;
  raise_open_files();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_cur < 2 * kMany + 100) {
    GTEST_SKIP() << "the administrator allows " << limit.rlim_cur << " open files";
  }
  boost::asio::io_context io;
  boost::asio::io_context clients;
  LifelineServer server(io, {}, kMany);
  std::vector<int> heard(kMany + 1, 0);
  int num_open = 0;
  int num_closed = 0;
  server.start({.opened = [&](Rank) { ++num_open; },
                .heartbeat = [&](Rank rank, Pulse) { ++heard.at(rank.place()); },
                .keeping = [](Rank) {},
                .dying = [](Rank, int) {},
                .closed = [&](Rank) { ++num_closed; }});
  const auto run_until = [&](const auto& is_so) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (!is_so() && std::chrono::steady_clock::now() < end) {
      io.run_for(milliseconds(1));
      io.restart();
    }
    return is_so();
  };
  std::vector<tcp::socket> workers;
  for (int rank = 1; rank <= kMany; ++rank) {
    tcp::socket& worker = workers.emplace_back(clients);
    worker.connect({boost::asio::ip::make_address("127.0.0.1"), server.address().port});
    boost::asio::write(
        worker, boost::asio::buffer(greeting_line({.rank = Rank(rank)}, server.address().token)));
    io.poll();
    io.restart();
  }
  EXPECT_TRUE(run_until([&] { return num_open == kMany; })) << num_open;
  for (tcp::socket& worker : workers) {
    boost::asio::write(worker, boost::asio::buffer(&kHeartbeat, 1));
  }
  EXPECT_TRUE(run_until(
      [&] { return std::ranges::count_if(heard, [](int times) { return times > 0; }) == kMany; }));
  server.beat();
  workers.clear();
  EXPECT_TRUE(run_until([&] { return num_closed == kMany; })) << num_closed;
}

TEST(OnNetworks, ChoosesByInterfaceAndSubnet) {
  const OwnAddress lan{"eth0", "10.77.0.1"};
  const OwnAddress fast{"ib0", "192.168.5.9"};
  const std::vector<OwnAddress> both{lan, fast};
  EXPECT_THAT(on_networks(both, "ib0"), ElementsAre(fast));
  EXPECT_THAT(on_networks(both, "10.77.0.0/24"), ElementsAre(lan));
  EXPECT_THAT(on_networks(both, "10.77.0.99/16"), ElementsAre(lan)) << "as Open MPI reads it";
  EXPECT_THAT(on_networks(both, "ib0,eth0"), ElementsAre(lan, fast));
}

TEST(OnNetworks, TakesAllWhereNothingIsChosenOrNoneIsHere) {
  const std::vector<OwnAddress> both{{"eth0", "10.77.0.1"}, {"ib0", "192.168.5.9"}};
  EXPECT_EQ(on_networks(both, ""), both);
  EXPECT_EQ(on_networks(both, "eth7,172.16.0.0/12"), both);
}

}  // namespace
}  // namespace gangway::coordinator
