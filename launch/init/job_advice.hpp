// SPDX-License-Identifier: MIT
// Which job is worth a first try on a set of pictures, a machine and a time. Each choice comes with
// its reason; docs/init-job.md has them as a table. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/data/picture_facts.hpp"

namespace gangway::launch {

inline constexpr int kAdvisedBatch = 64;

struct JobWishes {
  double minutes = 30.0;
  std::optional<int> resolution = {};
  int workers = 1;
  bool has_gpu = false;
};

/// What the values of the template are made of.
struct JobAdvice {
  int resolution = 32;
  int width = 32;
  double kimg = 0.0;
  int microbatches = 2;
  int classes = 0;  ///< 0: trains without labels
  bool augments = false;
  bool is_trial = false;                ///< augments as hard as it will later on
  std::string trial = {};               ///< what the trial has said; empty: there was none
  std::vector<std::string> notes = {};  ///< a line each, for the user
};

/// The one to try first. @throws ConfigError, one line with the remedy, for wishes that it cannot
/// meet
[[nodiscard]] JobAdvice advise(const PictureFacts& facts, const JobWishes& wishes);

/// Images a second that a trial of `advice` brought: another width to try, if the time allows a
/// wider network, or forbids this one; nothing where it is right, or where the trial took so much
/// of the minutes asked for that another one is too long.
[[nodiscard]] std::optional<int> other_width(const JobAdvice& advice, const JobWishes& wishes,
                                             double images_per_second, double trial_seconds);
/// For the user of a job that no trial has measured: its length is a guess, and how long it takes.
[[nodiscard]] std::string guess_note(const JobAdvice& advice, const JobWishes& wishes);
/// Fills in how long the job is, and says what that will give.
void set_length(JobAdvice& advice, const JobWishes& wishes, double images_per_second);

/// A job file of examples/published/ with `source`, the path of a folder or file, in the place of
/// PATH in its data.source.
[[nodiscard]] std::string with_source(std::string_view recipe, const std::string& source);

/// The job file.
[[nodiscard]] std::string job_text(const JobAdvice& advice, const PictureFacts& facts,
                                   const JobWishes& wishes, const std::string& file,
                                   const std::string& command);

}  // namespace gangway::launch
