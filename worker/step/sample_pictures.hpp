// SPDX-License-Identifier: MIT
// Writes the pictures of a run: real examples once, and generated ones from fixed noise repeatedly.
// One worker draws; the others only help to gather averages. Compute thread.
#pragma once

#include <filesystem>
#include <string>

#include "comm/lane.hpp"
#include "comm/transport/transport.hpp"
#include "data/dataset.hpp"
#include "python/open/python_step.hpp"
#include "worker/state/network_state.hpp"

namespace gangway::worker {

struct SamplePicturesSetup {
  const Job& job;
  int grid;  ///< pictures a side of a grid
  const data::Dataset& dataset;
  NetworkId network;  ///< makes the pictures
  PerNetwork<NetworkState*> states;
  /// The user's step, which makes pictures with all networks instead; null: not used.
  python::PythonStep* own_step = nullptr;
  int drawer = 0;  ///< draws generated ones: first worker with the network
  comm::Transport& transport;
  comm::Lane& lane;
  std::filesystem::path run_directory;
  std::chrono::milliseconds timeout;
};

class SamplePictures {
 public:
  explicit SamplePictures(SamplePicturesSetup setup) : setup_(std::move(setup)) {}

  /// Writes reals.png: the first examples of the first data pass. Worker 0 only.
  void write_reals() const;
  /// Writes `file` (a name in the run directory) with the averaged generator. Its input is fixed
  /// noise, or the pictures of reals.png if the recipe transforms pictures. If the step makes
  /// sounds, writes a file of them too. All workers call it; returns true on the one that wrote.
  bool write_fakes(const std::string& file);

 private:
  /// Gathers the network's average, or else its weights, on the drawer; all workers call it.
  [[nodiscard]] comm::Arena& gathered(NetworkId network);
  /// Writes the pictures of the user's step, with all networks' averages.
  void write_own(const std::string& file);
  void write(const std::string& file, const at::Tensor& examples) const;

  SamplePicturesSetup setup_;
};

/// "fakes000484.png" after 484 kimg, "fakes000000.512.png" in a job with pictures more often than
/// every kimg; "fakes_init.png" before the first step.
[[nodiscard]] std::string fakes_file(const Job& job, const OutputSpec& output,
                                     std::int64_t steps_done);

}  // namespace gangway::worker
