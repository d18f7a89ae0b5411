// SPDX-License-Identifier: MIT
#include "launch/tune/bench_page.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "report/page/static_page.hpp"
#include "report/table.hpp"

namespace gangway::launch {
namespace {

using nlohmann::json;
using report::html_text;

struct Figure {
  const char* key;
  const char* title;
  int digits;
  double factor = 1.0;
};
constexpr std::array kFigures{
    Figure{"images_per_second", "images/s", 1},
    Figure{"images_per_second_least", "least", 1},
    Figure{"milliseconds_per_image", "ms an image", 3},
    Figure{"step_milliseconds", "step ms", 2},
    Figure{"computing", "computes %", 1, 100.0},
    Figure{"core_percent", "has a core %", 1},
    Figure{"sent_mib_per_second", "sends MiB/s", 1},
    Figure{"resident_gib", "resident GiB", 2},
    Figure{"device_gib", "a GPU GiB", 2},
    Figure{"efficiency", "efficiency %", 1, 100.0},
};
/// Of the parts, the largest first.
constexpr std::array<std::string_view, 8> kColors{"#4472c4", "#ed7d31", "#70ad47", "#ffc000",
                                                  "#7e57c2", "#00897b", "#c2185b", "#8d6e63"};
constexpr std::string_view kRestColor = "#9e9e9e";

std::string cell(const json& row, const Figure& figure) {
  return row.contains(figure.key)
             ? fmt::format("{:.{}f}", row[figure.key].get<double>() * figure.factor, figure.digits)
             : "-";
}

/// Words of a table, its head first.
using Cells = std::vector<std::vector<std::string>>;

/// Figures that no row has are left out.
Cells figure_cells(const json& report) {
  Cells cells{{"workers"}};
  for (const json& row : report["rows"]) {
    cells.push_back({std::to_string(row["workers"].get<int>())});
  }
  for (const Figure& figure : kFigures) {
    if (std::ranges::none_of(report["rows"],
                             [&](const json& row) { return row.contains(figure.key); })) {
      continue;
    }
    cells.front().emplace_back(figure.title);
    for (std::size_t i = 0; i < report["rows"].size(); ++i) {
      cells[i + 1].push_back(cell(report["rows"][i], figure));
    }
  }
  return cells;
}

std::string text_table(const Cells& cells, Align align) {
  std::vector<report::Column> columns;
  for (const std::string& title : cells.front()) {
    columns.push_back({.title = title, .align = align});
  }
  report::Table table(std::move(columns));
  for (std::size_t i = 1; i < cells.size(); ++i) {
    table.add_row(cells[i]);
  }
  return table.text();
}

/// @param label  for those who hear the page. @param style  a class of it; empty: numbers
std::string html_table(std::string_view label, const Cells& cells, std::string_view style = "") {
  std::string html =
      fmt::format("<div tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table{}>\n<tr>", label,
                  style.empty() ? "" : fmt::format(" class=\"{}\"", style));
  for (const std::string& title : cells.front()) {
    html += "<th scope=\"col\">" + html_text(title) + "</th>";
  }
  for (std::size_t i = 1; i < cells.size(); ++i) {
    html += "</tr>\n<tr><th scope=\"row\">" + html_text(cells[i].front()) + "</th>";
    for (std::size_t j = 1; j < cells[i].size(); ++j) {
      html += "<td>" + html_text(cells[i][j]) + "</td>";
    }
  }
  return html + "</tr>\n</table></div>\n";
}

/// The numbers that `gangway evaluate` tells, less what it measured them with.
std::string score_text(const json& score) {
  std::vector<std::string> figures;
  if (score.contains("score")) {
    figures.push_back(fmt::format("{} {:.4g}", score.value("metric", std::string()),
                                  score["score"].get<double>()));
  }
  for (const char* name : {"kid", "precision", "recall", "covered", "modes", "good_share"}) {
    if (score.contains(name) && score[name].is_number()) {
      figures.push_back(fmt::format("{} {:.4g}", name, score[name].get<double>()));
    }
  }
  return fmt::format("{}", fmt::join(figures, ", "));
}

/// What is no table: a line each.
std::vector<std::string> lines_of(const json& report) {
  std::vector<std::string> lines;
  if (const json& recovery = report["recovery"]; !recovery.is_null()) {
    lines.push_back(fmt::format(
        "recovery: of {} workers one killed, {}: {:.2f} s until they trained again, {:.2f} at the "
        "most",
        recovery["workers"].get<int>(),
        recovery["losses"] == 1 ? "once" : fmt::format("{} times", recovery["losses"].get<int>()),
        recovery["median_seconds"].get<double>(), recovery["longest_seconds"].get<double>()));
  }
  if (const json& score = report["score"]; !score.is_null()) {
    lines.push_back(
        fmt::format("score after {} steps: {}", report["steps"].get<int>(), score_text(score)));
  }
  lines.push_back(fmt::format("digest: {}, of all {} runs", report["digest"].get<std::string>(),
                              report["runs"].get<int>()));
  return lines;
}

/// Parts, the largest of all rows first.
std::vector<std::string> ordered_parts(const json& report) {
  std::map<std::string, double> most;
  for (const json& row : report["rows"]) {
    for (const auto& [name, share] : row["parts"].items()) {
      most[name] = std::max(most[name], share.get<double>());
    }
  }
  std::vector<std::string> names;
  for (const auto& [name, share] : most) {
    names.push_back(name);
  }
  std::ranges::stable_sort(names, std::greater(),
                           [&](const std::string& name) { return most[name]; });
  return names;
}

std::string legend_entry(std::string_view color, std::string_view text) {
  return fmt::format(
      "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect width=\"12\" height=\"12\" "
      "fill=\"{}\"/></svg> {}</li>",
      color, html_text(text));
}

/// A bar a row. The smallest parts, for which there are no more colours, share one.
std::string bars(const json& report) {
  constexpr double kWidth = 1000.0;
  const std::vector<std::string> names = ordered_parts(report);
  const auto color = [](std::size_t part) {
    return part < kColors.size() ? kColors[part] : kRestColor;
  };
  std::string html;
  for (const json& row : report["rows"]) {
    const std::string title =
        fmt::format("{} worker{}", row["workers"].get<int>(), row["workers"] == 1 ? "" : "s");
    std::string svg;
    double x = 0.0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double share = row["parts"].value(names[i], 0.0);
      svg += fmt::format(
          "<rect x=\"{:.1f}\" width=\"{:.1f}\" height=\"22\" fill=\"{}\"><title>{} {:.1f} "
          "%</title></rect>",
          x, share * kWidth, color(i), html_text(names[i]), 100.0 * share);
      x += share * kWidth;
    }
    html += fmt::format(
        "<p>{0}</p>\n<svg class=\"bar\" viewBox=\"0 0 {1} 22\" preserveAspectRatio=\"none\" "
        "role=\"img\" aria-label=\"Parts of a step, {0}\">{2}</svg>\n",
        title, kWidth, svg);
  }
  html += "<ul>";
  for (std::size_t i = 0; i < std::min(names.size(), kColors.size()); ++i) {
    html += legend_entry(kColors[i], names[i]);
  }
  return html + (names.size() > kColors.size() ? legend_entry(kRestColor, "the rest") : "") +
         "</ul>\n";
}

Cells part_cells(const json& report) {
  Cells cells{{"part, % of a step"}};
  for (const json& row : report["rows"]) {
    cells.front().push_back(
        fmt::format("{} worker{}", row["workers"].get<int>(), row["workers"] == 1 ? "" : "s"));
  }
  for (const std::string& name : ordered_parts(report)) {
    cells.push_back({name});
    for (const json& row : report["rows"]) {
      cells.back().push_back(fmt::format("{:.1f}", 100.0 * row["parts"].value(name, 0.0)));
    }
  }
  return cells;
}

std::string paragraphs(const std::vector<std::string>& lines) {
  std::string html;
  for (const std::string& line : lines) {
    html += "<p>" + html_text(line) + "</p>\n";
  }
  return html;
}

/// Of a job, below its heading.
std::string job_sections(const json& report) {
  return html_table("Figures", figure_cells(report)) +
         "<h2>Parts of a step, slowest worker</h2>\n" + bars(report) +
         html_table("Parts", part_cells(report)) + "<h2>Recovery, score, digest</h2>\n" +
         paragraphs(lines_of(report));
}

std::string whole_page(std::string_view title, std::string_view command, std::string_view body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}: {1}</title>\n"
      "<style>body {{ font: 15px/1.5 sans-serif; margin: 1rem auto; max-width: 60rem; padding: 0 "
      "1rem; color: #222; background: #fff }} div {{ overflow-x: auto }} table {{ border-collapse: "
      "collapse }} th, td {{ padding: .2rem .6rem; border-bottom: 1px solid #ccc; text-align: "
      "right }} th:first-child, .words th, .words td {{ text-align: left }} h1, .words td {{ "
      "overflow-wrap: anywhere }} pre {{ white-space: pre-wrap }} ul {{ "
      "list-style: none; padding: 0; columns: 3 12rem }} svg.bar {{ "
      "display: block; width: 100%; height: 1.4rem }} p:has(+ svg) {{ margin: .6rem 0 .1rem "
      "}}</style>\n"
      "<main>\n<h1>{0}</h1>\n{2}</main>\n</html>\n",
      html_text(title), command, body);
}

