// SPDX-License-Identifier: MIT
#include "pipeline/simulator/simulator.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <string>
#include <utility>

#include "base/errors.hpp"
#include "pipeline/simulator/exchanges.hpp"
#include "pipeline/staged/work_seconds.hpp"

namespace gangway::pipeline {
namespace {

constexpr int kNobody = -1;

/// Messages from one worker to another.
struct Channel {
  Link link;
  double free_at = 0.0;
  int host = kNobody;            // whose link it shares; none: it has its own
  std::vector<double> arrivals;  // in the order of sending
  std::size_t next = 0;          // to be received
  int waiting = kNobody;
};

struct ReplayedWorker {
  double now = 0.0;
  std::size_t at = 0;
  std::vector<std::pair<int, int>> sends_to;  // worker and channel: few
  std::vector<std::pair<StageInstruction, ArmedWork>> armed;
  bool is_arming = false;  // the next work is what was armed for last
  bool may_send = false;   // it is this worker's turn on the link that it shares
  int stored = 0;
  int leaves = 0;
  std::int64_t bytes = 0;
};

class Replay {
 public:
  Replay(const StageSchedule& schedule, const Costs& costs, SimulatedStarts starts)
      : schedule_(schedule),
        costs_(costs),
        exchanges_(schedule, costs),
        workers_(schedule.workers.size()) {
    result_.workers.resize(schedule.workers.size());
    if (starts == SimulatedStarts::kKept) {
      for (const StageList& list : schedule.workers) {
        result_.starts.emplace_back(list.size());
      }
    }
    open_channels();
  }

  [[nodiscard]] Simulation run();

 private:
  enum class Outcome { kDone, kWaits };

  void open_channels();
  int channel(int from, int to);
  void go_on(int number);
  [[nodiscard]] Outcome perform(int number, const StageInstruction& what);
  void compute(int number, const StageInstruction& what);
  [[nodiscard]] Outcome send(int number, const StageInstruction& what);
  [[nodiscard]] Outcome receive(int number, const StageInstruction& what);
  [[nodiscard]] Outcome await(int number, const StageInstruction& what);
  [[nodiscard]] Outcome flush(int number);
  void reduce(int number, const StageInstruction& what);
  void hold(int number, std::int64_t bytes);
  void wake(int number) { turns_.push({workers_[static_cast<std::size_t>(number)].now, number}); }
  void check_ended() const;

