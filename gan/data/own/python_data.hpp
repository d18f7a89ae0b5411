// SPDX-License-Identifier: MIT
// Examples that are the user's Python (docs/python.md), read by processes of its interpreter.
// Made by open_python_data; any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/guarded.hpp"
#include "gan/data/dataset.hpp"
#include "gan/data/open_dataset.hpp"
#include "gan/data/own/reader_process.hpp"

namespace gangway::data {

/// As many processes as `spec.threads`, which read micro-batches whole. An example depends on its
/// index and its seed: to see that it does, the first is read again, in the last process and behind
/// others; and where a run trains, the readers compare each with what the run read before.
class PythonData : public Dataset {
 public:
  /// @throws ConfigError of one line; EnvironmentError
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
  /// What one example is made of decides what all are.
  void look_at(const NamedBatch& first, bool collates, const DataSpec& spec,
               const ModelSpec& model);
  [[nodiscard]] bool has_pictures(const NamedBatch& first, const ModelSpec& model) const;
  /// What an example that is no picture, or not two, needs.
  [[nodiscard]] std::string remedy(const ModelSpec& model) const;
  [[nodiscard]] std::string fingerprint_of(const std::string& own, ReaderProcess& reader);
  /// One that is killed, for want of memory, say, or waits for a disk, is begun anew, and reads the
  /// same.
  void read_with(std::unique_ptr<ReaderProcess>& reader, std::span<const SeededExample> examples,
                 NamedBatch& out) const;

  PythonSpec spec_;
  std::string executable_;
  std::chrono::milliseconds read_deadline_;
  std::int64_t size_ = 0;
  ExampleShape shape_;
  int num_classes_ = 0;
  int most_classes_ = 0;                 // of the job
  std::vector<std::string> pictures_{};  // names of those that an example is made of
  Reads reads_ = Reads::kNamed;
  std::string first_text_;  // of its first example, where they are pictures
  std::string fingerprint_;
  std::string hashes_;  // file of this run; empty: examples are not compared

  mutable Mutex mutex_;
  mutable std::condition_variable_any changed_;
  mutable std::vector<std::unique_ptr<ReaderProcess>> idle_ GANGWAY_GUARDED_BY(mutex_);
};

}  // namespace gangway::data
