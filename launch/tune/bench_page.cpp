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

std::string parts_rows(const json& report) {
  std::string html = "<tr><th scope=\"col\">part, % of a step</th>";
  for (const json& row : report["rows"]) {
    html += fmt::format("<th scope=\"col\">{} worker{}</th>", row["workers"].get<int>(),
                        row["workers"] == 1 ? "" : "s");
  }
  html += "</tr>\n";
  for (const std::string& name : ordered_parts(report)) {
    html += "<tr><th scope=\"row\">" + html_text(name) + "</th>";
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
    lines += "<p>" + html_text(line) + "</p>\n";
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}: gangway bench job</title>\n"
      "<style>body {{ font: 15px/1.5 sans-serif; margin: 1rem auto; max-width: 60rem; padding: 0 "
      "1rem; color: #222; background: #fff }} div {{ overflow-x: auto }} table {{ border-collapse: "
      "collapse }} th, td {{ padding: .2rem .6rem; border-bottom: 1px solid #ccc; text-align: "
      "right }} th:first-child {{ text-align: left }} h1 {{ overflow-wrap: anywhere }} ul {{ "
      "list-style: none; padding: 0; columns: 3 12rem }} svg.bar {{ "
      "display: block; width: 100%; height: 1.4rem }} p:has(+ svg) {{ margin: .6rem 0 .1rem "
      "}}</style>\n"
      "<main>\n<h1>{0}</h1>\n<p>{1}; {2}; {3}, {4} steps, medians of {5} rounds in turns</p>\n"
      "<div tabindex=\"0\" role=\"region\" aria-label=\"Figures\"><table>\n{6}</table></div>\n"
      "<h2>Parts of a step, slowest worker</h2>\n{7}"
      "<div tabindex=\"0\" role=\"region\" aria-label=\"Parts\"><table>\n{8}</table></div>\n"
      "<h2>Recovery, score, digest</h2>\n{9}</main>\n</html>\n",
      html_text(report["job"].get<std::string>()), html_text(report["host"].get<std::string>()),
      html_text(report["processor"].get<std::string>()),
      html_text(report["date"].get<std::string>()), report["steps"].get<int>(),
      report["rounds"].get<int>(), rows, bars(report), parts_rows(report), lines);
}

}  // namespace gangway::launch