  const StageSchedule& schedule_;
  const Costs& costs_;
  Exchanges exchanges_;
  std::vector<ReplayedWorker> workers_;
  std::vector<Channel> channels_;
  std::vector<double> host_free_at_;
  /// Workers that can go on, by their time: those that share a link then send in the order of time.
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>>
      turns_;
  std::vector<int> flushing_;
  double flushed_at_ = 0.0;
  Simulation result_;
};

int Replay::channel(int from, int to) {
  auto& known = workers_[static_cast<std::size_t>(from)].sends_to;
  for (const auto& [worker, index] : known) {
    if (worker == to) {
      return index;
    }
  }
  const int index = static_cast<int>(channels_.size());
  Channel one{.link = link_of(from, to, costs_.links)};
  const std::vector<int>& hosts = costs_.links.host_of;
  if (!hosts.empty() && !costs_.links.pairs.contains({from, to}) &&
      hosts[static_cast<std::size_t>(from)] != hosts[static_cast<std::size_t>(to)]) {
    one.host = hosts[static_cast<std::size_t>(from)];
  }
  channels_.push_back(std::move(one));
  known.emplace_back(to, index);
  return index;
}

void Replay::open_channels() {
  for (std::size_t from = 0; from < schedule_.workers.size(); ++from) {
    for (const StageInstruction& what : schedule_.workers[from]) {
      if (what.operation == StageOperation::kSend) {
        (void)channel(static_cast<int>(from), what.peer);
      } else if (what.operation == StageOperation::kReceive) {
        (void)channel(what.peer, static_cast<int>(from));
      }
    }
  }
  const std::vector<int>& hosts = costs_.links.host_of;
  host_free_at_.resize(
      hosts.empty() ? 0 : static_cast<std::size_t>(*std::ranges::max_element(hosts)) + 1, 0.0);
}

Simulation Replay::run() {
  result_.first_step = std::numeric_limits<int>::max();
  for (const StageList& list : schedule_.workers) {
    if (!list.empty()) {
      result_.first_step = std::min(result_.first_step, list.front().step);
    }
  }
  for (std::size_t number = 0; number < workers_.size(); ++number) {
    wake(static_cast<int>(number));
  }
  while (!turns_.empty()) {
    const int number = turns_.top().second;
    turns_.pop();
    go_on(number);
  }
  check_ended();
  result_.step_ends = exchanges_.step_ends(result_.first_step);
  for (std::size_t number = 0; number < workers_.size(); ++number) {
    result_.workers[number].lane_seconds = exchanges_.lane_seconds(static_cast<int>(number));
    result_.seconds = std::max(result_.seconds, workers_[number].now);
  }
  return std::move(result_);
}

void Replay::go_on(int number) {
  const StageList& list = schedule_.workers[static_cast<std::size_t>(number)];
  ReplayedWorker& worker = workers_[static_cast<std::size_t>(number)];
  for (; worker.at < list.size(); ++worker.at) {
    if (!result_.starts.empty()) {
      result_.starts[static_cast<std::size_t>(number)][worker.at] = worker.now;
    }
    if (perform(number, list[worker.at]) == Outcome::kWaits) {
      return;
    }
  }
}

Replay::Outcome Replay::perform(int number, const StageInstruction& what) {
  switch (what.operation) {
    case StageOperation::kSend:
      return send(number, what);
    case StageOperation::kReceive:
      return receive(number, what);
    case StageOperation::kAwait:
      return await(number, what);
    case StageOperation::kFlush:
      return flush(number);
    case StageOperation::kReduce:
      reduce(number, what);
      return Outcome::kDone;
    case StageOperation::kFree:
      hold(number, -what.bytes);
      return Outcome::kDone;
    case StageOperation::kArm: {
      ReplayedWorker& worker = workers_[static_cast<std::size_t>(number)];
      worker.armed.emplace_back(what, ArmedWork{});
      worker.is_arming = true;
      return Outcome::kDone;
    }
    case StageOperation::kOpenLeaf:
    case StageOperation::kCloseLeaf: {
      const int change = what.operation == StageOperation::kOpenLeaf ? 1 : -1;
      int& leaves = workers_[static_cast<std::size_t>(number)].leaves;
      leaves += change;
      int& peak = result_.workers[static_cast<std::size_t>(number)].peak_leaves;
      peak = std::max(peak, leaves);
      hold(number,
           change *
               costs_.chunks[what.network][static_cast<std::size_t>(what.chunk)].gradient_bytes);
      return Outcome::kDone;
    }
    default:
      compute(number, what);
      return Outcome::kDone;
  }
}

void Replay::hold(int number, std::int64_t bytes) {
  std::int64_t& held = workers_[static_cast<std::size_t>(number)].bytes;
  held += bytes;
  std::int64_t& peak = result_.workers[static_cast<std::size_t>(number)].peak_bytes;
  peak = std::max(peak, held);
}

void Replay::compute(int number, const StageInstruction& what) {
  ReplayedWorker& worker = workers_[static_cast<std::size_t>(number)];
  SimulatedWorker& figures = result_.workers[static_cast<std::size_t>(number)];
  const double seconds = seconds_of(what, number, costs_);
  if (worker.is_arming) {
    worker.armed.back().second = {worker.now, seconds};
    worker.is_arming = false;
  }
  worker.now += seconds;
  figures.busy_seconds += seconds;
  const std::int64_t stored =
      costs_.chunks[what.network][static_cast<std::size_t>(what.chunk)].stored_bytes;
  if (what.keeps) {
    figures.peak_stored = std::max(figures.peak_stored, ++worker.stored);
    hold(number, stored);
  }
  if (what.lets_go) {
    --worker.stored;
    hold(number, -stored);
  }
}

Replay::Outcome Replay::send(int number, const StageInstruction& what) {
  ReplayedWorker& worker = workers_[static_cast<std::size_t>(number)];
  Channel& way = channels_[static_cast<std::size_t>(channel(number, what.peer))];
  if (way.host != kNobody && !std::exchange(worker.may_send, false)) {
    worker.may_send = true;
    wake(number);
    return Outcome::kWaits;
  }
  double& free_at =
      way.host == kNobody ? way.free_at : host_free_at_[static_cast<std::size_t>(way.host)];
  free_at =
      std::max(free_at, worker.now) + static_cast<double>(what.bytes) / way.link.bytes_per_second;
  way.arrivals.push_back(free_at + way.link.latency_seconds);
  if (const int waiting = std::exchange(way.waiting, kNobody); waiting != kNobody) {
    wake(waiting);
  }
  return Outcome::kDone;
}

Replay::Outcome Replay::receive(int number, const StageInstruction& what) {
  Channel& way = channels_[static_cast<std::size_t>(channel(what.peer, number))];
  if (way.next == way.arrivals.size()) {
    way.waiting = number;
    return Outcome::kWaits;
  }
  ReplayedWorker& worker = workers_[static_cast<std::size_t>(number)];
  const double arrival = way.arrivals[way.next++];
  if (arrival > worker.now) {
    result_.workers[static_cast<std::size_t>(number)].message_seconds += arrival - worker.now;
    worker.now = arrival;
  }
  hold(number, what.bytes);
  return Outcome::kDone;
}

void Replay::reduce(int number, const StageInstruction& what) {
  ReplayedWorker& worker = workers_[static_cast<std::size_t>(number)];
  const double seconds = seconds_of(what, number, costs_);
  worker.now += seconds;
  result_.workers[static_cast<std::size_t>(number)].busy_seconds += seconds;
  const auto armed = std::ranges::find_if(worker.armed, [&](const auto& one) {
    return one.first.network == what.network && one.first.chunk == what.chunk;
  });
  std::optional<ArmedWork> work;
  if (armed != worker.armed.end()) {
    work = armed->second;
    worker.armed.erase(armed);
  }
  for (const int woken : exchanges_.reduce(number, what, worker.now, work)) {
    wake(woken);
  }
}

Replay::Outcome Replay::await(int number, const StageInstruction& what) {
  const std::optional<double> end = exchanges_.end_of(number, what);
  if (!end) {
    return Outcome::kWaits;
  }
  ReplayedWorker& worker = workers_[static_cast<std::size_t>(number)];
  if (*end > worker.now) {
    result_.workers[static_cast<std::size_t>(number)].exposed_seconds += *end - worker.now;
    worker.now = *end;
  }
  return Outcome::kDone;
}

Replay::Outcome Replay::flush(int number) {
  flushing_.push_back(number);
  if (flushing_.size() < workers_.size()) {
    return Outcome::kWaits;
  }
  double end = 0.0;
  for (const ReplayedWorker& worker : workers_) {
    end = std::max(end, worker.now);
  }
  for (const int other : flushing_) {
    ReplayedWorker& worker = workers_[static_cast<std::size_t>(other)];
    result_.workers[static_cast<std::size_t>(other)].message_seconds += end - worker.now;
    worker.now = end;
    if (other != number) {
      ++worker.at;
      wake(other);
    }
  }
  flushing_.clear();
  return Outcome::kDone;
}

void Replay::check_ended() const {
  for (std::size_t number = 0; number < workers_.size(); ++number) {
    const StageList& list = schedule_.workers[number];
    const std::size_t at = workers_[number].at;
    if (at < list.size()) {
      throw InvariantError("worker " + std::to_string(number) + ", line " + std::to_string(at + 1) +
                           ": it waits for ever at a " + std::string(name_of(list[at].operation)));
    }
  }
}

}  // namespace

double Simulation::step_seconds() const {
  const std::size_t num_steps = step_ends.size();
  if (num_steps < 4) {
    return num_steps == 0 ? 0.0 : seconds / static_cast<double>(num_steps);
  }
  return (step_ends[num_steps - 2] - step_ends[1]) / static_cast<double>(num_steps - 3);
}

double Simulation::bubble(int worker) const {
  const double whole = step_seconds() * static_cast<double>(step_ends.size());
  const double busy = workers[static_cast<std::size_t>(worker)].busy_seconds;
  return whole > 0.0 ? std::max(0.0, 1.0 - busy / whole) : 0.0;
}

double Simulation::bubble() const {
  const double whole = step_seconds() * static_cast<double>(step_ends.size() * workers.size());
  const double busy = std::accumulate(
      workers.begin(), workers.end(), 0.0,
      [](double sum, const SimulatedWorker& worker) { return sum + worker.busy_seconds; });
  return whole > 0.0 ? std::max(0.0, 1.0 - busy / whole) : 0.0;
}

Simulation simulate(const StageSchedule& schedule, const Costs& costs, SimulatedStarts starts) {
  return Replay(schedule, costs, starts).run();
}

}  // namespace gangway::pipeline
