// SPDX-License-Identifier: MIT
// The arithmetic of the all-reduce benchmark and its table: sizes as people write them, samples,
// bus bandwidth. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gangway::bench {

/// "64K", "4M", "1G" (powers of two) or a plain number of bytes.
/// @throws ConfigError for anything else, and for what is no multiple of a block of floats (16
/// KiB).
[[nodiscard]] std::size_t parse_size(const std::string& text);

/// Times of one row at one size, in seconds.
struct Samples {
  std::vector<double> seconds;
  [[nodiscard]] double median() const;
  [[nodiscard]] double minimum() const;
};

/// Bytes a second that each of `num_workers` moves: 2 (n - 1) / n of the size, the least that an
/// all-reduce by messages sends (nccl-tests, doc/PERFORMANCE.md). 0 for one worker.
[[nodiscard]] double bus_bandwidth(int num_workers, std::size_t bytes, double seconds);

/// Least time of an all-reduce in shared memory: a worker reads its slice of all gradients and
/// writes the sum once, (1 + 1/n) of the size, where the copy that was timed moved twice the size.
[[nodiscard]] double memory_floor(int num_workers, double copy_seconds);

/// One row at one size.
struct Figure {
  std::string row;
  std::size_t bytes = 0;
  Samples samples;
};

struct TableSetup {
  int num_workers = 0;
  std::string rival;  ///< the row that others are compared with
  std::vector<std::size_t> sizes;
  std::vector<double> floors;  ///< seconds, by size; 0: unknown
};

/// Rows in the order of sizes, then of `figures`.
[[nodiscard]] std::string table_text(const TableSetup& setup, const std::vector<Figure>& figures);
/// The same as one line of JSON, ended: {"workers": 2, "rows": [{"row": "shm", "bytes": 1048576,
/// "median_seconds": …, "bytes_per_second": …}, …]}; the last is the bus bandwidth.
[[nodiscard]] std::string figures_json(int num_workers, const std::vector<Figure>& figures);

}  // namespace gangway::bench
