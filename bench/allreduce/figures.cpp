// SPDX-License-Identifier: MIT
#include "bench/allreduce/figures.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "base/numbers/median.hpp"
#include "comm/arena/arena_layout.hpp"
#include "report/table.hpp"

namespace gangway::bench {
namespace {

constexpr std::size_t kBlockBytes = comm::kBlockElements * sizeof(float);

std::string size_text(std::size_t bytes) {
  const std::size_t megabyte = std::size_t{1} << 20U;
  return bytes % megabyte == 0 ? fmt::format("{}M", bytes / megabyte)
                               : fmt::format("{}K", bytes >> 10U);
}

}  // namespace

std::size_t parse_size(const std::string& text) {
  const std::map<std::string, unsigned> shifts{{"", 0}, {"K", 10}, {"M", 20}, {"G", 30}};
  std::size_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto shift = shifts.find(std::string(rest, text.data() + text.size()));
  if (error != std::errc{} || number == 0 || shift == shifts.end() ||
      number > (std::size_t{1} << 40U) >> shift->second) {
    throw ConfigError(fmt::format("--sizes: '{}' is no size: write 1M, 64K or bytes", text));
  }
  const std::size_t bytes = number << shift->second;
  if (bytes % kBlockBytes != 0) {
    throw ConfigError(fmt::format("--sizes: '{}' is no multiple of 16K", text));
  }
  return bytes;
}

double Samples::median() const { return median_of(seconds); }

double Samples::minimum() const { return *std::ranges::min_element(seconds); }

double bus_bandwidth(int num_workers, std::size_t bytes, double seconds) {
  const auto n = static_cast<double>(num_workers);
  return 2.0 * (n - 1.0) / n * static_cast<double>(bytes) / seconds;
}

double memory_floor(int num_workers, double copy_seconds) {
  return copy_seconds * (1.0 + 1.0 / static_cast<double>(num_workers)) / 2.0;
}

std::string table_text(const TableSetup& setup, const std::vector<Figure>& figures) {
  report::Table table({{"size", Align::kRight},
                       {"row"},
                       {"median ms", Align::kRight},
                       {"minimum ms", Align::kRight},
                       {"busbw GB/s", Align::kRight},
                       {fmt::format("{} / row", setup.rival), Align::kRight},
                       {"floor ms", Align::kRight},
                       {"floor / median", Align::kRight}});
  for (std::size_t i = 0; i < setup.sizes.size(); ++i) {
    const std::size_t bytes = setup.sizes[i];
    const auto rival = std::ranges::find_if(figures, [&](const Figure& figure) {
      return figure.bytes == bytes && figure.row == setup.rival;
    });
    for (const Figure& figure : figures) {
      if (figure.bytes != bytes) {
        continue;
      }
      const double median = figure.samples.median();
      const double floor = setup.floors[i];
      table.add_row(
          {size_text(bytes), figure.row, fmt::format("{:.3f}", median * 1e3),
           fmt::format("{:.3f}", figure.samples.minimum() * 1e3),
           fmt::format("{:.2f}", bus_bandwidth(setup.num_workers, bytes, median) / 1e9),
           rival == figures.end() ? "-" : fmt::format("{:.2f}", rival->samples.median() / median),
           floor > 0.0 ? fmt::format("{:.3f}", floor * 1e3) : "-",
           floor > 0.0 ? fmt::format("{:.0f} %", 100.0 * floor / median) : "-"});
    }
  }
  return table.text();
}

std::string figures_json(int num_workers, const std::vector<Figure>& figures) {
  std::vector<std::string> rows;
  for (const Figure& figure : figures) {
    const double median = figure.samples.median();
    rows.push_back(fmt::format(
        R"({{"row":"{}","bytes":{},"median_seconds":{},"bytes_per_second":{}}})", figure.row,
        figure.bytes, median, bus_bandwidth(num_workers, figure.bytes, median)));
  }
  return fmt::format(R"({{"workers":{},"rows":[{}]}})", num_workers, fmt::join(rows, ",")) + "\n";
}

}  // namespace gangway::bench
