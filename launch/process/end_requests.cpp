// SPDX-License-Identifier: MIT
#include "launch/process/end_requests.hpp"

#include <atomic>
#include <csignal>

namespace gangway::launch {
namespace {

std::atomic<int> asked_to_end = 0;
extern "C" void note_request(int signal) { asked_to_end = signal; }

}  // namespace

EndRequests::EndRequests() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (std::signal(signal, note_request) == SIG_IGN) {
      (void)std::signal(signal, SIG_IGN);  // ignored under nohup
    }
  }
}

void EndRequests::heed() {
  if (const int signal = asked_to_end; signal != 0) {
    throw SignalledError(signal);
  }
}

}  // namespace gangway::launch
