// SPDX-License-Identifier: MIT
// Interface that records work on a device's stream and rereplays it as a whole: a CUDA graph
// (worker/cuda/cuda_recorder.hpp). Compute thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace gangway::worker {

class GraphRecorder {
 public:
  virtual ~GraphRecorder() = default;
  /// Runs `body` and records, without running it, its work on the device's stream. Its random draws
  /// use the step that is named when the graph is replayed. Returns the graph's number, from 0 on.
  /// Graphs share memory, so they are replayed in the order of recording.
  /// @throws the exceptions of `body`, and Error if the device cannot record its work. The device
  /// then computes normally; call forget_all() before the next recording.
  virtual std::size_t record(const std::function<void()>& body) = 0;
  /// Called inside a recorded body. Runs `bodies` in order, but records their work as parallel
  /// branches after the earlier work; later work waits for all branches. Body n always uses the
  /// same stream, and may be null.
  virtual void side_by_side(const std::vector<std::function<void()>>& bodies) = 0;
  /// Drops all graphs; the next recorded graph is number 0. May wait for the device.
  virtual void forget_all() = 0;
  /// Names the step of the graphs replayed from now on.
  virtual void begin_step(std::uint64_t seed, std::int64_t step) = 0;
  /// Returns unused memory to the device, because graphs have their own and cannot use that of
  /// plain steps. May wait for the device. @pre no exchange on the device waits for a launch
  virtual void give_back() {}
  /// Puts a whole graph on the stream. @pre its step was named
  virtual void replay(std::size_t graph) = 0;
};

}  // namespace gangway::worker
