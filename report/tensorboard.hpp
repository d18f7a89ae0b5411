// SPDX-License-Identifier: MIT
// TensorBoard event files: scalars, histograms, texts and PNG images. Owned by the coordinator;
// used on one thread at a time.
//
// Format: TFRecord framing with masked CRC-32C (tensorflow/core/lib/io/record_writer.h) around
// `tensorflow.Event` messages (tensorflow/core/util/event.proto, summary.proto), of which the few
// fields used are encoded here by hand: linking TensorFlow's protos for seven fields would cost
// more than it explains.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "report/tick.hpp"
#include "report/unique_file.hpp"

namespace gangway::report {

/// Seconds since 1970.
using WallClock = std::function<double()>;

/// What makes the name events.out.tfevents.SECONDS.HOST.PID unique among runs that share a
/// directory.
struct EventFileId {
  std::string host;
  std::int64_t pid = 0;
};

class TensorboardWriter {
 public:
  /// Makes a new event file in `directory` (made if missing).
  /// @param resumed_step steps already done: above 0, TensorBoard is told to drop what older files
  /// say of later steps.
  /// @throws EnvironmentError naming the path.
  TensorboardWriter(const std::filesystem::path& directory, const EventFileId& id, WallClock clock,
                    std::int64_t resumed_step);

  /// @param step the horizontal axis.
  void add_scalar(std::string_view tag, double value, std::int64_t step);
  /// @param png the bytes of a PNG file; its size is read from its header. @throws InvariantError
  /// if it is none.
  void add_image(std::string_view tag, std::string_view png, std::int64_t step);
  /// @param counts  of finite numbers; TensorBoard draws no others
  void add_histogram(std::string_view tag, const HistogramCounts& counts, std::int64_t step);
  /// @param words  Markdown
  void add_text(std::string_view tag, std::string_view words, std::int64_t step);
  /// The losses, the speed and the memory of a tick, under Loss/, Speed/, Resources/ and Progress/,
  /// under Exposed/ by phase the seconds of a step in which compute waited for communication, what
  /// is known of updates under Optimizer/, other figures under Figures/, and the histograms.
  void add_tick(const Tick& tick);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  void add_updates(const Tick& tick);
  void write_event(std::int64_t step, std::string_view body);

  std::filesystem::path path_;
  UniqueFile file_;
  WallClock clock_;
};

}  // namespace gangway::report
