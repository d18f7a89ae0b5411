// SPDX-License-Identifier: MIT
#include "report/run_view/step_timeline.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "run/json_members.hpp"

namespace gangway::report {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

using RowKey = std::pair<int, int>;  // rank, row

struct Span {
  RowKey row;
  double begin = 0;
  double length = 0;
  std::string name;
  std::string category;
};

struct Step {
  double begin = 0;
  double end = 0;
};

/// Content of a trace file, without operators.
struct Trace {
  std::map<int, std::string> ranks;
  std::map<RowKey, std::string> rows;
  std::vector<Span> spans;
  std::map<std::int64_t, Step> steps;  ///< from the earliest to the latest worker
  std::map<std::int64_t, Span> open;   ///< spans whose end is on a later line
};

template <typename Number>
Number number_of(const json& event, const char* key) {
  return event.contains(key) && event[key].is_number() ? event[key].get<Number>() : Number{};
}

void take_span(Trace& trace, const json& event, Span span) {
  const json arguments = event.value("args", json::object());
  if (span.name.starts_with("step ") && arguments.is_object() && arguments.contains("step")) {
    const auto [step, is_new] =
        trace.steps.try_emplace(number_of<std::int64_t>(arguments, "step"),
                                Step{.begin = span.begin, .end = span.begin + span.length});
    step->second.begin = std::min(step->second.begin, span.begin);
    step->second.end = std::max(step->second.end, span.begin + span.length);
    return;
  }
  trace.spans.push_back(std::move(span));
}

void take_event(Trace& trace, const json& event) {
  const std::string kind = text_in(event, "ph");
  const RowKey row{number_of<int>(event, "pid"), number_of<int>(event, "tid")};
  const std::string name = text_in(event, "name");
  if (kind == "M") {
    const json arguments = event.value("args", json::object());
    if (name == "process_name") {
      trace.ranks[row.first] = text_in(arguments, "name");
    } else if (name == "thread_name") {
      trace.rows[row] = text_in(arguments, "name");
    }
    return;
  }
  const std::string category = text_in(event, "cat");
  if (category == "operator") {
    return;
  }
  Span span{.row = row,
            .begin = number_of<double>(event, "ts"),
            .length = number_of<double>(event, "dur"),
            .name = name,
            .category = category};
  const std::int64_t id = number_of<std::int64_t>(event, "id") * 4096 + row.first;
  if (kind == "X") {
    take_span(trace, event, std::move(span));
  } else if (kind == "b") {
    trace.open[id] = std::move(span);
  } else if (kind == "e") {
    if (auto begun = trace.open.extract(id)) {
      begun.mapped().length = span.begin - begun.mapped().begin;
      take_span(trace, event, std::move(begun.mapped()));
    }
  }
}

Trace read_trace(const std::filesystem::path& path) {
  Trace trace;
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    const std::size_t begin = line.find('{');
    const std::size_t end = line.rfind('}');
    if (begin == std::string::npos || end == std::string::npos || end < begin) {
      continue;
    }
    const json event = json::parse(line.substr(begin, end - begin + 1), nullptr, false);
    if (event.is_object() && event.contains("ph")) {
      take_event(trace, event);
    }
  }
  return trace;
}

/// Returns the spans that overlap the step; only the longest if there are too many.
std::vector<Span> spans_in(std::vector<Span> spans, const Step& step, std::size_t most) {
  std::erase_if(spans, [&](const Span& span) {
    return span.begin >= step.end || span.begin + span.length <= step.begin;
  });
  if (spans.size() > most) {
    std::ranges::nth_element(spans, spans.begin() + static_cast<std::ptrdiff_t>(most),
                             std::ranges::greater{}, &Span::length);
    spans.resize(most);
  }
  std::ranges::sort(spans, std::ranges::less{}, &Span::begin);
  return spans;
}

double rounded(double microseconds) { return std::round(microseconds * 10.0) / 10.0; }

ordered_json rows_json(const Trace& trace, const std::vector<Span>& spans, const Step& step) {
  std::map<RowKey, ordered_json> rows;
  for (const Span& span : spans) {
    const double begin = std::max(span.begin, step.begin);
    const double end = std::min(span.begin + span.length, step.end);
    rows.try_emplace(span.row, ordered_json::array())
        .first->second.push_back(
            {rounded(begin - step.begin), rounded(end - begin), span.name, span.category});
  }
  std::map<int, ordered_json> ranks;
  for (auto& [key, list] : rows) {
    const auto row = trace.rows.find(key);
    ordered_json one = {
        {"name", row == trace.rows.end() ? fmt::format("row {}", key.second) : row->second},
        {"spans", std::move(list)}};
    ranks.try_emplace(key.first, ordered_json::array()).first->second.push_back(std::move(one));
  }
  auto list = ordered_json::array();
  for (auto& [rank, its_rows] : ranks) {
    const auto name = trace.ranks.find(rank);
    list.push_back({{"rank", rank},
                    {"name", name == trace.ranks.end() ? "" : name->second},
                    {"rows", std::move(its_rows)}});
  }
  return list;
}

}  // namespace

ordered_json step_timeline(const std::filesystem::path& path, std::size_t most_spans) {
  Trace trace = read_trace(path);
  if (trace.steps.empty()) {
    return nullptr;
  }
  const auto middle =
      std::next(trace.steps.begin(), static_cast<std::ptrdiff_t>(trace.steps.size() / 2));
  const Step step = middle->second;
  const std::vector<Span> spans = spans_in(std::move(trace.spans), step, most_spans);
  return {{"step", middle->first},
          {"microseconds", rounded(step.end - step.begin)},
          {"ranks", rows_json(trace, spans, step)}};
}

}  // namespace gangway::report
