// SPDX-License-Identifier: MIT
#include "python/open/process_generator.hpp"

#include <ATen/Context.h>
#include <ATen/core/Generator.h>

namespace gangway::python {
namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
Mutex process_generator_mutex;
/// LibTorch's generator of the device that draws now.
at::Generator process_generator GANGWAY_GUARDED_BY(process_generator_mutex);
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

std::uint64_t seed_of_call(RandomKey key) {
  key.draw = static_cast<std::int32_t>(RandomDraw::kDropout);
  return KeyedRandom(key).bits(0);
}

SeededGenerator::SeededGenerator(at::Device device, std::uint64_t seed)
    : lock_(process_generator_mutex) {
  process_generator = at::globalContext().defaultGenerator(device);
  process_generator.set_current_seed(seed);
}

}  // namespace gangway::python
