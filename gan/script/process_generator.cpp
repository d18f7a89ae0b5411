// SPDX-License-Identifier: MIT
#include "gan/script/process_generator.hpp"

#include <ATen/Context.h>

namespace gangway::gan {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
Mutex process_generator_mutex;

}  // namespace

SeededGenerator::SeededGenerator(at::Device device, std::uint64_t seed)
    : lock_(process_generator_mutex) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  generator.set_current_seed(seed);
}

}  // namespace gangway::gan
