// SPDX-License-Identifier: MIT
// A faulty library: its family has the name of a family of Gangway's, and its block ignores its
// spec.
#include <memory>

#include "gan/library/library.hpp"

namespace {

class Stray final : public gangway::gan::Block {
 public:
  Stray() : Block({{"features"}, {"features"}}) {}
  [[nodiscard]] gangway::gan::NamedTensors forward(const gangway::gan::NamedTensors& in,
                                                   const gangway::gan::ForwardContext&) override {
    return in;
  }
};

}  // namespace

const gangway::LibraryRows& gangway_library_rows() {
  static const gangway::LibraryRows rows{
      .families = {{.name = "dcgan", .doc = "another", .resolutions = {}, .networks = {}}}};
  return rows;
}

const gangway::gan::LibraryBlocks& gangway_library_blocks() {
  static const gangway::gan::LibraryBlocks blocks{
      .blocks = {{"stray", [](const gangway::LibrarySpec&) -> std::unique_ptr<gangway::gan::Block> {
                    return std::make_unique<Stray>();
                  }}}};
  return blocks;
}
