// SPDX-License-Identifier: MIT
// Parts `checkpoint`, `evaluation` and `output` of a job file: what a run writes, and where.
// Nothing in them can change a weight. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "job/evaluation.hpp"

namespace gangway {

/// A checkpoint is due when the first of the three intervals ends; 0: that interval is off. A
/// checkpoint is always taken at the end.
struct CheckpointSpec {
  static constexpr std::int64_t kAutoSnapshots = -1;

  double every_kimg = 10.0;
  double every_seconds = 0.0;
  std::int64_t every_steps = 0;
  int keep = 3;             ///< newest checkpoints to keep
  double keep_every = 0.0;  ///< kimg; the first checkpoint of each such stretch is kept; 0: none
  int keep_best = 0;        ///< checkpoints with the best scores to keep
  int early_stop = 0;       ///< consecutive scores without a better one that end the run; 0: never
  /// Steps between two snapshots in memory; 0: none are taken.
  std::int64_t snapshot_steps = kAutoSnapshots;
  double snapshot_cost = 0.02;  ///< largest share of time for snapshots, if processes were lost
  bool operator==(const CheckpointSpec&) const = default;
};

struct OutputSpec {
  double tick_kimg = 1.0;
  double pictures_kimg = 4.0;
  int grid = 8;                  ///< pictures per side of a grid
  double histograms_kimg = 0.0;  ///< between histograms for TensorBoard; 0: none
  /// Address of the live page: auto, off, or as in job/http_address.hpp.
  std::string http = "auto";
  bool http_plain = false;          ///< serve without TLS, to other hosts too
  std::string control = "auto";     ///< address for control of the job: auto, off or ADDRESS:PORT
  std::string control_certificate;  ///< PEM file, for live page and control; empty: no TLS
  std::string control_key;          ///< PEM file
  bool operator==(const OutputSpec&) const = default;
};

struct RunOptions {
  CheckpointSpec checkpoint;
  EvaluationSpec evaluation;
  OutputSpec output;

  [[nodiscard]] bool is_scored() const {
    return checkpoint.keep_best > 0 || evaluation.every_kimg > 0.0;
  }
  bool operator==(const RunOptions&) const = default;
};

}  // namespace gangway
