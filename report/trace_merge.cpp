// SPDX-License-Identifier: MIT
#include "report/trace_merge.hpp"

#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "job/atomic_file.hpp"
#include "job/trace_steps.hpp"

namespace gangway::report {
namespace {

constexpr std::string_view kLastLine = "]}";
constexpr std::size_t kChunk = std::size_t{1} << 20U;  // bytes a write

std::filesystem::path file_of(const std::filesystem::path& folder, int worker) {
  return folder / trace_file_of_rank(worker + 1);
}

/// Copies the events of one worker's file: all its lines but the first and the last.
class Merger {
 public:
  explicit Merger(const std::filesystem::path& path) : out_(path) {
    out_.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
  }
  void add(std::ifstream& file) {
    std::string text;
    std::string line;
    std::getline(file, line);  // the first
    while (std::getline(file, line) && line != kLastLine) {
      if (line.ends_with(',')) {
        line.pop_back();
      }
      text += (is_first_ ? "\n" : ",\n") + line;
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
  bool is_first_ = true;
};

}  // namespace

bool is_trace_complete(const std::filesystem::path& folder, int num_workers) {
  for (int worker = 0; worker < num_workers; ++worker) {
    if (!std::filesystem::exists(file_of(folder, worker))) {
      return false;
    }
  }
  return true;
}

int merge_traces(const std::filesystem::path& folder, int num_workers) {
  std::error_code ignored;  // as good as not there
  if (!std::filesystem::is_directory(folder, ignored)) {
    return 0;
  }
  int merged = 0;
  Merger merger(folder / kMergedTraceFile);
  for (int worker = 0; worker < num_workers; ++worker) {
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
