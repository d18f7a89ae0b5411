// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>

#include "base/errors.hpp"
#include "comm/cuda/optimizer_rules.hpp"
#include "comm/cuda/slice_element.hpp"
#include "comm/cuda/slice_kernels.hpp"

namespace gangway::comm {
namespace {

constexpr int kThreads = 128;              // per block; bounds the shared memory of waiting sums
constexpr std::int64_t kMaxBlocks = 2048;  // the kernels stride over the rest
constexpr std::int64_t kBlock = 4096;      // kBlockElements, whose header needs C++20
constexpr int kLanes = 8;                  // of block_sum_of_squares

/// Four neighbouring elements: one 16-byte access in fp32.
struct alignas(16) Pack {
  float lane[4];
};

__device__ Pack operator+(const Pack& a, const Pack& b) {
  Pack sum;
  for (int i = 0; i < 4; ++i) {
    sum.lane[i] = a.lane[i] + b.lane[i];
  }
  return sum;
}

__device__ Pack load_pack(const float* values, std::int64_t pack) {
  return reinterpret_cast<const Pack*>(values)[pack];
}

__device__ void store_pack(float* values, std::int64_t pack, const Pack& value) {
  reinterpret_cast<Pack*>(values)[pack] = value;
}

struct alignas(8) HalfPack {
  std::uint16_t lane[4];
};

/// Loads four elements of one summand.
struct SummandLoad {
  const SliceSummands& summands;
  std::int64_t pack;

