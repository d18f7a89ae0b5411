// SPDX-License-Identifier: MIT
// The pictures of a run: real examples once, generated ones of fixed noise again and again. One
// worker draws; the others only help to gather averages. Compute thread.
#pragma once

#include <filesystem>
#include <string>

#include "comm/lane.hpp"
#include "comm/transport/transport.hpp"
#include "gan/data/dataset.hpp"
#include "gan/python/python_step.hpp"
#include "worker/state/network_state.hpp"

namespace gangway::worker {

class SamplePictures {
 public:
  struct Setup {
    const Job& job;
    int grid;  ///< pictures a side of a grid
    const data::Dataset& dataset;
    NetworkId network;  ///< that makes them
    PerNetwork<NetworkState*> states;
    /// Makes them with all networks instead; null: nobody does.
    gan::PythonStep* own_step = nullptr;
    int drawer = 0;  ///< the worker that draws generated ones: the first that holds the network
    comm::Transport& transport;
    comm::Lane& lane;
    std::filesystem::path run_directory;
    std::chrono::milliseconds timeout;
  };
  explicit SamplePictures(Setup setup) : setup_(std::move(setup)) {}

  /// Writes reals.png: the first examples of the first data pass. Worker 0 only.
  void write_reals() const;
  /// Writes `file` (a name in the run directory) from fixed noise, or where the recipe changes
  /// pictures from those of reals.png, and the averaged generator; where the step makes sounds, a
  /// file of them beside it. All workers call it; true on the one that wrote.
  bool write_fakes(const std::string& file);

 private:
  /// The average of the network, or else its weights: whole on the drawer, once all have called it.
  [[nodiscard]] comm::Arena& gathered(NetworkId network);
  /// Of all networks' averages.
  void write_own(const std::string& file);
  void write(const std::string& file, const at::Tensor& examples) const;

  Setup setup_;
};

/// "fakes000484.png" after 484 kimg, "fakes000000.512.png" in a job with pictures more often than
/// every kimg; "fakes_init.png" before the first step.
[[nodiscard]] std::string fakes_file(const Job& job, const OutputSpec& output,
                                     std::int64_t steps_done);

}  // namespace gangway::worker
