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

#include "report/table.hpp"

namespace gangway::launch {
namespace {

using nlohmann::json;

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
    Figure{"efficiency", "efficiency %", 1, 100.0},
};
/// Of the parts, in turns.
constexpr std::array<std::string_view, 8> kColors{"#4472c4", "#ed7d31", "#70ad47", "#ffc000",
                                                  "#7e57c2", "#00897b", "#c2185b", "#8d6e63"};

std::string cell(const json& row, const Figure& figure) {
  return row.contains(figure.key)
             ? fmt::format("{:.{}f}", row[figure.key].get<double>() * figure.factor, figure.digits)
             : "-";
}

report::Table figures_table(const json& report) {
  std::vector<report::Column> columns{{.title = "workers", .align = Align::kRight}};
  for (const Figure& figure : kFigures) {
    columns.push_back({.title = figure.title, .align = Align::kRight});
  }
  report::Table table(std::move(columns));
  for (const json& row : report["rows"]) {
    std::vector<std::string> cells{std::to_string(row["workers"].get<int>())};
    for (const Figure& figure : kFigures) {
      cells.push_back(cell(row, figure));
    }
    table.add_row(std::move(cells));
  }
  return table;
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
        "recovery: of {} workers one killed, {} times: {:.2f} s until they trained again, {:.2f} "
        "at "
        "the most",
        recovery["workers"].get<int>(), recovery["losses"].get<int>(),
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

std::string escaped(std::string_view text) {
  std::string out;
  for (const char one : text) {
    out += one == '&' ? "&amp;" : one == '<' ? "&lt;" : one == '>' ? "&gt;" : std::string(1, one);
  }
  return out;
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

std::string bars(const json& report) {
  constexpr double kWidth = 640.0;
  const std::vector<std::string> names = ordered_parts(report);
  std::string svg;
  std::string legend;
  int y = 0;
  for (const json& row : report["rows"]) {
    double x = 110.0;
    svg += fmt::format("<text x=\"0\" y=\"{}\">{} worker{}</text>", y + 16,
                       row["workers"].get<int>(), row["workers"] == 1 ? "" : "s");
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double share = row["parts"].value(names[i], 0.0);
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"22\" fill=\"{}\"><title>{} {:.1f} "
          "%</title></rect>",
          x, y, share * kWidth, kColors[i % kColors.size()], escaped(names[i]), 100.0 * share);
      x += share * kWidth;
    }
    y += 30;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    legend += fmt::format(
        "<li><svg width=\"12\" height=\"12\"><rect width=\"12\" height=\"12\" fill=\"{}\"/></svg> "
        "{}</li>",
        kColors[i % kColors.size()], escaped(names[i]));
  }
  return fmt::format(
      "<svg viewBox=\"0 0 760 {}\" role=\"img\" aria-label=\"Parts of a step\">{}</svg>\n"
      "<ul>{}</ul>\n",
      y, svg, legend);
}

std::string parts_rows(const json& report) {
  std::string html = "<tr><th scope=\"col\">part, % of a step</th>";
  for (const json& row : report["rows"]) {
    html += fmt::format("<th scope=\"col\">{} worker{}</th>", row["workers"].get<int>(),
                        row["workers"] == 1 ? "" : "s");
  }
  html += "</tr>\n";
  for (const std::string& name : ordered_parts(report)) {
    html += "<tr><th scope=\"row\">" + escaped(name) + "</th>";
    for (const json& row : report["rows"]) {
      html += fmt::format("<td>{:.1f}</td>", 100.0 * row["parts"].value(name, 0.0));
    }
    html += "</tr>\n";
  }
  return html;
}

}  // namespace

std::string bench_text(const json& report) {
  std::string text = figures_table(report).text();
  for (const std::string& line : lines_of(report)) {
    text += line + "\n";
  }
  return text;
}

std::string bench_page(const json& report) {
  std::string rows = "<tr><th scope=\"col\">workers</th>";
  for (const Figure& figure : kFigures) {
    rows += fmt::format("<th scope=\"col\">{}</th>", figure.title);
  }
  rows += "</tr>\n";
  for (const json& row : report["rows"]) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th>", row["workers"].get<int>());
    for (const Figure& figure : kFigures) {
      rows += "<td>" + cell(row, figure) + "</td>";
    }
    rows += "</tr>\n";
  }
  std::string lines;
  for (const std::string& line : lines_of(report)) {
    lines += "<p>" + escaped(line) + "</p>\n";
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}: gangway bench job</title>\n"
      "<style>body {{ font: 15px/1.5 sans-serif; margin: 1rem auto; max-width: 60rem; padding: 0 "
      "1rem; color: #222; background: #fff }} div {{ overflow-x: auto }} table {{ border-collapse: "
      "collapse }} th, td {{ padding: .2rem .6rem; border-bottom: 1px solid #ccc; text-align: "
      "right }} th:first-child {{ text-align: left }} h1 {{ overflow-wrap: anywhere }} ul {{ "
      "list-style: none; padding: 0; columns: 3 12rem }} svg {{ max-width: 100% "
      "}}</style>\n"
      "<main>\n<h1>{0}</h1>\n<p>{1}; {2}; {3}, {4} steps, medians of {5} rounds in turns</p>\n"
      "<div tabindex=\"0\" role=\"region\" aria-label=\"Figures\"><table>\n{6}</table></div>\n"
      "<h2>Parts of a step, slowest worker</h2>\n{7}"
      "<div tabindex=\"0\" role=\"region\" aria-label=\"Parts\"><table>\n{8}</table></div>\n"
      "<h2>Recovery, score, digest</h2>\n{9}</main>\n</html>\n",
      escaped(report["job"].get<std::string>()), escaped(report["host"].get<std::string>()),
      escaped(report["processor"].get<std::string>()), escaped(report["date"].get<std::string>()),
      report["steps"].get<int>(), report["rounds"].get<int>(), rows, bars(report),
      parts_rows(report), lines);
}

}  // namespace gangway::launch
