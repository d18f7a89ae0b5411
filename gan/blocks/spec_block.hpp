// SPDX-License-Identifier: MIT
// Base of the blocks that a spec of the job describes (job/models/architecture.hpp). It makes the
// tensors that the spec lists, in that order, and keeps the spec.
#pragma once

#include <vector>

#include "gan/block.hpp"

namespace gangway::gan {

/// @tparam Base  Block, or a class with its constructor
template <typename SpecType, typename Base = Block>
class SpecBlock : public Base {
 public:
  using Spec = SpecType;
  explicit SpecBlock(const Spec& spec)
      : Base(ports_of(spec), parameters_of(spec), statistics_in(spec)), spec_(spec) {}

  [[nodiscard]] const Spec& spec() const { return spec_; }

 private:
  /// Returns the statistics of the spec; none if it has no function statistics_of.
  [[nodiscard]] static std::vector<StatisticSpec> statistics_in(const Spec& spec) {
    if constexpr (requires { statistics_of(spec); }) {
      return statistics_of(spec);
    } else {
      return {};
    }
  }

  Spec spec_;
};

}  // namespace gangway::gan
