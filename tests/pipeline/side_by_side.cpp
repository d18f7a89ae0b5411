// SPDX-License-Identifier: MIT
#include "tests/pipeline/side_by_side.hpp"

#include <set>
#include <tuple>

#include "pipeline/schedule.hpp"
#include "tests/adversarial_networks.hpp"

namespace gangway::pipeline {

::testing::AssertionResult come_to_an_end(const std::vector<std::vector<Instruction>>& lists) {
  using Message = std::tuple<int, int, bool, int, int, int, int, int>;
  std::multiset<Message> under_way;
  std::vector<std::size_t> at(lists.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t worker = 0; worker < lists.size(); ++worker) {
      for (; at[worker] < lists[worker].size(); ++at[worker], moved = true) {
        const Instruction& one = lists[worker][at[worker]];
        const auto message = [&](int from, int to) {
          return Message{from,       to,       one.carries_gradient(), one.phase,
                         one.repeat, one.pass, one.microbatch,         one.node};
        };
        const int me = static_cast<int>(worker);
        if (one.is_send()) {
          under_way.insert(message(me, one.peer));
        } else if (one.peer >= 0) {
          const auto found = under_way.find(message(one.peer, me));
          if (found == under_way.end()) {
            break;
          }
          under_way.erase(found);
        }
      }
    }
  }
  for (std::size_t worker = 0; worker < lists.size(); ++worker) {
    if (at[worker] != lists[worker].size()) {
      return ::testing::AssertionFailure() << "worker " << worker << " waits at "
                                           << describe(lists[worker][at[worker]], kNetworkNames);
    }
  }
  return under_way.empty() ? ::testing::AssertionSuccess()
                           : ::testing::AssertionFailure() << "something is sent that nobody takes";
}

}  // namespace gangway::pipeline
