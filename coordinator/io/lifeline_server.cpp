// SPDX-License-Identifier: MIT
#include "coordinator/io/lifeline_server.hpp"

#include <utility>

#include <fcntl.h>

namespace gangway::coordinator {
namespace {

using boost::system::error_code;

GreetingPlace of_workers(GreetingPlace place, int num_workers) {
  place.first_rank = Rank(1);
  place.last_rank = Rank(num_workers);
  place.name = "the workers' lifelines";
  place.cut_off = kCutOffDeadline;
  return place;
}

}  // namespace

LifelineServer::LifelineServer(boost::asio::io_context& io, GreetingPlace place, int num_workers,
                               StrangerLimits limits)
    : server_(of_workers(std::move(place), num_workers),
              {.greeting = limits.greeting,
               .most = limits.most + static_cast<std::size_t>(num_workers)}),
      descriptor_(io, ::fcntl(server_.descriptor(), F_DUPFD_CLOEXEC, 0)),
      timer_(io) {}

void LifelineServer::start(LifelineEvents events) {
  events_ = std::move(events);
  greetings_ = {.greeted =
                    [this](const Greeting& greeting) {
                      const Rank rank = greeting.rank;
                      pulses_[rank] = Pulse::kWorks;
                      events_.opened(rank);
                      events_.heartbeat(rank, Pulse::kWorks);
                    },
                .heard = [this](Rank rank, std::string_view bytes) { hear(rank, bytes); },
                .gone =
                    [this](Rank rank, bool is_cut_off) {
                      if (is_cut_off) {
                        events_.cut_off(rank);
                      }
                      events_.closed(rank);
                    }};
  serve();
  wait();
}

void LifelineServer::wait() {
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const error_code& error) {
                           if (!error) {
                             serve();
                             wait();
                           }
                         });
}

void LifelineServer::serve() {
  server_.serve(greetings_, std::chrono::steady_clock::now());
  if (const auto next = server_.next_look()) {
    timer_.expires_at(*next);
    timer_.async_wait([this](const error_code& error) {
      if (!error) {
        serve();
      }
    });
  }
}

void LifelineServer::hear(Rank rank, std::string_view bytes) {
  Pulse& pulse = pulses_[rank];
  for (const char byte : bytes) {
    if (byte == kHeartbeat || byte == kHeartbeatInWait || byte == kHeartbeatInStart) {
      pulse = byte == kHeartbeatInWait    ? Pulse::kWaits
              : byte == kHeartbeatInStart ? Pulse::kBegins
                                          : Pulse::kWorks;
    }
    if (byte == kKeeping) {
      events_.keeping(rank);
    }
    if (byte > 0 && byte < kEndOfSignals) {
      events_.dying(rank, byte);
    }
  }
  events_.heartbeat(rank, pulse);
}

}  // namespace gangway::coordinator
