// SPDX-License-Identifier: MIT
#include "report/tick.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gangway::report {

std::string format_duration(double seconds) {
  const auto total = static_cast<std::int64_t>(std::isfinite(seconds) && seconds > 0 ? seconds + 0.5 : 0.0);
  const std::int64_t minutes = total / 60;
  const std::int64_t hours = minutes / 60;
  const std::int64_t days = hours / 24;
  if (days > 0) {
    return fmt::format("{}d {:02}h {:02}m", days, hours % 24, minutes % 60);
  }
  if (hours > 0) {
    return fmt::format("{}h {:02}m {:02}s", hours, minutes % 60, total % 60);
  }
  return minutes > 0 ? fmt::format("{}m {:02}s", minutes, total % 60) : fmt::format("{}s", total);
}

std::string tick_line(const Tick& tick) {
  return fmt::format(
      "tick {:<5} kimg {:<8.1f} time {:<11} sec/kimg {:<7} img/s {:<8.1f} loss_g {:<7.3f} loss_d {:<7.3f} "
      "exposed {:<6} mem {:.2f} GiB",
      tick.index, tick.kimg, format_duration(tick.seconds_total), fmt::format("{:.2f}", tick.seconds_per_kimg),
      tick.images_per_second, tick.generator_loss, tick.discriminator_loss,
      fmt::format("{:.1f}%", tick.exposed_percent), tick.resident_gib);
}

std::string tick_json(const Tick& tick) {
  const nlohmann::ordered_json object = {
      {"tick", tick.index},
      {"step", tick.step},
      {"kimg", tick.kimg},
      {"seconds_total", tick.seconds_total},
      {"seconds_tick", tick.seconds_tick},
      {"seconds_per_kimg", tick.seconds_per_kimg},
      {"images_per_second", tick.images_per_second},
      {"generator_loss", tick.generator_loss},
      {"discriminator_loss", tick.discriminator_loss},
      {"exposed_percent", tick.exposed_percent},
      {"data_percent", tick.data_percent},
      {"resident_gib", tick.resident_gib},
      {"sent_mib_per_step", tick.sent_mib_per_step},
      {"checkpoint_age_kimg", tick.checkpoint_age_kimg},
      {"unix_seconds", tick.unix_seconds},
  };
  return object.dump();
}

}  // namespace gangway::report
