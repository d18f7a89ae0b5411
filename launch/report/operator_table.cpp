// SPDX-License-Identifier: MIT
#include "launch/report/operator_table.hpp"

#include <algorithm>
#include <fstream>
#include <span>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "report/table.hpp"
#include "run/trace_steps.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

using SumsByName = std::map<std::string, OperatorSum>;

/// A call that may still contain others.
struct OpenOperator {
  double end = 0.0;
  OperatorSum* sum = nullptr;
};

/// Adds one thread's calls; sorts callers before the calls that they contain.
void add_thread(std::vector<TracedOperator> calls, SumsByName& sums) {
  std::ranges::sort(calls, [](const TracedOperator& a, const TracedOperator& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.duration > b.duration;
  });
  std::vector<OpenOperator> around;
  for (const TracedOperator& call : calls) {
    while (!around.empty() && around.back().end <= call.begin) {
      around.pop_back();
    }
    const double end = call.begin + call.duration;
    if (!around.empty()) {  // rounding may let a call outlast its caller
      around.back().sum->self -= std::min(end, around.back().end) - call.begin;
    }
    OperatorSum& sum = sums[call.name];
    sum.name = call.name;
    sum.calls += 1;
    sum.total += call.duration;
    sum.self += call.duration;
    sum.allocated += call.allocated;
    around.push_back({.end = end, .sum = &sum});
  }
}

/// Returns " [64,1,28,28] [32,1,4,4]": shapes of a call's tensor inputs.
std::string shapes_text(const nlohmann::json& arguments) {
  std::string text;
  for (const auto& shape : arguments.value("Input Dims", nlohmann::json::array())) {
    text += shape.empty() ? "" : " " + shape.dump();
  }
  return text;
}

/// Parses one line of a rank's file; false: no event.
bool add_event(std::string line, OperatorChoice choice, TracedThreads& threads) {
  if (line.ends_with(',')) {
    line.pop_back();
  }
  const auto event = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!event.is_object()) {
    return false;
  }
  if (event.value("cat", "") == (choice.kernels ? "kernel" : "operator")) {
    const auto arguments = event.value("args", nlohmann::json::object());
    const std::string shapes = choice.shapes ? shapes_text(arguments) : "";
    threads[{event.value("pid", 0), event.value("tid", 0)}].push_back(
        {.name = event.value("name", "") + shapes,
         .begin = event.value("ts", 0.0),
         .duration = event.value("dur", 0.0),
         .allocated = arguments.value("allocated", std::int64_t{0})});
  }
  return true;
}

void add_file(const fs::path& path, OperatorChoice choice, TracedThreads& threads) {
  constexpr std::string_view kLastLine = "]}";
  std::ifstream file(path);
  std::string line;
  bool is_whole = std::getline(file, line) && began_in_head(line + "\n") != 0;
  while (is_whole && std::getline(file, line) && line != kLastLine) {
    is_whole = line.empty() || add_event(line, choice, threads);
  }
  if (!is_whole || line != kLastLine) {
    throw ConfigError(
        fmt::format("{}: is no whole trace: trace some steps again ('gangway trace RUN "
                    "--next 10', or 'gangway run' with --trace 100:110)",
                    path.string()));
  }
}

std::span<const OperatorSum> first_of(const std::vector<OperatorSum>& sums, std::size_t most) {
  return std::span(sums).first(std::min(most, sums.size()));
}

double all_selves(const std::vector<OperatorSum>& sums) {
  double all = 0.0;
  for (const OperatorSum& sum : sums) {
    all += sum.self;
  }
  return all;
}

bool any_allocated(const std::vector<OperatorSum>& sums) {
  return std::ranges::any_of(sums, [](const OperatorSum& sum) { return sum.allocated > 0; });
}

}  // namespace

std::vector<OperatorSum> operator_sums(TracedThreads threads, OperatorOrder order) {
  SumsByName by_name;
  for (auto& [thread, calls] : threads) {
    add_thread(std::move(calls), by_name);
  }
  std::vector<OperatorSum> sums;
  for (auto& [name, sum] : by_name) {
    sums.push_back(std::move(sum));
  }
  std::ranges::stable_sort(
      sums, std::ranges::greater{},
      order == OperatorOrder::kSelf ? &OperatorSum::self : &OperatorSum::total);
  return sums;
}

TracedThreads read_operators(const fs::path& run, OperatorChoice choice) {
  const fs::path folder = run / kTraceFolder;
  TracedThreads threads;
  int num_files = 0;
  std::error_code ignored;  // treated as missing
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("rank") && name.ends_with(".json")) {
      add_file(entry->path(), choice, threads);
      ++num_files;
    }
  }
  if (num_files == 0) {
    throw ConfigError(fmt::format(
        "{}: the run has left no trace: 'gangway trace RUN --next 10' asks a running job "
        "for one, 'gangway run' with --trace 100:110 leaves one",
        folder.string()));
  }
  return threads;
}

std::string operator_table(const std::vector<OperatorSum>& sums, std::size_t most) {
  const double all = all_selves(sums);
  const bool has_memory = any_allocated(sums);
  std::vector<report::Column> columns{{.title = "operator"},
                                      {.title = "calls", .align = Align::kRight},
                                      {.title = "total ms", .align = Align::kRight},
                                      {.title = "self ms", .align = Align::kRight},
                                      {.title = "share", .align = Align::kRight}};
  if (has_memory) {
    columns.push_back({.title = "allocated MiB", .align = Align::kRight});
  }
  report::Table table(std::move(columns));
  for (const OperatorSum& sum : first_of(sums, most)) {
    std::vector<std::string> row{sum.name, std::to_string(sum.calls),
                                 fmt::format("{:.3f}", sum.total / 1e3),
                                 fmt::format("{:.3f}", sum.self / 1e3),
                                 fmt::format("{:.1f} %", all > 0.0 ? 100.0 * sum.self / all : 0.0)};
    if (has_memory) {
      row.push_back(fmt::format("{:.3f}", static_cast<double>(sum.allocated) / (1024.0 * 1024.0)));
    }
    table.add_row(std::move(row));
  }
  return table.text();
}

std::string operator_lines(const std::vector<OperatorSum>& sums, std::size_t most) {
  const double all = all_selves(sums);
  const bool has_memory = any_allocated(sums);
  std::string text;
  for (const OperatorSum& sum : first_of(sums, most)) {
    nlohmann::ordered_json line{{"operator", sum.name},
                                {"calls", sum.calls},
                                {"total_ms", sum.total / 1e3},
                                {"self_ms", sum.self / 1e3},
                                {"share", all > 0.0 ? sum.self / all : 0.0}};
    if (has_memory) {
      line["allocated_bytes"] = sum.allocated;
    }
    text += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return text;
}

}  // namespace gangway::launch
