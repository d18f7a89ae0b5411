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
      : Base(ports_of(spec), parameters_of(spec), statistics_of(spec)), spec_(spec) {}

  [[nodiscard]] const Spec& spec() const { return spec_; }

 private:
  Spec spec_;
};

}  // namespace gangway::gan
