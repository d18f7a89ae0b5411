// SPDX-License-Identifier: MIT
// Stand-ins for a device's graphs, for builds that cannot record any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "worker/step/graph_recorder.hpp"

namespace gangway::fidelity {

/// Counts of a training's calls of its recorders.
struct Calls {
  int recorded = 0;
  int played = 0;
  int given_back = 0;
  int given_up = 0;  ///< all recordings were dropped
  int most_beside = 0;
  int fails_at = -1;  ///< number of the recording that fails
};

/// Replays by computing the recorded work again.
class ComputingRecorder : public worker::GraphRecorder {
 public:
  explicit ComputingRecorder(Calls& calls) : calls_(calls) {}
  std::size_t record(const std::function<void()>& body) override {
    body();
    bodies_.push_back(body);
    ++calls_.recorded;
    return bodies_.size() - 1;
  }
  /// Runs the bodies between the first and the last in reverse order, because they are independent.
  /// A leaf continues from graph to graph only through the first and the last.
  void side_by_side(const std::vector<std::function<void()>>& bodies) override {
    calls_.most_beside = std::max(calls_.most_beside, static_cast<int>(bodies.size()));
    std::vector<std::function<void()>> other = bodies;
    std::erase(other, nullptr);
    std::reverse(other.begin() + 1, other.end() - (other.size() > 1 ? 1 : 0));
    std::ranges::for_each(other, [](const auto& body) { body(); });
  }
  void forget_all() override {
    bodies_.clear();
    ++calls_.given_up;
  }
  void begin_step(std::uint64_t /*seed*/, std::int64_t /*step*/) override {}
  void give_back() override { ++calls_.given_back; }
  void replay(std::size_t graph) override {
    bodies_.at(graph)();
    ++calls_.played;
  }

 protected:
  [[nodiscard]] const Calls& calls() const { return calls_; }

 private:
  Calls& calls_;
  std::vector<std::function<void()>> bodies_;
};

}  // namespace gangway::fidelity