  __device__ Pack operator()(int summand) const {
    const void* const values = summands.values[summand];
    const WireType type = summands.types[summand];
    if (type == WireType::kFloat32) {
      return load_pack(static_cast<const float*>(values), pack);
    }
    const HalfPack half = static_cast<const HalfPack*>(values)[pack];
    Pack value;
    for (int i = 0; i < 4; ++i) {
      value.lane[i] = decode(half.lane[i], type);
    }
    return value;
  }
};

__device__ std::int64_t first_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ std::int64_t index_stride() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

/// Computes the mean. Each thread keeps its waiting sums in its own column of shared memory.
__device__ Pack mean_of(const SumProgram& program, const SliceSummands& summands, float scale,
                        std::int64_t pack, Pack* shared) {
  Pack mean = run_sum_program<Pack>(program, SummandLoad{summands, pack}, shared + threadIdx.x,
                                    static_cast<int>(blockDim.x));
  for (int i = 0; i < 4; ++i) {
    mean.lane[i] = mean.lane[i] * scale;
  }
  return mean;
}

/// Updates four parameters and their moments.
template <typename Rule>
__device__ void update_parameters(const Rule& rule, const SliceUpdate& update, float clip,
                                  std::int64_t pack, const Pack& mean, Pack& weight) {
  Pack packs[Rule::kNumMoments == 0 ? 1 : Rule::kNumMoments];
#pragma unroll
  for (std::size_t m = 0; m < Rule::kNumMoments; ++m) {
    packs[m] = load_pack(update.moments[m], pack);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float moments[Rule::kNumMoments == 0 ? 1 : Rule::kNumMoments];
#pragma unroll
    for (std::size_t m = 0; m < Rule::kNumMoments; ++m) {
      moments[m] = packs[m].lane[i];
    }
    rule.update(mean.lane[i] * clip, weight.lane[i], moments);
#pragma unroll
    for (std::size_t m = 0; m < Rule::kNumMoments; ++m) {
      packs[m].lane[i] = moments[m];
    }
  }
#pragma unroll
  for (std::size_t m = 0; m < Rule::kNumMoments; ++m) {
    store_pack(update.moments[m], pack, packs[m]);
  }
}

template <typename Rule>
__global__ void update_kernel(const __grid_constant__ SliceUpdate update) {
  extern __shared__ Pack shared[];
  if (update.is_skipped != nullptr && *update.is_skipped != 0) {
    return;
  }
  const UpdateConstants constants = *update.constants;
  const Rule rule = constants.rule<Rule>();
  const float clip = update.clip_scale == nullptr ? 1.0F : *update.clip_scale;
  for (std::int64_t pack = first_index(); pack < update.elements / 4; pack += index_stride()) {
    const Pack mean = mean_of(update.program, update.summands, update.scale, pack, shared);
    Pack weight = load_pack(update.weights, pack);
    if (pack < update.parameter_elements / 4) {
      update_parameters(rule, update, clip, pack, mean, weight);
    } else {
      for (int i = 0; i < 4; ++i) {
        update_statistic(constants, mean.lane[i], weight.lane[i]);
      }
    }
    store_pack(update.weights, pack, weight);
    if (update.average != nullptr) {
      Pack average = load_pack(update.average, pack);
      for (int i = 0; i < 4; ++i) {
        average.lane[i] = weight_average(constants, average.lane[i], weight.lane[i]);
      }
      store_pack(update.average, pack, average);
    }
  }
}

__global__ void mean_kernel(const __grid_constant__ SliceUpdate update, float* out) {
  extern __shared__ Pack shared[];
  const float clip = update.clip_scale == nullptr ? 1.0F : *update.clip_scale;
  for (std::int64_t pack = first_index(); pack < update.elements / 4; pack += index_stride()) {
    Pack mean = mean_of(update.program, update.summands, update.scale, pack, shared);
    if (pack < update.parameter_elements / 4) {
      for (int i = 0; i < 4; ++i) {
        mean.lane[i] = mean.lane[i] * clip;
      }
    }
    store_pack(out, pack, mean);
  }
}

__global__ void sum_kernel(const __grid_constant__ SliceSum sum) {
  extern __shared__ Pack shared[];
  for (std::int64_t pack = first_index(); pack < sum.elements / 4; pack += index_stride()) {
    store_pack(sum.out, pack, mean_of(sum.program, sum.summands, sum.scale, pack, shared));
  }
}

/// Runs eight threads per block, one per lane of comm/arena/tree_sum.hpp's block_sum_of_squares.
__global__ void block_squares_kernel(const float* values, std::int64_t num_blocks,
                                     double* squares) {
  const std::int64_t block = first_index() / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  double sum = 0.0;
  if (block < num_blocks) {
    const float* const own = values + block * kBlock + lane;
    for (std::int64_t i = 0; i < kBlock; i += kLanes) {
      const double value = own[i];
      sum = sum + value * value;
    }
  }
  // Sums of neighbours, then of pairs, then of fours: the halving of pairwise_sum.
  for (int distance = 1; distance < kLanes; distance *= 2) {
    sum = sum + __shfl_xor_sync(0xFFFFFFFFU, sum, distance);
  }
  if (block < num_blocks && lane == 0) {
    squares[block] = sum;
  }
}

/// Computes the pairwise sum by halving, in one thread block. At depth floor(log2 n), each node of
/// the halving tree over n values has one or two values.
__global__ void clip_kernel(const __grid_constant__ ClipDecision decision, double* scratch) {
  int depth = 0;
  while ((std::int64_t{2} << depth) <= decision.num_blocks) {
    ++depth;
  }
  const std::int64_t nodes = std::int64_t{1} << depth;
  for (std::int64_t node = threadIdx.x; node < nodes; node += blockDim.x) {
    std::int64_t begin = 0;
    std::int64_t size = decision.num_blocks;
    for (int level = depth - 1; level >= 0; --level) {
      const std::int64_t left = size / 2;
      const bool is_right = ((node >> level) & 1) != 0;
      begin += is_right ? left : 0;
      size = is_right ? size - left : left;
    }
    scratch[node] =
        size == 2 ? decision.squares[begin] + decision.squares[begin + 1] : decision.squares[begin];
  }
  for (std::int64_t distance = 1; distance < nodes; distance *= 2) {
    __syncthreads();
    for (std::int64_t node = 2 * distance * threadIdx.x; node < nodes;
         node += 2 * distance * blockDim.x) {
      scratch[node] = scratch[node] + scratch[node + distance];
    }
  }
  if (threadIdx.x == 0) {
    *decision.squared_norm = scratch[0];
    *decision.clip_scale =
        clip_factor(scratch[0], decision.clip_norm,
                    decision.constants == nullptr ? 1.0 : decision.constants->unscale);
    if (decision.is_skipped != nullptr) {
      *decision.is_skipped = isfinite(scratch[0]) ? 0 : 1;
    }
  }
}

__global__ void encode_kernel(const __grid_constant__ WireEncoding encoding) {
  for (std::int64_t pack = first_index(); pack < encoding.elements / 4; pack += index_stride()) {
    const Pack value = load_pack(encoding.values, pack);
    HalfPack out;
    for (int i = 0; i < 4; ++i) {
      float* const residual =
          encoding.residual == nullptr ? nullptr : encoding.residual + pack * 4 + i;
      out.lane[i] = encode_element(value.lane[i], residual, encoding.type);
    }
    static_cast<HalfPack*>(encoding.out)[pack] = out;
  }
}

__global__ void store_constants_kernel(UpdateConstants constants, UpdateConstants* out) {
  *out = constants;
}

unsigned int blocks_for(std::int64_t threads) {
  return static_cast<unsigned int>(
      std::clamp((threads + kThreads - 1) / kThreads, std::int64_t{1}, kMaxBlocks));
}

std::size_t shared_bytes(const SumProgram& program) {
  return static_cast<std::size_t>(program.depth) * kThreads * sizeof(Pack);
}

void check_launch(const char* what) {
  const cudaError_t result = cudaGetLastError();
  if (result != cudaSuccess) {
    throw EnvironmentError(std::string(what) + ": " + cudaGetErrorString(result) +
                           "; check the device and its driver with nvidia-smi");
  }
}

}  // namespace

void launch_update(const SliceUpdate& update, cudaStream_t stream) {
  if (update.elements == 0) {
    return;
  }
  with_rule(update.optimizer, [&](auto rule) {
    update_kernel<decltype(rule)>
        <<<blocks_for(update.elements / 4), kThreads, shared_bytes(update.program), stream>>>(
            update);
  });
  check_launch("updating a slice on the GPU");
}

void load_mean_kernels() {
  cudaFuncAttributes asked{};
  (void)cudaFuncGetAttributes(&asked, reinterpret_cast<const void*>(mean_kernel));
  (void)cudaFuncGetAttributes(&asked, reinterpret_cast<const void*>(block_squares_kernel));
  check_launch("loading kernels onto the GPU");
}

void launch_mean(const SliceUpdate& update, float* out, cudaStream_t stream) {
  if (update.elements == 0) {
    return;
  }
  mean_kernel<<<blocks_for(update.elements / 4), kThreads, shared_bytes(update.program), stream>>>(
      update, out);
  check_launch("summing a slice on the GPU");
}

void launch_sum(const SliceSum& sum, cudaStream_t stream) {
  if (sum.elements == 0) {
    return;
  }
  sum_kernel<<<blocks_for(sum.elements / 4), kThreads, shared_bytes(sum.program), stream>>>(sum);
  check_launch("summing a slice on the GPU");
}

void launch_block_squares(const float* values, std::int64_t num_blocks, double* squares,
                          cudaStream_t stream) {
  if (num_blocks == 0) {
    return;
  }
  const auto grid = static_cast<unsigned int>((num_blocks * kLanes + kThreads - 1) / kThreads);
  block_squares_kernel<<<grid, kThreads, 0, stream>>>(values, num_blocks, squares);
  check_launch("summing squares on the GPU");
}

void launch_clip_decision(const ClipDecision& decision, double* scratch, cudaStream_t stream) {
  if (decision.num_blocks == 0) {
    throw InvariantError("a norm of no blocks; please report this");
  }
  clip_kernel<<<1, 512, 0, stream>>>(decision, scratch);
  check_launch("deciding on clipping on the GPU");
}

void launch_encode(const WireEncoding& encoding, cudaStream_t stream) {
  if (encoding.elements == 0) {
    return;
  }
  encode_kernel<<<blocks_for(encoding.elements / 4), kThreads, 0, stream>>>(encoding);
  check_launch("rounding gradients on the GPU");
}

void launch_store_constants(const UpdateConstants& constants, UpdateConstants* out,
                            cudaStream_t stream) {
  store_constants_kernel<<<1, 1, 0, stream>>>(constants, out);
  check_launch("storing an update's constants on the GPU");
}

}  // namespace gangway::comm
