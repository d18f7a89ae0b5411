// SPDX-License-Identifier: MIT
// What the stand-in for CUDA captures: pieces of work, and which wait for which; and its events.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

namespace gangway::fake {

class Graph {
 public:
  /// Behind what `stream` has, and behind the piece `other` where there is one. Returns its number.
  std::size_t add(cudaStream_t stream, std::function<void()> work,
                  std::ptrdiff_t other = kNothing) {
    const std::size_t number = pieces_.size();
    const auto [last, is_first] = last_.try_emplace(stream, number);
    Piece& added = pieces_.emplace_back(Piece{std::move(work), {}});
    if (!is_first) {
      added.behind.push_back(std::exchange(last->second, number));
    }
    if (other != kNothing) {
      added.behind.push_back(static_cast<std::size_t>(other));
    }
    return number;
  }
  /// Whether all that was captured is over when `stream` has come to its end.
  [[nodiscard]] bool is_joined_by(cudaStream_t stream) const {
    std::set<std::size_t> over;
    std::vector<std::size_t> left;
    if (const auto last = last_.find(stream); last != last_.end()) {
      left.push_back(last->second);
    }
    while (!left.empty()) {
      const std::size_t number = left.back();
      left.pop_back();
      if (over.insert(number).second) {
        left.insert(left.end(), pieces_[number].behind.begin(), pieces_[number].behind.end());
      }
    }
    return over.size() == pieces_.size();
  }
  /// The work, in an order that a device may come to: of what could be next it is always what was
  /// captured last. The pieces are empty then.
  [[nodiscard]] std::vector<std::function<void()>> take_in_an_order() {
    std::vector<std::function<void()>> order;
    std::vector<bool> is_done(pieces_.size());
    const auto can_be_next = [&](std::size_t number) {
      return !is_done[number] && std::ranges::all_of(pieces_[number].behind,
                                                     [&](std::size_t one) { return is_done[one]; });
    };
    while (order.size() < pieces_.size()) {
      std::size_t next = pieces_.size() - 1;
      while (!can_be_next(next)) {
        --next;
      }
      is_done[next] = true;
      order.push_back(std::move(pieces_[next].work));
    }
    return order;
  }

  static constexpr std::ptrdiff_t kNothing = -1;

 private:
  struct Piece {
    std::function<void()> work;
    std::vector<std::size_t> behind;
  };
  std::vector<Piece> pieces_;
  std::map<cudaStream_t, std::size_t> last_;  // of each stream
};

struct EventState;

struct Capture {
  std::mutex mutex;  // guards all below
  bool is_over = false;
  Graph graph;
  std::vector<std::shared_ptr<EventState>> records;  // that are nodes of the graph
  std::vector<cudaStream_t> streams;                 // that take part
};

/// How often an event was recorded, and up to which of these its streams have come.
struct EventState {
  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  std::uint64_t recorded = 0;
  std::uint64_t reached = 0;
  std::chrono::steady_clock::time_point reached_at;
  cudaStream_t late = nullptr;         ///< where it was recorded, if that one lags
  std::shared_ptr<Capture> capture;    ///< where it was recorded, if that was captured
  std::size_t captured = 0;            ///< its piece there
  std::deque<std::uint64_t> launched;  ///< records by graphs that were launched

  /// Recorded on `stream`; returns which one it is.
  std::uint64_t record_on(cudaStream_t stream);
  void reach(std::uint64_t record) {
    const std::scoped_lock lock(mutex);
    reached = record;
    reached_at = std::chrono::steady_clock::now();
    changed.notify_all();
  }
  /// In a graph.
  void reach_next() {
    std::unique_lock lock(mutex);
    const std::uint64_t record = launched.front();
    launched.pop_front();
    lock.unlock();
    reach(record);
  }
  /// A stream that lags is driven by those who wait for it.
  void await(std::uint64_t record);
};

}  // namespace gangway::fake
