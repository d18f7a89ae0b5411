// SPDX-License-Identifier: MIT
#include "pipeline/validator/validator.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "pipeline/staged/text.hpp"

namespace gangway::pipeline {
namespace {

/// Follows all lists together.
class Validation {
 public:
  Validation(const StageSchedule& schedule, const FollowedWorker::Setup& setup)
      : schedule_(schedule), setup_(setup), lanes_(schedule.workers.size()) {
    for (std::size_t number = 0; number < schedule.workers.size(); ++number) {
      workers_.emplace_back(setup, static_cast<int>(number));
    }
    at_.resize(workers_.size());
    problems_.resize(workers_.size());
  }

  [[nodiscard]] std::vector<std::string> run();

 private:
  enum class Outcome { kDone, kWaits };
  using Exchange = std::tuple<NetworkId, int, int>;  // chunk, and version before

  [[nodiscard]] bool go_on(std::size_t number);
  [[nodiscard]] Outcome perform(std::size_t number, const StageInstruction& what);
  [[nodiscard]] Outcome receive(std::size_t number, const StageInstruction& what);
  [[nodiscard]] Outcome await(std::size_t number, const StageInstruction& what);
  [[nodiscard]] Outcome flush(std::size_t number);
  void end_exchanges();
  [[nodiscard]] std::string place(std::size_t number) const;
  [[nodiscard]] std::string why_it_waits(std::size_t number) const;
  [[nodiscard]] std::vector<std::string> problems_at_the_end() const;

  const StageSchedule& schedule_;
  const FollowedWorker::Setup& setup_;
  std::vector<FollowedWorker> workers_;
  std::vector<std::size_t> at_;
  std::vector<Problem> problems_;  // by worker; it then stands still
  std::map<std::pair<int, int>, std::deque<StageInstruction>> sent_;  // from and to, as receives
  std::map<Exchange, std::vector<std::size_t>> members_;              // that have begun it
  std::map<Exchange, bool> ended_;
  std::vector<std::deque<Exchange>> lanes_;  // exchanges begun and not ended
  std::size_t flushing_ = 0;                 // workers, at the flush at hand
  std::vector<bool> has_flushed_ = std::vector<bool>(schedule_.workers.size());
};

std::string Validation::place(std::size_t number) const {
  const StageList& list = schedule_.workers[number];
  return "worker " + std::to_string(number) + ", line " + std::to_string(at_[number] + 1) + ": " +
         (at_[number] < list.size() ? text_of(list[at_[number]], setup_.names) : "the end");
}

std::vector<std::string> Validation::run() {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t number = 0; number < workers_.size(); ++number) {
      goes_on = go_on(number) || goes_on;
    }
  }
  std::vector<std::string> violations;
  for (std::size_t number = 0; number < workers_.size(); ++number) {
    if (!problems_[number].empty()) {
      violations.push_back(place(number) + ": " + problems_[number]);
    }
  }
  return violations.empty() ? problems_at_the_end() : violations;
}

bool Validation::go_on(std::size_t number) {
  const StageList& list = schedule_.workers[number];
  bool has_gone = false;
  while (at_[number] < list.size() && problems_[number].empty()) {
    if (perform(number, list[at_[number]]) == Outcome::kWaits || !problems_[number].empty()) {
      break;
    }
    ++at_[number];
    has_gone = true;
  }
  return has_gone;
}

Validation::Outcome Validation::perform(std::size_t number, const StageInstruction& what) {
  FollowedWorker& worker = workers_[number];
  Problem& problem = problems_[number];
  const auto num_networks = static_cast<int>(setup_.costs.chunks.size());
  if (static_cast<int>(what.network) >= num_networks || what.chunk < 0 ||
      what.chunk >= static_cast<int>(setup_.costs.chunks[what.network].size())) {
    problem = "there is no such chunk";
    return Outcome::kDone;
  }
  switch (what.operation) {
    case StageOperation::kOpenLeaf:
      problem = worker.open_leaf(what);
      return Outcome::kDone;
    case StageOperation::kCloseLeaf:
      problem = worker.close_leaf(what);
      return Outcome::kDone;
    case StageOperation::kArm:
      problem = worker.arm(what);
      return Outcome::kDone;
    case StageOperation::kFree:
      problem = worker.let_go(what);
      return Outcome::kDone;
    case StageOperation::kSend:
      problem = worker.send(what);
      if (problem.empty()) {
        sent_[{static_cast<int>(number), what.peer}].push_back(what);
      }
      return Outcome::kDone;
    case StageOperation::kReduce:
      problem = worker.reduce(what);
      if (problem.empty()) {
        const Exchange exchange{what.network, what.chunk, what.version};
        members_[exchange].push_back(number);
        lanes_[number].push_back(exchange);
        end_exchanges();
      }
      return Outcome::kDone;
    case StageOperation::kReceive:
      return receive(number, what);
    case StageOperation::kAwait:
      return await(number, what);
    case StageOperation::kFlush:
      return flush(number);
    default:
      problem = worker.compute(what);
      return Outcome::kDone;
  }
}

Validation::Outcome Validation::receive(std::size_t number, const StageInstruction& what) {
  const auto found = sent_.find({what.peer, static_cast<int>(number)});
  if (found == sent_.end() || found->second.empty()) {
    return Outcome::kWaits;
  }
  StageInstruction expected = found->second.front();
  expected.operation = StageOperation::kReceive;
  expected.peer = what.peer;
  if (what != expected) {
    problems_[number] =
        "the next message is '" + text_of(found->second.front(), setup_.names) + "'";
    return Outcome::kDone;
  }
  found->second.pop_front();
  problems_[number] = workers_[number].receive(what);
  return Outcome::kDone;
}

