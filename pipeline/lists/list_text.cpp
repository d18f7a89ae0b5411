// SPDX-License-Identifier: MIT
#include "pipeline/lists/list_text.hpp"

namespace gangway::pipeline {
namespace {

bool is_about_node(const Instruction& at) {
  return at.microbatch >= 0 && at.operation != Operation::kOpenLeaf &&
         at.operation != Operation::kCloseLeaf;
}

/// "3", "3-5".
std::string span_text(int begin, int end) {
  std::string text = std::to_string(begin);
  if (end - begin > 1) {
    text.append("-").append(std::to_string(end - 1));
  }
  return text;
}

}  // namespace

std::string line_of(const Instruction& instruction, const PerNetwork<std::string>& names) {
  std::string line = describe(instruction, names);
  line.append(" phase=").append(std::to_string(instruction.phase));
  line.append(".").append(std::to_string(instruction.repeat));
  if (is_about_node(instruction)) {
    line.append(" node=").append(std::to_string(instruction.node));
  }
  line.append(instruction.is_last_update ? " last" : "");
  line.append(instruction.is_ahead && is_about_node(instruction) ? " ahead" : "");
  return line;
}

std::string list_with_place(const std::vector<Instruction>& list, const Instruction& at,
                            const PerNetwork<std::string>& names) {
  std::string text;
  for (const Instruction& one : list) {
    text.append(one == at ? "> " : "  ").append(line_of(one, names)).append("\n");
  }
  return text;
}

std::string heading_of(const Layout& layout, int worker, const PerNetwork<std::string>& names) {
  std::string text = "# rank ";
  text.append(std::to_string(worker + 1));
  const char* before = ": ";
  for (const NetworkId network : layout.ids()) {
    const NetworkGroup& group = layout[network];
    const auto chunk = group.chunk_of(worker);
    if (!chunk) {
      continue;
    }
    text.append(before).append(names[network]);
    before = "; ";
    if (group.is_cut()) {
      const BlockRange blocks = group.chunks[chunk->place()];
      text.append(" chunk ").append(std::to_string(chunk->value()));
      text.append(" of ").append(std::to_string(group.num_chunks()));
      text.append(" (blocks ").append(span_text(blocks.begin, blocks.end)).append(")");
    }
    const MicrobatchRange range = group.range_of(worker);
    text.append(", micro-batches ").append(span_text(range.begin, range.end));
  }
  return text;
}

}  // namespace gangway::pipeline
