// SPDX-License-Identifier: MIT
// The kernels of comm/cuda/slice_kernels.hpp, run by their host references in the order of a stream
// of the stand-in.
#include <bit>
#include <cstdint>

#include "comm/arena/tree_sum.hpp"
#include "comm/cuda/figure_kernels.hpp"
#include "comm/cuda/slice_kernels.hpp"
#include "tests/comm/cuda/host_references.hpp"
#include "tests/comm/nccl/fake_cuda.hpp"

namespace gangway::comm {

void launch_update(const SliceUpdate& update, cudaStream_t stream) {
  fake::enqueue(stream, [update] {
    update_slice_on_host(update);
    if (fake::miscomputes()) {
      float& value = update.weights[update.elements / 2];
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U);
    }
  });
}

void launch_mean(const SliceUpdate& update, float* out, cudaStream_t stream) {
  fake::enqueue(stream, [update, out] { mean_on_host(update, out); });
}

void launch_sum(const SliceSum& sum, cudaStream_t stream) {
  fake::enqueue(stream, [sum] { sum_slice_on_host(sum); });
}

void load_figure_kernels() {}
void launch_difference(const float* from, float* values, std::int64_t elements,
                       cudaStream_t stream) {
  fake::enqueue(stream, [=] {
    for (std::int64_t i = 0; i < elements; ++i) {
      values[i] = from[i] - values[i];
    }
  });
}

void launch_count(const float* values, std::int64_t elements, ValueCounts* counts,
                  cudaStream_t stream) {
  fake::enqueue(stream, [=] { count_on_host(values, elements, *counts); });
}

void launch_block_squares(const float* values, std::int64_t num_blocks, double* squares,
                          cudaStream_t stream) {
  fake::enqueue(stream, [=] {
    for (std::int64_t block = 0; block < num_blocks; ++block) {
      squares[block] = block_sum_of_squares(values + block * 4096);
    }
  });
}

void launch_clip_decision(const ClipDecision& decision, double* /*scratch*/, cudaStream_t stream) {
  fake::enqueue(stream, [decision] { decide_clip_on_host(decision); });
}

void launch_encode(const WireEncoding& encoding, cudaStream_t stream) {
  fake::enqueue(stream, [encoding] { encode_on_host(encoding); });
}

void launch_store_constants(const UpdateConstants& constants, UpdateConstants* out,
                            cudaStream_t stream) {
  fake::enqueue(stream, [constants, out] { *out = constants; });
}

}  // namespace gangway::comm