std::string job_heading(const json& report) {
  return fmt::format("{} steps, medians of {} rounds in turns", report["steps"].get<int>(),
                     report["rounds"].get<int>());
}

Cells machine_cells(const json& report) {
  const json& machine = report["machine"];
  Cells cells{{"part", "what"},
              {"processor", machine["processor"].get<std::string>()},
              {"cores", std::to_string(machine["cores"].get<int>())},
              {"memory", fmt::format("{:.1f} GiB", machine["memory_gib"].get<double>())}};
  for (std::size_t i = 0; i < machine["gpus"].size(); ++i) {
    const json& gpu = machine["gpus"][i];
    cells.push_back(
        {fmt::format("GPU {}", i),
         fmt::format("{}, {:.1f} GiB, driver {}", gpu["name"].get<std::string>(),
                     gpu["memory_gib"].get<double>(), gpu["driver"].get<std::string>())});
  }
  return cells;
}

Cells finding_cells(const json& report) {
  Cells cells{{"item", "health", "detail"}};
  for (const json& finding : report["findings"]) {
    cells.push_back({finding["item"].get<std::string>(), finding["health"].get<std::string>(),
                     finding["detail"].get<std::string>()});
  }
  return cells;
}

/// Over memory of the host and by messages, and over NCCL where there are several GPUs.
Cells transport_cells(const json& report) {
  Cells cells{{"all-reduce", "workers", "MiB", "median ms", "busbw GB/s"}};
  for (const char* of : {"transports", "nccl"}) {
    if (!report.contains(of) || !report[of].is_object()) {
      continue;
    }
    for (const json& row : report[of]["rows"]) {
      cells.push_back({row["row"].get<std::string>(),
                       std::to_string(report[of]["workers"].get<int>()),
                       std::to_string(row["bytes"].get<std::int64_t>() >> 20),
                       fmt::format("{:.3f}", 1e3 * row["median_seconds"].get<double>()),
                       fmt::format("{:.2f}", 1e-9 * row["bytes_per_second"].get<double>())});
    }
  }
  return cells;
}

