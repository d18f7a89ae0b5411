// SPDX-License-Identifier: MIT
#include "report/trace_merge.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "run/trace_steps.hpp"

namespace gangway::report {
namespace {

constexpr std::string_view kLastLine = "]}";
constexpr std::string_view kTime = ",\"ts\":";
constexpr std::size_t kChunk = std::size_t{1} << 20U;  // bytes a write

std::filesystem::path file_of(const std::filesystem::path& folder, WorkerIndex worker) {
  return folder / trace_file_of_rank(rank_of(worker));
}

/// Returns the start time of the earliest worker; 0 if there is no file.
std::int64_t first_beginning(const std::filesystem::path& folder, int num_workers) {
  std::int64_t first = 0;
  for (WorkerIndex worker; worker.value() < num_workers; ++worker) {
    std::ifstream file(file_of(folder, worker));
    std::string line;
    if (std::getline(file, line)) {
      const std::int64_t began = began_in_head(line);
      first = first == 0 ? began : std::min(first, began);
    }
  }
  return first;
}

/// Returns the event with its time, the last member, shifted by `microseconds`.
std::string shifted(const std::string& event, double microseconds) {
  const std::size_t found = event.rfind(kTime);
  double time = 0.0;
  if (found == std::string::npos) {
    return event;  // row names have no time
  }
  const char* const begin = event.data() + found + kTime.size();
  const auto [end, error] = std::from_chars(begin, event.data() + event.size(), time);
  if (error != std::errc{}) {
    return event;
  }
  return fmt::format("{}{:.3f}{}", event.substr(0, found + kTime.size()), time + microseconds, end);
}

/// Copies the events of one worker's file: all lines except the first and the last.
class Merger {
 public:
  /// @param began  start of the earliest worker
  Merger(const std::filesystem::path& path, std::int64_t began) : out_(path), began_(began) {
    std::string head = trace_file_head(began);
    head.pop_back();
    out_.write(head);
  }
  void add(std::ifstream& file) {
    std::string text;
    std::string line;
    std::getline(file, line);
    const double later = static_cast<double>(began_in_head(line) - began_) / 1000.0;
    while (std::getline(file, line) && line != kLastLine) {
      if (line.ends_with(',')) {
        line.pop_back();
      }
      text += (is_first_ ? "\n" : ",\n") + shifted(line, later);
      is_first_ = false;
      if (text.size() > kChunk) {
        out_.write(std::exchange(text, {}));
      }
    }
    out_.write(text);
  }
  void finish() {
    out_.write(fmt::format("\n{}\n", kLastLine));
    out_.commit();
  }

 private:
  AtomicFile out_;
  std::int64_t began_;
  bool is_first_ = true;
};

}  // namespace

bool is_trace_complete(const std::filesystem::path& folder, int num_workers) {
  for (WorkerIndex worker; worker.value() < num_workers; ++worker) {
    if (!std::filesystem::exists(file_of(folder, worker))) {
      return false;
    }
  }
  return true;
}

int merge_traces(const std::filesystem::path& folder, int num_workers) {
  std::error_code ignored;  // a missing file is fine
  if (!std::filesystem::is_directory(folder, ignored)) {
    return 0;
  }
  int merged = 0;
  Merger merger(folder / kMergedTraceFile, first_beginning(folder, num_workers));
  for (WorkerIndex worker; worker.value() < num_workers; ++worker) {
    if (std::ifstream file(file_of(folder, worker)); file) {
      merger.add(file);
      ++merged;
    }
  }
  if (merged > 0) {
    merger.finish();
  }
  return merged;
}

}  // namespace gangway::report
