// SPDX-License-Identifier: MIT
// Captured graphs of the stand-in for CUDA: pieces of work with their dependencies; and its events.
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
  /// Adds a piece after the stream's last piece, and after the piece `other`. Returns its number.
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
  /// Returns whether the end of `stream` follows all captured pieces.
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
  /// Takes the work out, in an order that a device may choose: always the latest captured piece of
  /// those that could be next.
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
  std::map<cudaStream_t, std::size_t> last_;  // last piece of each stream
};

struct EventState;

struct Capture {
  std::mutex mutex;  // guards all members below
  bool is_over = false;
  Graph graph;
  std::vector<std::shared_ptr<EventState>> records;  // nodes of the graph
  std::vector<cudaStream_t> streams;                 // streams in the capture
};

/// Counts an event's records, and those that its streams have reached.
struct EventState {
  std::mutex mutex;  // guards all members below
  std::condition_variable changed;
  std::uint64_t recorded = 0;
  std::uint64_t reached = 0;
  std::chrono::steady_clock::time_point reached_at;
  cudaStream_t late = nullptr;         ///< the lagging stream of the record, or null
  std::shared_ptr<Capture> capture;    ///< the capture of the record, or null
  std::size_t captured = 0;            ///< number of its piece in the capture
  std::deque<std::uint64_t> launched;  ///< records by launched graphs

  /// Records the event on `stream`; returns the record's number.
  std::uint64_t record_on(cudaStream_t stream);
  void reach(std::uint64_t record) {
    const std::scoped_lock lock(mutex);
    reached = record;
    reached_at = std::chrono::steady_clock::now();
    changed.notify_all();
  }
  /// Reaches the next record of a launched graph.
  void reach_next() {
    std::unique_lock lock(mutex);
    const std::uint64_t record = launched.front();
    launched.pop_front();
    lock.unlock();
    reach(record);
  }
  /// Waits for a record. Drives the stream if it lags.
  void await(std::uint64_t record);
};

}  // namespace gangway::fake
