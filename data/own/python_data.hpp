// SPDX-License-Identifier: MIT
// Examples of the user's Python (docs/python.md), read by reader processes. Created by
// open_python_data. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/guarded.hpp"
#include "data/dataset.hpp"
#include "data/open_dataset.hpp"
#include "data/own/reader_process.hpp"

namespace gangway::data {

/// Runs `spec.threads` reader processes, which read whole micro-batches. An example must depend on
/// its index and seed only. To check this, the last process reads the first example again, after
/// others; in a run, readers compare each example with its hash from earlier reads.
class PythonData : public Dataset {
 public:
  /// @throws ConfigError, EnvironmentError
  PythonData(const DataSpec& spec, const ModelSpec& model, std::uint64_t seed,
             const ContentsCheck* check);

  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] ExampleShape shape() const override { return shape_; }
  [[nodiscard]] int num_classes() const override { return num_classes_; }
  [[nodiscard]] Reads reads() const override { return reads_; }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override;
  void read_pictures(std::span<const SeededExample> examples, std::span<float> images,
                     std::span<std::int64_t> labels) const override;
  void read_named(std::span<const SeededExample> examples, NamedBatch& out) const override;
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }

 private:
  [[noreturn]] void refuse(const std::string& what) const;
  /// Derives shape and kind of all examples from the first one.
  void look_at(const NamedBatch& first, bool collates, const DataSpec& spec,
               const ModelSpec& model);
  [[nodiscard]] bool has_pictures(const NamedBatch& first, const ModelSpec& model) const;
  /// Returns the remedy if an example is not one picture, or not two.
  [[nodiscard]] std::string remedy(const ModelSpec& model) const;
  [[nodiscard]] std::string fingerprint_of(const std::string& own, ReaderProcess& reader);
  /// Reads with `reader`. Restarts a reader that was killed (e.g. out of memory) or waits for a
  /// disk; the new one reads the same.
  void read_with(std::unique_ptr<ReaderProcess>& reader, std::span<const SeededExample> examples,
                 NamedBatch& out) const;

  PythonSpec spec_;
  std::string executable_;
  std::chrono::milliseconds read_deadline_;
  std::int64_t size_ = 0;
  ExampleShape shape_;
  int num_classes_ = 0;
  int most_classes_ = 0;                 // most classes that the job allows
  std::vector<std::string> pictures_{};  // names of an example's pictures
  Reads reads_ = Reads::kNamed;
  std::string first_text_;  // text of the first example, if examples are pictures
  std::string fingerprint_;
  std::string hashes_;  // this run's file of hashes; empty: no comparison

  mutable Mutex mutex_;
  mutable std::condition_variable_any changed_;
  mutable std::vector<std::unique_ptr<ReaderProcess>> idle_ GANGWAY_GUARDED_BY(mutex_);
};

}  // namespace gangway::data
