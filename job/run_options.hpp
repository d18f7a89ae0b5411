// SPDX-License-Identifier: MIT
// Parts `checkpoint`, `evaluation` and `output` of a job file: what a run writes, and where.
// Nothing in them can change a weight. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "job/evaluation.hpp"

namespace gangway {

/// Checkpoints are taken at whichever comes first of the three intervals; 0: not by this one. One
/// is always taken at the end.
struct CheckpointSpec {
  static constexpr std::int64_t kAutoSnapshots = -1;

  double every_kimg = 10.0;
  double every_seconds = 0.0;
  std::int64_t every_steps = 0;
  int keep = 3;             ///< newest that stay
  double keep_every = 0.0;  ///< kimg; the first of each such stretch stays for good; 0: none
  int keep_best = 0;        ///< those with the best scores stay, so many
  int early_stop = 0;       ///< scores in a row without a better one that end the run; 0: none do
  /// From one snapshot in memory to the next; 0: none are taken.
  std::int64_t snapshot_steps = kAutoSnapshots;
  double snapshot_cost = 0.02;  ///< most share of the time for them, where processes were lost
  bool operator==(const CheckpointSpec&) const = default;
};

struct OutputSpec {
  double tick_kimg = 1.0;
  double pictures_kimg = 4.0;
  int grid = 8;  ///< pictures a side of a grid
  double histograms_kimg =
      0.0;  ///< from one set of histograms for TensorBoard to the next; 0: none
  /// Where the live page listens: auto, off, or as job/http_address.hpp has it.
  std::string http = "auto";
  bool http_plain = false;          ///< without TLS, to other hosts too
  std::string control = "auto";     ///< where the job is steered: auto, off or ADDRESS:PORT
  std::string control_certificate;  ///< PEM file, of both of them; empty: no TLS
  std::string control_key;          ///< PEM file
  bool operator==(const OutputSpec&) const = default;
};

struct RunOptions {
  CheckpointSpec checkpoint;
  EvaluationSpec evaluation;
  OutputSpec output;

  /// Whether checkpoints are scored.
  [[nodiscard]] bool is_scored() const {
    return checkpoint.keep_best > 0 || evaluation.every_kimg > 0.0;
  }
  bool operator==(const RunOptions&) const = default;
};

}  // namespace gangway
