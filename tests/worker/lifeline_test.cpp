// SPDX-License-Identifier: MIT
#include "worker/link/lifeline.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "worker/link/start_progress.hpp"

namespace gangway::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

sockaddr_in ipv4(const char* host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

/// @param port 0: any.
FileDescriptor listen_at(const char* host, std::uint16_t port, int backlog) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = ipv4(host, port);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::listen(socket.get(), backlog), 0);
  return socket;
}

std::uint16_t port_of(const FileDescriptor& socket) {
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

/// An address that swallows what is sent to it: a listener whose queue is full.
class SilentAddress {
 public:
  SilentAddress(const char* host, std::uint16_t port) : listener_(listen_at(host, port, 0)) {
    const sockaddr_in address = ipv4(host, port);
    for (FileDescriptor& caller : callers_) {
      caller = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      (void)::connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    }
  }

 private:
  FileDescriptor listener_;
  std::array<FileDescriptor, 2> callers_;
};

/// A coordinator that welcomes whoever comes.
class Welcoming {
 public:
  [[nodiscard]] std::uint16_t port() const { return port_of(listener_); }
  [[nodiscard]] GreetingAddress address(const std::string& hosts = "127.0.0.1") const {
    return {.hosts = hosts, .port = port(), .token = "secret"};
  }
  /// The next connection, and what it has said.
  std::pair<FileDescriptor, std::string> next() { return accepted_.get(); }
  /// Accepts one on another thread: its worker waits for the welcome.
  void expect() {
    accepted_ = std::async(std::launch::async, [this] {
      FileDescriptor socket(::accept(listener_.get(), nullptr, nullptr));
      std::string line(64, '\0');
      line.resize(static_cast<std::size_t>(
          std::max<ssize_t>(0, ::recv(socket.get(), line.data(), line.size(), 0))));
      (void)::send(socket.get(), &kWelcome, 1, MSG_NOSIGNAL);
      return std::pair(std::move(socket), line);
    });
  }

 private:
  FileDescriptor listener_ = listen_at("127.0.0.1", 0, 1);
  std::future<std::pair<FileDescriptor, std::string>> accepted_;
};

void ignore(const std::string& /*reason*/, std::optional<bool> /*keep*/) {}

constexpr milliseconds kLimit{20'000};  // a machine may be busy

TEST(Lifeline, PassesByAnAddressThatNeverAnswers) {
  Welcoming coordinator;
  const SilentAddress silent("127.0.0.2", coordinator.port());
  coordinator.expect();
  Lifeline lifeline(coordinator.address("127.0.0.2,127.0.0.1"), Rank(3), kLimit, ignore);
  lifeline.expect_close();
  EXPECT_EQ(coordinator.next().second, "gangway secret 3\n");
}

TEST(Lifeline, WaitsUntilTheCoordinatorHasClosedIt) {
  Welcoming coordinator;
  coordinator.expect();
  Lifeline lifeline(coordinator.address(), Rank(3), kLimit, ignore);
  FileDescriptor accepted = coordinator.next().first;
  lifeline.expect_close();
  EXPECT_FALSE(lifeline.wait_closed(milliseconds(10)));
  accepted.reset();
  EXPECT_TRUE(lifeline.wait_closed(kLimit));
}

TEST(Lifeline, SaysWhetherMemoryIsToBeKeptOnTheDisk) {
  Welcoming coordinator;
  const auto told_by = [&](std::string_view farewell) {
    std::promise<std::optional<bool>> told;
    coordinator.expect();
    const Lifeline lifeline(
        coordinator.address(), Rank(3), kLimit,
        [&](const std::string& /*reason*/, std::optional<bool> keep) { told.set_value(keep); });
    FileDescriptor accepted = coordinator.next().first;
    (void)::send(accepted.get(), farewell.data(), farewell.size(), MSG_NOSIGNAL);
    accepted.reset();
    return told.get_future().get();
  };
  EXPECT_EQ(told_by({&kAbandon, 1}), true);
  EXPECT_EQ(told_by({&kAbandonAsIs, 1}), false);
  EXPECT_EQ(told_by(""), std::nullopt);
}

TEST(Lifeline, NamesWhatIsWrongWithEveryAddress) {
  std::uint16_t port = 0;
  {
    const FileDescriptor gone = listen_at("127.0.0.1", 0, 1);
    port = port_of(gone);
  }
  try {
    const Lifeline lifeline({.hosts = "127.0.0.1,nowhere", .port = port, .token = "secret"},
                            Rank(3), milliseconds(400), ignore);
    FAIL() << "connected to nobody";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("(127.0.0.1: Connection refused, nowhere: "));
    EXPECT_THAT(error.what(), testing::HasSubstr("--lifeline-port"));
  }
}

TEST(StartProgress, IsWhatTheThreadThatBeginsHasDone) {
  StartProgress start;
  const auto asked_elsewhere = [&start] {
    return std::async(std::launch::async, [&start] { return start.gets_on(); }).get();
  };
  EXPECT_TRUE(asked_elsewhere());
  EXPECT_TRUE(asked_elsewhere()) << "this thread has started another one";
  std::promise<void> hung;  // as a file system is
  bool while_hung = true;
  std::jthread lifeline([&] {
    const auto end = steady_clock::now() + std::chrono::seconds(20);
    while (while_hung && steady_clock::now() < end) {
      while_hung = start.gets_on();
    }
    hung.set_value();
  });
  hung.get_future().wait();
  EXPECT_FALSE(while_hung);
  start.finish();
  EXPECT_FALSE(asked_elsewhere());
}

}  // namespace
}  // namespace gangway::worker