Validation::Outcome Validation::await(std::size_t number, const StageInstruction& what) {
  problems_[number] = workers_[number].check_await(what);
  if (!problems_[number].empty()) {
    return Outcome::kDone;
  }
  if (!ended_.contains({what.network, what.chunk, what.version - 1})) {
    return Outcome::kWaits;
  }
  workers_[number].await(what);
  return Outcome::kDone;
}

Validation::Outcome Validation::flush(std::size_t number) {
  if (!has_flushed_[number]) {
    has_flushed_[number] = true;
    ++flushing_;
  }
  if (flushing_ < workers_.size()) {
    return Outcome::kWaits;
  }
  // All stand at one: the others step over theirs when their turn comes.
  for (std::size_t other = 0; other < workers_.size(); ++other) {
    at_[other] += other == number ? 0 : 1;
  }
  has_flushed_.assign(workers_.size(), false);
  flushing_ = 0;
  return Outcome::kDone;
}

/// Those that all members have begun, and that are the next on the lanes of all of them.
void Validation::end_exchanges() {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::deque<Exchange>& lane : lanes_) {
      if (lane.empty()) {
        continue;
      }
      const Exchange exchange = lane.front();
      const std::vector<std::size_t>& members = members_[exchange];
      const auto& [network, chunk, version] = exchange;
      const auto wanted = static_cast<std::size_t>(
          setup_.index.num_members({.network = network, .chunk = chunk, .version = version}));
      if (members.size() < wanted || !std::ranges::all_of(members, [&](std::size_t member) {
            return lanes_[member].front() == exchange;
          })) {
        continue;
      }
      for (const std::size_t member : members) {
        lanes_[member].pop_front();
      }
      ended_.emplace(exchange, true);
      goes_on = true;
    }
  }
}

std::string Validation::why_it_waits(std::size_t number) const {
  const StageInstruction& what = schedule_.workers[number][at_[number]];
  switch (what.operation) {
    case StageOperation::kReceive:
      if (what.peer < 0 || what.peer >= static_cast<int>(workers_.size())) {
        return "there is no worker " + std::to_string(what.peer);
      }
      return "it waits for ever: worker " + std::to_string(what.peer) +
             (at_[static_cast<std::size_t>(what.peer)] <
                      schedule_.workers[static_cast<std::size_t>(what.peer)].size()
                  ? " waits too"
                  : " has ended without sending it");
    case StageOperation::kAwait: {
      const Exchange exchange{what.network, what.chunk, what.version - 1};
      const auto begun = members_.find(exchange);
      const auto wanted = static_cast<std::size_t>(setup_.index.num_members(
          {.network = what.network, .chunk = what.chunk, .version = what.version - 1}));
      return begun != members_.end() && begun->second.size() == wanted
                 ? "it waits for ever: another worker begins exchanges in another order"
                 : "it waits for ever: not all that have the chunk begin the exchange";
    }
    default:
      return "it waits for ever: not all workers come to it";
  }
}

std::vector<std::string> Validation::problems_at_the_end() const {
  std::vector<std::string> violations;
  for (std::size_t number = 0; number < workers_.size(); ++number) {
    if (at_[number] < schedule_.workers[number].size()) {
      violations.push_back(place(number) + ": " + why_it_waits(number));
    }
  }
  for (std::size_t number = 0; violations.empty() && number < workers_.size(); ++number) {
    const Problem problem = workers_[number].check_end();
    if (!problem.empty()) {
      violations.push_back(place(number) + ": " + problem);
    }
  }
  for (const auto& [pair, messages] : sent_) {
    if (violations.empty() && !messages.empty()) {
      violations.push_back("worker " + std::to_string(pair.second) + " never receives '" +
                           text_of(messages.front(), setup_.names) + "' of worker " +
                           std::to_string(pair.first));
    }
  }
  return violations;
}

WorkOptions meaning_of(WorkOptions options) {
  options.order = PassOrder::kFree;
  options.max_open_leaves = options.max_penalty_leaves = 0;
  return options;
}

}  // namespace

ScheduleValidator::ScheduleValidator(const std::vector<Phase>& phases, const Layout& layout,
                                     int first_step, int num_steps, WorkOptions options,
                                     Costs costs, PerNetwork<std::string> names)
    : names_(std::move(names)),
      costs_(std::move(costs)),
      graph_(phases, layout, first_step, num_steps, meaning_of(std::move(options))),
      tensors_(graph_, costs_),
      index_(graph_) {}

std::vector<std::string> ScheduleValidator::violations(const StageSchedule& schedule,
                                                       const HoldingLimits& limits) const {
  if (static_cast<int>(schedule.workers.size()) != graph_.num_workers()) {
    return {"there are lists of " + std::to_string(schedule.workers.size()) +
            " workers, the layout has " + std::to_string(graph_.num_workers())};
  }
  const FollowedWorker::Setup setup{.graph = graph_,
                                    .tensors = tensors_,
                                    .index = index_,
                                    .costs = costs_,
                                    .limits = limits,
                                    .names = names_};
  return Validation(schedule, setup).run();
}

}  // namespace gangway::pipeline
