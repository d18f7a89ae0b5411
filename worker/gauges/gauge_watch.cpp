// SPDX-License-Identifier: MIT
#include "worker/gauges/gauge_watch.hpp"

#include <utility>

#include "base/system/thread_name.hpp"
#include "worker/gauges/gpu_gauges.hpp"

namespace gangway::worker {

GaugeWatch::GaugeWatch(Settings settings)
    : settings_(std::move(settings)),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

std::optional<messages::DeviceGauges> GaugeWatch::newest() const {
  const MutexLock lock(mutex_);
  return newest_;
}

void GaugeWatch::watch(const std::stop_token& stop) {
  name_this_thread("gauges");
  const auto gauges = GpuGauges::open(settings_.library, settings_.bus);
  while (gauges && !stop.stop_requested()) {
    const messages::DeviceGauges now = gauges->read();
    MutexLock lock(mutex_);
    newest_ = now;
    ended_.wait_for(lock, stop, settings_.interval, [] { return false; });
  }
}

}  // namespace gangway::worker
