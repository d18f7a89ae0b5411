// SPDX-License-Identifier: MIT
#include "launch/run/tether_server.hpp"

#include "base/process_identity.hpp"

namespace gangway::launch {
namespace {

// Time for a greeting: a rank sends it as it connects.
constexpr std::chrono::seconds kGreetingLimit{2};
// Connections beyond the ranks: strangers, and second networks of a rank. A new connection replaces
// the oldest; this many let a rank greet before strangers displace it.
constexpr std::size_t kSpareConnections = 1'024;

bool is_of_this_host(const ProcessIdentity& process) {
  const ProcessIdentity self = own_process();
  return process.boot_id == self.boot_id && process.pid_namespace == self.pid_namespace;
}

}  // namespace

TetherServer::TetherServer(BindScope reach, std::uint16_t port, int ranks,
                           std::string_view networks)
    : ranks_(ranks),
      server_({.reach = reach,
               .port = port,
               .networks = std::string(networks),
               .first_rank = Rank(0),
               .last_rank = Rank(ranks - 1),
               .name = "the ranks' tethers"},
              {.greeting = kGreetingLimit,
               .most = static_cast<std::size_t>(ranks) + kSpareConnections}) {}

void TetherServer::serve(const TetherEvents& events, std::chrono::steady_clock::time_point now) {
  server_.serve({.greeted =
                     [&](const Greeting& greeting) {
                       const auto said = parse_tether_words(greeting.rank, greeting.words);
                       const TetheredRank rank{
                           .said = said.value_or(TetherGreeting{.rank = greeting.rank}),
                           .is_local = said && is_of_this_host(said->process)};
                       present_.emplace(greeting.rank, rank);
                       if (is_ending_) {
                         server_.send(greeting.rank, kTetherEnd);
                       }
                       events.greeted(rank);
                       if (++num_greeted_ == ranks_) {
                         server_.stop_listening();
                       }
                     },
                 .heard =
                     [&](Rank rank, std::string_view bytes) {
                       events.heard(rank);
                       if (bytes.find(kTetherSettled) != std::string_view::npos) {
                         events.settled(rank);
                       }
                     },
                 .gone =
                     [&](Rank rank, bool /*is_cut_off*/) {
                       present_.erase(rank);
                       events.gone(rank);
                     }},
                now);
}

void TetherServer::order_end() {
  is_ending_ = true;
  server_.send_to_all(kTetherEnd);
}

}  // namespace gangway::launch
