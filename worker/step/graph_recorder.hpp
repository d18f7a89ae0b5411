// SPDX-License-Identifier: MIT
// What records the work that is put on a device's stream, and plays it again as a whole: a CUDA
// graph (worker/cuda/cuda_recorder.hpp). Compute thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace gangway::worker {

class GraphRecorder {
 public:
  virtual ~GraphRecorder() = default;
  /// Runs `body`. What it puts on the device's stream is recorded and not done; the random numbers
  /// that it draws are those of the step that is named when it is played. Returns the graph's
  /// number, from 0 on. Graphs share memory: they are played in the order of their recording.
  /// @throws whatever `body` throws, and Error where the device cannot record what it does; the
  /// device computes on then, and forget_all() has to come before the next recording.
  virtual std::size_t record(const std::function<void()>& body) = 0;
  /// Of a body that is being recorded: runs `bodies` in their order, but their work waits for what
  /// was recorded before and for nothing of one another's; what is recorded next waits for all of
  /// it. The n-th is put on the same stream each time, and may be null.
  virtual void side_by_side(const std::vector<std::function<void()>>& bodies) = 0;
  /// Graphs are played no more; the next one that is recorded is number 0. May wait for the device.
  virtual void forget_all() = 0;
  /// Names the step of what is played from now on.
  virtual void begin_step(std::uint64_t seed, std::int64_t step) = 0;
  /// Gives back memory that nothing uses: graphs have their own, and what plain steps left is not
  /// theirs. May wait for the device. @pre nobody has an exchange there that others are to launch
  virtual void give_back() {}
  /// Puts all of a graph on the stream. @pre its step was named
  virtual void play(std::size_t graph) = 0;
};

}  // namespace gangway::worker
