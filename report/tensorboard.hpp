// SPDX-License-Identifier: MIT
// Writes TensorBoard event files: scalars, histograms, texts and PNG images. Owned by the
// coordinator; one thread at a time.
//
// Format: TFRecord framing with masked CRC-32C (tensorflow/core/lib/io/record_writer.h) around
// `tensorflow.Event` messages (tensorflow/core/util/event.proto, summary.proto). Encoded by hand,
// because seven fields do not justify linking TensorFlow's protos.
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

/// Makes the file name events.out.tfevents.SECONDS.HOST.PID unique in a shared directory.
struct EventFileId {
  std::string host;
  std::int64_t pid = 0;
};

class TensorboardWriter {
 public:
  /// Makes a new event file in `directory` (made if missing).
  /// @param resumed_step  steps already done; above 0, TensorBoard drops later steps of older
  /// files.
  /// @throws EnvironmentError naming the path.
  TensorboardWriter(const std::filesystem::path& directory, const EventFileId& id, WallClock clock,
                    std::int64_t resumed_step);

  /// @param step  the horizontal axis.
  void add_scalar(std::string_view tag, double value, std::int64_t step);
  /// @param png  bytes of a PNG file, whose header gives the size. @throws InvariantError if `png`
  /// is not a PNG file.
  void add_image(std::string_view tag, std::string_view png, std::int64_t step);
  /// @param counts  of finite values only; TensorBoard cannot draw others
  void add_histogram(std::string_view tag, const HistogramCounts& counts, std::int64_t step);
  /// @param words  Markdown
  void add_text(std::string_view tag, std::string_view words, std::int64_t step);
  /// Writes a tick's losses, speed and memory (Loss/, Speed/, Resources/, Progress/) and its
  /// histograms. Exposed/ has the seconds per step that compute waited for communication, by phase;
  /// Optimizer/ has the updates, Figures/ the other figures.
  void add_tick(const Tick& tick);

 private:
  void add_updates(const Tick& tick);
  void write_event(std::int64_t step, std::string_view body);

  std::filesystem::path path_;
  UniqueFile file_;
  WallClock clock_;
};

}  // namespace gangway::report
