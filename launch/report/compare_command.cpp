// SPDX-License-Identifier: MIT
#include "launch/report/compare_command.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "report/page/static_page.hpp"
#include "report/run_view/report_document.hpp"
#include "report/table.hpp"
#include "report/tick.hpp"

namespace gangway::launch {
namespace {

using nlohmann::ordered_json;

struct CompareOptions {
  std::vector<std::string> references;
  std::filesystem::path outdir = "runs";
  std::filesystem::path output;
  bool parts = false;
  std::optional<std::string> fail_above;
};

/// "-" where there is none.
std::string number_text(const ordered_json& value, const char* format = "{:.4g}") {
  return value.is_number() ? fmt::format(fmt::runtime(format), value.get<double>()) : "-";
}

/// Of a column of the ticks; null where it has no numbers.
ordered_json mean_of(const ordered_json& run, const char* column) {
  double sum = 0.0;
  int count = 0;
  for (const ordered_json& value : run["ticks"].value(column, ordered_json::array())) {
    if (value.is_number()) {
      sum += value.get<double>();
      ++count;
    }
  }
  return count == 0 ? ordered_json(nullptr) : ordered_json(sum / count);
}

/// Whose time parts are: columns of ticks begin with it.
constexpr std::string_view kHostParts = "parts.";
constexpr std::string_view kDeviceParts = "device_parts.";
const std::string kWholeStep = "step";

using PartMeans = std::map<std::string, double>;

/// Milliseconds a step by part, means over the ticks that tell some; "step": all of them. The first
/// of these, in which libraries warm up, counts where there is no other.
PartMeans part_means(const ordered_json& run, std::string_view whose) {
  std::set<std::size_t> telling;
  std::map<std::string, const ordered_json*> columns;  // by part
  for (const auto& [column, values] : run["ticks"].items()) {
    if (!column.starts_with(whose)) {
      continue;
    }
    columns[column.substr(whose.size())] = &values;
    for (std::size_t tick = 0; tick < values.size(); ++tick) {
      if (values[tick].is_number()) {
        telling.insert(tick);
      }
    }
  }
  if (telling.size() > 1) {
    telling.erase(telling.begin());
  }
  PartMeans means;
  for (const auto& [part, values] : columns) {
    double sum = 0.0;
    for (const std::size_t tick : telling) {
      const ordered_json& value = values->at(tick);
      sum += value.is_number() ? value.get<double>() : 0.0;
    }
    const double mean = telling.empty() ? 0.0 : 1e3 * sum / static_cast<double>(telling.size());
    means[part] = mean;
    means[kWholeStep] += mean;
  }
  return means;
}

/// Of the GPU's step where the run tells one.
std::string data_wait_text(const ordered_json& run) {
  PartMeans means = part_means(run, kDeviceParts);
  means = means.empty() ? part_means(run, kHostParts) : means;
  return means.empty() ? "-" : fmt::format("{:.1f}", 100.0 * means["data"] / means[kWholeStep]);
}

std::string last_loss(const ordered_json& run, const std::string& column) {
  const auto values = run["ticks"].value(column, ordered_json::array());
  return values.empty() ? "-" : number_text(values.back());
}

std::string last_score(const ordered_json& run, const std::string& metric) {
  for (const ordered_json& score : run["scores"]) {
    if (score["metric"] == metric && !score["points"].empty()) {
      return number_text(score["points"].back()["value"]);
    }
  }
  return "-";
}

std::size_t num_workers(const ordered_json& run) {
  std::size_t count = 0;
  for (const ordered_json& rank : run["workers"]) {
    count += rank.value("role", "") == "worker" ? 1 : 0;
  }
  return count;
}

report::Table table_of(const ordered_json& runs, const std::string& first) {
  std::vector<report::Column> columns{{.title = first}};
  for (const ordered_json& run : runs) {
    columns.push_back({.title = run["run"]["name"].get<std::string>(), .align = Align::kRight});
  }
  return report::Table(std::move(columns));
}

void add_row(report::Table& table, const ordered_json& runs, const std::string& title,
             const std::function<std::string(const ordered_json&)>& cell) {
  std::vector<std::string> cells{title};
  for (const ordered_json& run : runs) {
    cells.push_back(cell(run));
  }
  table.add_row(std::move(cells));
}

std::string results_text(const ordered_json& runs) {
  report::Table table = table_of(runs, "");
  add_row(table, runs, "state",
          [](const ordered_json& run) { return run["run"]["state"].get<std::string>(); });
  add_row(table, runs, "kimg",
          [](const ordered_json& run) { return number_text(run["progress"]["kimg"], "{:.1f}"); });
  add_row(table, runs, "steps",
          [](const ordered_json& run) { return number_text(run["progress"]["step"], "{:.0f}"); });
  add_row(table, runs, "time", [](const ordered_json& run) {
    const ordered_json& seconds = run["progress"]["seconds"];
    return seconds.is_number() ? report::format_duration(seconds.get<double>()) : "-";
  });
  add_row(table, runs, "workers",
          [](const ordered_json& run) { return std::to_string(num_workers(run)); });
  add_row(table, runs, "images/s, mean", [](const ordered_json& run) {
    return number_text(mean_of(run, "images_per_second"), "{:.1f}");
  });
  add_row(table, runs, "waits for communication, %", [](const ordered_json& run) {
    return number_text(mean_of(run, "exposed_percent"), "{:.1f}");
  });
  add_row(table, runs, "waits for data, %", data_wait_text);
  std::set<std::string> losses;
  std::set<std::string> metrics;
  for (const ordered_json& run : runs) {
    for (const auto& [column, values] : run["ticks"].items()) {
      if (column.ends_with("_loss")) {
        losses.insert(column);
      }
    }
    for (const ordered_json& score : run["scores"]) {
      metrics.insert(score["metric"].get<std::string>());
    }
  }
  for (const std::string& loss : losses) {
    add_row(table, runs, fmt::format("{}, last", loss),
            [&loss](const ordered_json& run) { return last_loss(run, loss); });
  }
  for (const std::string& metric : metrics) {
    add_row(table, runs, fmt::format("{}, last", metric),
            [&metric](const ordered_json& run) { return last_score(run, metric); });
  }
  return table.text();
}

std::string differences_text(const ordered_json& comparison) {
  if (comparison["differences"].empty()) {
    return "Their jobs are the same, key for key.\n";
  }
  report::Table table = table_of(comparison["runs"], "key");
  for (const ordered_json& difference : comparison["differences"]) {
    std::vector<std::string> cells{difference["key"].get<std::string>()};
    for (const ordered_json& value : difference["values"]) {
      cells.push_back(value.is_string() ? value.get<std::string>() : "-");
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

std::string parts_cell(PartMeans run, const std::string& part) {
  return run.empty()
             ? "-"
             : fmt::format("{:.3f}  {:5.1f}%", run[part], 100.0 * run[part] / run[kWholeStep]);
}

/// The largest part first.
std::string parts_table(const ordered_json& runs, const std::vector<PartMeans>& means,
                        const std::string& title) {
  PartMeans most;
  for (const PartMeans& run : means) {
    for (const auto& [part, mean] : run) {
      most[part] = std::max(most[part], mean);
    }
  }
  std::vector<std::string> order;
  for (const auto& [part, mean] : most) {
    order.push_back(part);
  }
  std::ranges::stable_sort(order, std::greater(), [&](const auto& part) { return most[part]; });
  report::Table table = table_of(runs, title);
  for (const std::string& part : order) {
    std::vector<std::string> cells{part};
    for (const PartMeans& run : means) {
      cells.push_back(parts_cell(run, part));
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

/// Of the hosts, then of GPUs where there are some. @throws ConfigError where a run tells none
std::string parts_text(const ordered_json& runs) {
  std::vector<PartMeans> of_hosts;
  std::vector<PartMeans> of_devices;
  for (const ordered_json& run : runs) {
    of_hosts.push_back(part_means(run, kHostParts));
    of_devices.push_back(part_means(run, kDeviceParts));
    if (of_hosts.back().empty()) {
      throw ConfigError(fmt::format(
          "{}: its ticks do not tell the parts of a step (it has none yet, or an earlier "
          "Gangway wrote them)",
          run["run"]["name"].get<std::string>()));
    }
  }
  std::string text = parts_table(runs, of_hosts, "ms a step, slowest worker");
  if (std::ranges::any_of(of_devices, [](const PartMeans& run) { return !run.empty(); })) {
    text += "\n" + parts_table(runs, of_devices, "ms a step, its GPU");
  }
  return text;
}

/// @throws ConfigError
double percent_of(const std::string& text) {
  const std::string number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  double value = 0.0;
  const char* const end = number.data() + number.size();
  const auto read = std::from_chars(number.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end || !(value >= 0.0)) {
    throw ConfigError(fmt::format("--fail-above '{}': a percentage such as 3% is wanted", text));
  }
  return value;
}

/// Tells which of their parts take longer than the first run's, by more than so much of its step.
/// @param whose  words before a part's name. @return whether some do
bool tell_slower_parts(const PartMeans& first, const PartMeans& other, double most_percent,
                       const std::string& whose, const std::string& name) {
  bool is_slower = false;
  for (const auto& [part, mean] : other) {
    const auto before = first.find(part);
    const double more = mean - (before == first.end() ? 0.0 : before->second);
    const double percent = 100.0 * more / first.at(kWholeStep);
    if (percent > most_percent) {
      std::cout << fmt::format("slower: {}{} of {} takes {:.3f} ms more, {:.1f} % of a step\n",
                               whose, part, name, more, percent);
      is_slower = true;
    }
  }
  return is_slower;
}

/// The same of all runs, and of GPUs where both have some.
bool tell_slower(const ordered_json& runs, double most_percent) {
  const PartMeans host = part_means(runs.front(), kHostParts);
  const PartMeans device = part_means(runs.front(), kDeviceParts);
  bool is_slower = false;
  for (std::size_t other = 1; other < runs.size(); ++other) {
    const std::string name = runs[other]["run"]["name"].get<std::string>();
    is_slower =
        tell_slower_parts(host, part_means(runs[other], kHostParts), most_percent, "", name) ||
        is_slower;
    if (!device.empty()) {
      is_slower = tell_slower_parts(device, part_means(runs[other], kDeviceParts), most_percent,
                                    "the GPU's ", name) ||
                  is_slower;
    }
  }
  return is_slower;
}

int compare(const CompareOptions& options) {
  constexpr std::size_t kMost = 8;  // as many colours as a chart has
  if (options.references.size() < 2 || options.references.size() > kMost) {
    throw ConfigError(fmt::format("{} of 2 to {} runs were named: see 'gangway compare --help'",
                                  options.references.size(), kMost));
  }
  std::vector<std::filesystem::path> runs;
  for (const std::string& text : options.references) {
    const RunReference reference = parse_run_reference(text);
    if (reference.step) {
      throw ConfigError(
          fmt::format("runs are compared, not checkpoints: leave @{} out (gangway "
                      "checkpoints diff compares those)",
                      *reference.step));
    }
    runs.push_back(find_run_directory(reference, options.outdir));
  }
  const ordered_json comparison = report::comparison_document(runs);
  std::cout << comparison_text(comparison) << std::flush;
  bool is_slower = false;
  if (options.parts || options.fail_above) {
    const std::optional<double> most =
        options.fail_above ? std::optional(percent_of(*options.fail_above)) : std::nullopt;
    std::cout << '\n' << parts_text(comparison["runs"]);
    is_slower = most && tell_slower(comparison["runs"], *most);
  }
  if (!options.output.empty()) {
    const std::string document =
        comparison.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    write_file_atomically(options.output, report::static_page(document, "Runs compared · Gangway"));
    std::cout << '\n' << options.output.string() << std::endl;
  }
  return is_slower ? 1 : 0;
}

}  // namespace

std::string comparison_text(const ordered_json& comparison) {
  return fmt::format("{}\n{}", results_text(comparison["runs"]), differences_text(comparison));
}

void add_compare_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand(
      "compare", "Set runs side by side: their jobs, curves, speed and pictures");
  command->add_option("runs", options->references, "Directories or names of runs")
      ->required()
      ->type_name("RUN RUN...");
  command->add_option("-o,--output", options->output, "Also write them as one HTML file")
      ->type_name("FILE");
  command->add_flag("--parts", options->parts, "Show where the time of their steps went");
  command
      ->add_option("--fail-above", options->fail_above,
                   "Exit code 1 where a part takes longer than in the first run by more than P "
                   "percent of the first one's step")
      ->type_name("P%");
  command->add_option("--outdir", options->outdir, "Folder of the runs")->capture_default_str();
  command->footer(
      "Examples:\n  gangway compare first second\n"
      "  gangway compare before after --parts --fail-above 3%\n"
      "  gangway compare runs/00003-first runs/00007-second --output both.html");
  command->callback([options, &line] { line.action = [options] { return compare(*options); }; });
}

}  // namespace gangway::launch
