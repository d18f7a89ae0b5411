// SPDX-License-Identifier: MIT
#include "coordinator/io/waiting_workers.hpp"

#include <future>
#include <numeric>
#include <set>
#include <vector>

#include "base/system/poll_until.hpp"
#include "run/messages/codec.hpp"

namespace gangway::coordinator {
namespace {

constexpr std::chrono::milliseconds kRefusalDeadline{5000};
constexpr std::chrono::microseconds kPoll{2000};

std::vector<Rank> all_ranks(int num_workers) {
  std::vector<Rank> ranks(static_cast<std::size_t>(num_workers));
  std::iota(ranks.begin(), ranks.end(), Rank(1));
  return ranks;
}

}  // namespace

void while_workers_wait(MpiControl& mpi, int num_workers, const std::function<void()>& work,
                        std::chrono::milliseconds period) {
  const std::string patience = messages::encode({.message = messages::Patience{}});
  std::future<void> done = std::async(std::launch::async, work);
  while (done.wait_for(period) != std::future_status::ready) {
    mpi.send(all_ranks(num_workers), patience);
  }
  done.get();
}

bool refuse_workers(MpiControl& mpi, int num_workers, int exit_code, const std::string& reason) {
  const std::string stop =
      messages::encode({.message = messages::Stop{.exit_code = exit_code, .reason = reason}});
  mpi.send(all_ranks(num_workers), stop);
  std::set<Rank> left;
  return poll_until(kRefusalDeadline, kPoll, [&] {
    while (const auto message = mpi.poll()) {
      if (std::holds_alternative<messages::Goodbye>(
              messages::decode(message->bytes, message->rank).message)) {
        left.insert(message->rank);
      }
    }
    return static_cast<int>(left.size()) == num_workers;
  });
}

}  // namespace gangway::coordinator
