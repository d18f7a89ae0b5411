// SPDX-License-Identifier: MIT
// What stands for a device's graphs where none can be recorded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "worker/step/graph_recorder.hpp"

namespace gangway::fidelity {

/// What recorders of a training have been asked for.
struct Calls {
  int recorded = 0;
  int played = 0;
  int given_back = 0;
  int given_up = 0;  ///< whatever was recorded was forgotten
  int most_beside = 0;
  int fails_at = -1;  ///< which recording, for recorders that do
};

/// Plays by computing again what it has computed when it recorded.
class ComputingRecorder : public worker::GraphRecorder {
 public:
  explicit ComputingRecorder(Calls& calls) : calls_(calls) {}
  std::size_t record(const std::function<void()>& body) override {
    body();
    bodies_.push_back(body);
    ++calls_.recorded;
    return bodies_.size() - 1;
  }
  /// Those between the first and the last the other way round: they need nothing of one another.
  /// With those two a leaf goes on from one graph to the next.
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