bool has_rows(const json& report) {
  return report["job"].is_object() && !report["job"]["rows"].empty();
}

/// What the reader is to know before any figure.
std::vector<std::string> verdicts(const json& report) {
  std::vector<std::string> lines;
  if (const auto busy = report["busy"].get<std::string>(); !busy.empty()) {
    lines.push_back("NOT QUIET: " + busy + ", so these rates are too low");
  }
  if (has_rows(report)) {
    const json& job = report["job"];
    lines.push_back(
        !job["unequal_digests"].is_null()
            ? "DIGESTS DIFFER: " + job["unequal_digests"].get<std::string>()
        : job["rows"].size() > 1
            ? fmt::format("all {} runs have one digest, whatever the number of workers",
                          job["runs"].get<int>())
            : "one number of workers was measured: nothing says that digests are equal");
  }
  for (const json& failure : report["failures"]) {
    lines.push_back("not measured: " + failure.get<std::string>());
  }
  return lines;
}

}  // namespace

std::string bench_text(const json& report) {
  std::string text = text_table(figure_cells(report), Align::kRight);
  for (const std::string& line : lines_of(report)) {
    text += line + "\n";
  }
  return text;
}

std::string bench_page(const json& report) {
  return whole_page(
      report["job"].get<std::string>(), "gangway bench job",
      fmt::format("<p>{}; {}; {}, {}</p>\n", html_text(report["host"].get<std::string>()),
                  html_text(report["processor"].get<std::string>()),
                  html_text(report["date"].get<std::string>()), job_heading(report)) +
          job_sections(report));
}

std::string node_text(const json& report) {
  std::string text = text_table(machine_cells(report), Align::kLeft) + "\n";
  if (report["findings"].is_array()) {
    text += text_table(finding_cells(report), Align::kLeft) + "\n";
  }
  if (const Cells cells = transport_cells(report); cells.size() > 1) {
    text += text_table(cells, Align::kRight) + "\n";
  }
  if (has_rows(report)) {
    text += bench_text(report["job"]);
  }
  return text + fmt::format("{}\n", fmt::join(verdicts(report), "\n"));
}

std::string node_page(const json& report) {
  std::string body =
      fmt::format("<p>Gangway {}, {}, {:.0f} s</p>\n",
                  html_text(report["gangway"].get<std::string>()),
                  html_text(report["date"].get<std::string>()), report["seconds"].get<double>()) +
      paragraphs(verdicts(report)) + "<h2>Machine</h2>\n" +
      html_table("Machine", machine_cells(report), "words");
  if (report["findings"].is_array()) {
    body += "<h2>gangway doctor</h2>\n" + html_table("Findings", finding_cells(report), "words");
  }
  if (const Cells cells = transport_cells(report); cells.size() > 1) {
    body += "<h2>Exchange between workers</h2>\n" + html_table("Exchange", cells);
  }
  if (has_rows(report)) {
    const json& job = report["job"];
    body +=
        fmt::format(
            "<h2>A job on {}</h2>\n<p>{}{}</p>\n<pre>{}</pre>\n",
            report["device"] == "cuda" ? "GPUs" : "cores", job_heading(job),
            job["overrides"].empty()
                ? ""
                : html_text(fmt::format(
                      "; {}", fmt::join(job["overrides"].get<std::vector<std::string>>(), " "))),
            html_text(report["job_yaml"].get<std::string>())) +
        job_sections(job);
  }
  return whole_page(report["host"].get<std::string>(), "gangway bench node", body);
}

}  // namespace gangway::launch
