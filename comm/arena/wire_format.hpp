// SPDX-License-Identifier: MIT
// Encodes floats for the wire between hosts in half the bytes, with error feedback: the sender adds
// what rounding lost to its next message (Seide et al., Interspeech 2014; Karimireddy et al., ICML
// 2019). Called by comm/reduce/inter_host_messages.hpp on the lane's thread. Pure; allocates
// nothing.
//
// bf16 is the upper half of a float. fp16 has more bits and less range, so each block is divided by
// its own power of two, which puts its largest finite value in [2^14, 2^15). Values more than 2^39
// below it become zero, and the sender keeps them. Both formats round to nearest, ties to even, and
// transmit infinities and NaNs. The bits are equal on every CPU (comm/arena/short_floats.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/arena/arena.hpp"
#include "comm/arena/arena_layout.hpp"
#include "job/spec.hpp"

namespace gangway::comm {

/// The 16-bit words of an encoded block (kBlockElements floats): its values and, in fp16, one word
/// before them for the power of two.
[[nodiscard]] std::size_t words_a_block(WireFormat format);
/// The encoded bytes of `elements` floats. @pre `elements` is a multiple of kBlockElements
[[nodiscard]] std::size_t wire_bytes(WireFormat format, std::size_t elements);

/// Rounds values + residual into `wire` and stores the rounding error in `residual`; 0 if the value
/// is not finite, because an infinity or NaN is sent once.
/// @pre not fp32, which is not encoded; values.size() == residual.size(), a multiple of
/// kBlockElements; wire.size() is the encoded words of values
void encode_sum(WireFormat format, std::span<const float> values, std::span<float> residual,
                std::span<std::uint16_t> wire);
/// Rounds weights - base into `wire`. Sets `weights` to base + decoded, as every worker computes
/// it, and `residual` to the old `weights` minus the new; 0 if that is not finite.
/// @pre as encode_sum
void encode_update(WireFormat format, std::span<const float> base, std::span<float> weights,
                   std::span<float> residual, std::span<std::uint16_t> wire);

/// @pre values.size() is a multiple of kBlockElements; wire.size() is its encoded words
void decode(WireFormat format, std::span<const std::uint16_t> wire, std::span<float> values);
/// weights += decoded: the same bits as after encode_update. @pre as decode
void add_decoded(WireFormat format, std::span<const std::uint16_t> wire, std::span<float> weights);

/// Wire words under an arena's layout. As in an Arena, untouched pages are never resident.
class WireArena {
 public:
  WireArena(WireFormat format, std::size_t elements)
      : words_a_block_(words_a_block(format)),
        memory_((wire_bytes(format, elements) + sizeof(float) - 1) / sizeof(float)) {}
  /// The encoded words of `range`. @pre `range` consists of whole blocks
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
