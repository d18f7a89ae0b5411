// SPDX-License-Identifier: MIT
// What records the work that is put on a device's stream, and plays it again as a whole: a CUDA
// graph (worker/cuda/cuda_recorder.hpp). Compute thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace gangway::worker {

class GraphRecorder {
 public:
  virtual ~GraphRecorder() = default;
  /// Runs `body`. What it puts on the device's stream is recorded and not done; the random numbers
  /// that it draws are those of the step that is named when it is played. Returns the graph's
  /// number, from 0 on. Graphs share memory: they are played in the order of their recording.
  /// @throws whatever `body` throws, and Error where the device cannot record what it does; nothing
  /// has been recorded then, and the device computes on.
  virtual std::size_t record(const std::function<void()>& body) = 0;
  /// Names the step of what is played from now on.
  virtual void begin_step(std::uint64_t seed, std::int64_t step) = 0;
  /// Gives back memory that nothing uses: graphs have their own, and what plain steps left is not
  /// theirs. May wait for the device. @pre nobody has an exchange there that others are to launch
  virtual void give_back() {}
  /// Puts all of a graph on the stream. @pre its step was named
  virtual void play(std::size_t graph) = 0;
};

}  // namespace gangway::worker
