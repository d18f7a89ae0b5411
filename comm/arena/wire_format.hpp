// SPDX-License-Identifier: MIT
// Floats as they travel between hosts, in half the bytes, with error feedback: what a rounding
// loses is kept by the sender and added to what it sends next (Seide et al., Interspeech 2014;
// Karimireddy et al., ICML 2019). Used by comm/reduce/inter_host_messages.hpp on the lane's thread;
// pure, allocates nothing.
//
// bf16 is the upper half of a float. fp16 has more bits and less range, so each block travels under
// a power of two of its own, which brings its largest finite value to [2^14, 2^15); what is more
// than 2^39 below that becomes zero (and stays with the sender). Both round to nearest, ties to
// even; an infinity and a NaN arrive as such. The bits are the same on every CPU
// (comm/arena/short_floats.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/arena/arena.hpp"
#include "comm/arena/arena_layout.hpp"
#include "job/spec.hpp"

namespace gangway::comm {

/// Sixteen-bit words that a block (kBlockElements floats) takes: its values and, in fp16, first its
/// power of two.
[[nodiscard]] std::size_t words_a_block(WireFormat format);
/// Bytes that `elements`, a multiple of kBlockElements, take on the wire.
[[nodiscard]] std::size_t wire_bytes(WireFormat format, std::size_t elements);

/// Rounds values + residual into `wire`, and leaves in `residual` what was lost; where that is not
/// finite, 0: the infinity or NaN was sent, and is not sent again.
/// @pre not fp32, which travels as it is; values.size() == residual.size(), a multiple of
/// kBlockElements; wire has its words
void encode_sum(WireFormat format, std::span<const float> values, std::span<float> residual,
                std::span<std::uint16_t> wire);
/// Rounds the way from `base` to `weights` into `wire`. Then `weights` holds what everybody arrives
/// at, base + decoded, and `residual` how far that is from what it held.
/// @pre as encode_sum
void encode_update(WireFormat format, std::span<const float> base, std::span<float> weights,
                   std::span<float> residual, std::span<std::uint16_t> wire);

/// @pre wire has the words of values.size(), a multiple of kBlockElements
void decode(WireFormat format, std::span<const std::uint16_t> wire, std::span<float> values);
/// weights += decoded: the same bits as encode_update left. @pre as decode
void add_decoded(WireFormat format, std::span<const std::uint16_t> wire, std::span<float> weights);

/// Wire words under an arena's layout. As with an Arena, what is never touched is never resident.
class WireArena {
 public:
  WireArena(WireFormat format, std::size_t elements)
      : words_a_block_(words_a_block(format)),
        memory_((wire_bytes(format, elements) + sizeof(float) - 1) / sizeof(float)) {}
  /// The words of a range of whole blocks.
  [[nodiscard]] std::span<std::uint16_t> range(ElementRange range) {
    return {reinterpret_cast<std::uint16_t*>(memory_.data()) +
                range.begin / kBlockElements * words_a_block_,
            range.size() / kBlockElements * words_a_block_};
  }

 private:
  std::size_t words_a_block_;
  Arena memory_;
};

}  // namespace gangway::comm
