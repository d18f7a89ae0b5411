// SPDX-License-Identifier: MIT
// What would make a run faster, by what its ticks tell: evidence, remedy, and an estimate of the
// gain. `gangway advise` reads a run's record with it, the coordinator asks it at every tick. Pure.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "report/advice/memory_growth.hpp"

namespace gangway::report {

struct Advice {
  std::string rule;               ///< "decode-bound"
  std::string evidence;           ///< what was seen
  std::vector<std::string> keys;  ///< "data.cache=auto": what a program can take as it is
  std::string remedy;             ///< the keys, and what else helps
  double gain = 1.0;              ///< times as fast, if what `evidence` tells would cost nothing
  bool changes_numbers = false;   ///< then it is for a new job
  bool needs_restart = true;      ///< else it can be done while the run goes on
};

/// "decode-bound: waits …: data.cache=auto (about 1.47 times as fast; the same numbers; …)"
[[nodiscard]] std::string advice_line(const Advice& advice);

/// The same for programs.
[[nodiscard]] nlohmann::json json_of(const Advice& advice);

class AdviceBook {
 public:
  /// @param keys  of the job, as report::advice_keys
  explicit AdviceBook(std::map<std::string, std::string> keys) : keys_(std::move(keys)) {}

  /// Takes in one tick, as a line of stats.jsonl has it. @return what is new: it was seen in three
  /// of the last four ticks. It is forgotten when it was seen at less than half in as many.
  std::vector<Advice> add(const nlohmann::json& tick);
  /// What holds now, the greatest gain first.
  [[nodiscard]] std::vector<Advice> current() const;
  /// Share of a step, 0 to 1, that computes, over the last ticks; what is left when nothing is to
  /// be advised. 0: no tick has told its parts.
  [[nodiscard]] double computing() const;

 private:
  struct Watched {
    std::deque<double> shares;  ///< of the last ticks, newest last
    bool is_on = false;
    Advice advice;  ///< as of the newest tick
  };

  std::map<std::string, std::string> keys_;
  std::map<std::string, Watched> watched_;  ///< by rule
  MemoryGrowth growth_;
  std::deque<double> computing_;
};

}  // namespace gangway::report
