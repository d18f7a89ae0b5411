// SPDX-License-Identifier: MIT
// Parses sizes, computes bus bandwidth from samples, and formats the table of the all-reduce
// benchmark. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gangway::bench {

/// "64K", "4M", "1G" (powers of two) or a plain number of bytes.
/// @throws ConfigError for any other text, and for a size that is no multiple of 16 KiB, a block of
/// floats
[[nodiscard]] std::size_t parse_size(const std::string& text);

/// The times of one row at one size, in seconds.
struct Samples {
  std::vector<double> seconds;
  [[nodiscard]] double median() const;
  [[nodiscard]] double minimum() const;
};

/// Returns the bytes a second that each of `num_workers` moves: 2 (n - 1) / n of the size, the
/// minimum of an all-reduce by messages (nccl-tests, doc/PERFORMANCE.md). 0 for one worker.
[[nodiscard]] double bus_bandwidth(int num_workers, std::size_t bytes, double seconds);

/// Returns the minimum time of an all-reduce in shared memory. A worker reads its slice of all
/// gradients and writes the sum: (1 + 1/n) of the size. The timed copy moved twice the size.
[[nodiscard]] double memory_floor(int num_workers, double copy_seconds);

/// The samples of one row at one size.
struct Figure {
  std::string row;
  std::size_t bytes = 0;
  Samples samples;
};

struct TableSetup {
  int num_workers = 0;
  std::string rival;  ///< the row to compare the other rows with
  std::vector<std::size_t> sizes;
  std::vector<double> floors;  ///< seconds, by size; 0: unknown
};

/// Returns the table: rows in the order of sizes, then of `figures`.
[[nodiscard]] std::string table_text(const TableSetup& setup, const std::vector<Figure>& figures);
/// Returns one line of JSON: {"workers": 2, "rows": [{"row": "shm", "bytes": 1048576,
/// "median_seconds": …, "bytes_per_second": …}, …]}, ended. The rate is the bus bandwidth.
[[nodiscard]] std::string figures_json(int num_workers, const std::vector<Figure>& figures);

}  // namespace gangway::bench
