// SPDX-License-Identifier: MIT
#include "worker/link/lifeline.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/system/thread_name.hpp"
#include "run/control_protocol.hpp"
#include "run/liveness/connection.hpp"

namespace gangway::worker {
namespace {

constexpr std::array kFarewells{kAbandon, kAbandonAsIs, '\0'};

FileDescriptor connected(const GreetingAddress& address, Rank rank,
                         std::chrono::milliseconds limit) {
  FileDescriptor socket =
      connect_and_greet(address, {.rank = rank}, limit, "the coordinator's lifeline");
  ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC);  // not inherited by child processes
  const unsigned cut_off = kCutOffDeadline.count();
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &cut_off, sizeof(cut_off));
  return socket;
}

}  // namespace

Lifeline::Lifeline(const GreetingAddress& address, Rank rank, std::chrono::milliseconds limit,
                   OnAbandoned on_abandoned, Beat beat)
    : on_abandoned_(std::move(on_abandoned)),
      beat_(std::move(beat)),
      socket_(connected(address, rank, limit)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      signal_reporter_(socket_.get()) {
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

Lifeline::~Lifeline() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));  // an eventfd with room: it cannot fail
}

void Lifeline::say_keeping() const {
  (void)!::send(socket_.get(), &kKeeping, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool Lifeline::wait_closed(std::chrono::milliseconds limit) {
  return is_closed_.wait_for(limit) == std::future_status::ready;
}

bool Lifeline::listen() {
  std::array<char, 16> bytes{};
  const ssize_t size = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
    return true;
  }
  const std::string_view words(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const std::size_t told = words.find_first_of(kFarewells.data());
  if (size > 0 && told == std::string_view::npos) {
    return true;
  }
  if (told != std::string_view::npos) {
    on_abandoned_("the coordinator has given the job up", words[told] == kAbandon);
  } else if (!close_expected_) {
    on_abandoned_(size < 0 && errno == ETIMEDOUT
                      ? "the coordinator's host is cut off"
                      : "the coordinator is gone: its lifeline has closed",
                  std::nullopt);
  }
  return false;
}

bool Lifeline::is_silent(std::chrono::steady_clock::time_point heard) const {
  const std::chrono::milliseconds limit(silence_);
  return limit.count() > 0 && std::chrono::steady_clock::now() - heard >= limit;
}

void Lifeline::watch(const std::stop_token& stop) {
  name_this_thread("lifeline");
  std::array<pollfd, 2> waiting{pollfd{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  auto next = std::chrono::steady_clock::now();
  auto heard = next;
  while (!stop.stop_requested()) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= next) {
      // Ignored: with a full buffer the coordinator does not read, and notices the silence itself.
      const char heartbeat = beat_();
      (void)!::send(socket_.get(), &heartbeat, 1, MSG_NOSIGNAL);
      next = now + kHeartbeatPeriod;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - now);
    (void)::poll(waiting.data(), waiting.size(), static_cast<int>(left.count()) + 1);
    if (waiting[0].revents != 0) {
      if (!listen()) {
        closed_.set_value();
        return;
      }
      heard = std::chrono::steady_clock::now();
    } else if (is_silent(heard)) {
      on_abandoned_(
          fmt::format("the coordinator has been silent for {} ms: its process is stopped, "
                      "or its host cut off",
                      silence_.load()),
          std::nullopt);
      closed_.set_value();
      return;
    }
  }
}

}  // namespace gangway::worker
