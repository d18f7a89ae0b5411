// SPDX-License-Identifier: MIT
#include "worker/link/signal_reporter.hpp"

#include <array>
#include <atomic>
#include <csignal>

#include <sys/socket.h>

namespace gangway::worker {
namespace {

constexpr std::array kFatal = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
// A signal handler has no context argument, so this state must be global.
std::atomic<int> g_socket = -1;
std::array<struct sigaction, kFatal.size()> g_before{};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait");

extern "C" void say_last_word(int signal) {
  const auto number = static_cast<char>(signal);
  (void)!::send(g_socket.load(), &number, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  for (std::size_t i = 0; i < kFatal.size(); ++i) {
    if (kFatal.at(i) == signal) {
      (void)sigaction(signal, &g_before.at(i), nullptr);
    }
  }
  (void)std::raise(signal);  // delivered to the previous handler on return
}

}  // namespace

SignalReporter::SignalReporter(int socket) {
  g_socket = socket;
  struct sigaction action = {};
  action.sa_handler = say_last_word;
  for (std::size_t i = 0; i < kFatal.size(); ++i) {
    (void)sigaction(kFatal.at(i), &action, &g_before.at(i));
  }
}

SignalReporter::~SignalReporter() {
  for (std::size_t i = 0; i < kFatal.size(); ++i) {
    (void)sigaction(kFatal.at(i), &g_before.at(i), nullptr);
  }
  g_socket = -1;
}

}  // namespace gangway::worker
