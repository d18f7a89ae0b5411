// SPDX-License-Identifier: MIT
#include "run/tether.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/system/thread_name.hpp"
#include "run/tether_protocol.hpp"

namespace gangway {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::string_view kArgument = "--tether=";
// Period at which the thread checks that its launcher lives, because no signal reports its end.
constexpr milliseconds kLook{200};

// Global, because a signal handler gets no argument of ours.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<bool> g_launcher_ends = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait");

extern "C" void on_continue(int /*signal*/, siginfo_t* info, void* /*context*/) {
  if (info->si_code == SI_USER && info->si_pid == ::getppid()) {
    g_launcher_ends = true;
  }
}

void heed_launcher() {
  struct sigaction action = {};
  action.sa_sigaction = on_continue;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  (void)::sigaction(SIGCONT, &action, nullptr);
}

/// Ends this process. First wakes the launcher: a stopped launcher daemon would outlive the job.
[[noreturn]] void leave() {
  ::kill(::getppid(), SIGCONT);
  ::_exit(static_cast<int>(ExitCode::kWorkerLost));
}

}  // namespace

std::string tether_argument(const InheritedTether& inherited) {
  return fmt::format("{}{}:{}", kArgument, inherited.socket, inherited.launcher);
}

InheritedTether inherited_tether(const std::vector<std::string>& arguments) {
  InheritedTether inherited{.socket = -1, .launcher = ::getppid()};
  for (const std::string& argument : arguments) {
    const std::size_t colon = argument.find(':');
    if (argument.starts_with(kArgument) && colon != std::string::npos) {
      const char* end = argument.data() + argument.size();
      std::from_chars(argument.data() + kArgument.size(), end, inherited.socket);
      std::from_chars(argument.data() + colon + 1, end, inherited.launcher);
    }
  }
  return inherited;
}

Tether::Tether(TetherSettings settings)
    : settings_(std::move(settings)),
      socket_(settings_.inherited.socket),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      meeting_ends_(steady_clock::now() + settings_.meeting) {
  if (socket_) {  // only under mpirun: Slurm sends SIGCONT to resume after a pause
    ::fcntl(socket_.get(), F_SETFD, FD_CLOEXEC);  // children must not inherit it
    heed_launcher();
  }
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCONT);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // `gangway train` has blocked it
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

Tether::~Tether() {
  thread_.request_stop();
  wake();
}

void Tether::settle() {
  settled_ = true;
  wake();
}

void Tether::wake() {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));  // an eventfd with room: it cannot fail
}

void Tether::begin_beats() {
  beat();
  needs_beats_ = true;
}

void Tether::send(char byte) {
  if (socket_) {
    // Ignores a full buffer: then the supervisor does not read.
    (void)!::send(socket_.get(), &byte, 1, MSG_NOSIGNAL);
  }
}

bool Tether::is_alive(TimePoint now) const {
  const TimePoint beaten{steady_clock::duration(last_beat_.load())};
  return !needs_beats_ || now - beaten < 2 * kHeartbeatPeriod;
}

void Tether::orphan(TimePoint now) {
  if (is_orphan_) {
    return;
  }
  is_orphan_ = true;
  if (settled_) {
    settings_.on_orphaned();
  }
  leave_by(settled_ ? now + kOrphanLimit : now);
}

void Tether::listen(TimePoint now) {
  std::array<char, 16> bytes{};
  const ssize_t size = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (size <= 0) {
    socket_.reset();
    orphan(now);
  } else if (std::find(bytes.begin(), bytes.begin() + size, kTetherEnd) != bytes.begin() + size) {
    leave_by(settled_ ? now + settings_.last_words : now);
  }
}

void Tether::look(TimePoint now) {
  if (socket_) {
    listen(now);
  }
  if (g_launcher_ends || ::getppid() != settings_.inherited.launcher) {
    orphan(now);
  }
  if (!met_ && now >= meeting_ends_) {
    std::cerr << "gangway: not every rank reached MPI_Init in time: did a rank fail to start, or "
                 "is a host cut off? try 'gangway doctor'"
              << std::endl;
    leave();
  }
  if (now >= leave_at_) {
    leave();
  }
}

void Tether::speak(TimePoint now) {
  if (settled_ && !is_settled_sent_) {
    is_settled_sent_ = true;
    send(kTetherSettled);
  }
  if (now >= next_beat_) {
    next_beat_ = now + kHeartbeatPeriod;
    if (is_alive(now)) {
      send(kTetherBeat);
    }
  }
}

void Tether::watch(const std::stop_token& stop) {
  name_this_thread("tether");
  while (!stop.stop_requested()) {
    const auto now = steady_clock::now();
    speak(now);
    look(now);
    std::array<pollfd, 2> waiting{pollfd{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    (void)::poll(waiting.data(), waiting.size(), static_cast<int>(kLook.count()));
    std::uint64_t woken = 0;
    (void)!::read(wake_.get(), &woken, sizeof(woken));
  }
}

}  // namespace gangway
