// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/version.h>

#include "base/errors.hpp"
#include "checkpoint/format/worker_file.hpp"
#include "checkpoint/store/commit.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/families/families.hpp"
#include "job/file/fingerprint.hpp"
#include "job/file/parse.hpp"
#include "launch/model/commands.hpp"
#include "run/run_files.hpp"

namespace gangway::launch {
namespace {

/// Collects the tensors of a run before its first step, by the names in
/// worker/state/owned_state.hpp.
class FirstState {
 public:
  explicit FirstState(const std::filesystem::path& file) : file_(file) {}

  /// Adds `tensor` with the file's values if the file has it under that name.
  void add(std::string name, at::Tensor tensor) {
    if (const checkpoint::TensorRecord* const found = file_.find(name)) {
      load_tensor(*found, tensor, file_.path().string());
    }
    tensors_.emplace_back(std::move(name), std::move(tensor));
  }

  void add(gan::Network& network, const NetworkSpec& spec) {
    const std::size_t first = tensors_.size();
    const std::string& own = network.name();
    require_all_or_none(network);
    for (const gan::Network::NamedParameter& named : network.parameters()) {
      add(named.name, named.parameter->tensor.detach().contiguous());
    }
    const std::size_t parameters_end = tensors_.size();
    for (const gan::Network::NamedStatistic& named : network.statistics()) {
      add(named.name, named.statistic->running.contiguous());
    }
    const std::size_t end = tensors_.size();
    if (spec.is_averaged()) {
      add_like(first, end, own, own + "_ema", Begins::kEqual);
    }
    if (spec.is_frozen) {
      return;
    }
    for (const std::string_view moment : row_of(spec.optimizer.kind).moments) {
      add_like(first, parameters_end, own, fmt::format("{}_optimizer/{}", own, moment),
               Begins::kZero);
    }
    add_updates(own + "_optimizer/updates");
  }

  /// Adds a network's count of updates.
  void add_updates(const std::string& name) {
    at::Tensor updates = at::zeros({1}, at::kLong);
    const checkpoint::TensorRecord* const found = file_.find(name);
    if (found != nullptr && found->bytes.size() == sizeof(std::int64_t)) {
      std::memcpy(updates.mutable_data_ptr(), found->bytes.data(), sizeof(std::int64_t));
    }
    tensors_.emplace_back(name, std::move(updates));
  }

  /// @throws CheckpointError if the file has a tensor that is not of the run's state
  void require_all_taken() const {
    std::set<std::string_view> names;
    for (const auto& [name, tensor] : tensors_) {
      names.insert(name);
    }
    for (const checkpoint::TensorRecord& record : file_.tensors()) {
      if (!names.contains(record.name)) {
        throw CheckpointError(fmt::format("{}: tensor '{}' is not of the job's networks",
                                          file_.path().string(), record.name));
      }
    }
  }

  /// Returns the tensors as pieces, which borrow their memory.
  [[nodiscard]] std::vector<checkpoint::PieceRecord> pieces() const {
    std::vector<checkpoint::PieceRecord> pieces;
    for (const auto& [name, tensor] : tensors_) {
      const auto bytes = static_cast<const std::byte*>(tensor.const_data_ptr());
      pieces.push_back(
          {.of = {.name = name,
                  .type = tensor.scalar_type() == at::kLong ? checkpoint::ElementType::kI64
                                                            : checkpoint::ElementType::kF32,
                  .shape = tensor.sizes().vec(),
                  .begin = 0,
                  .end = static_cast<std::uint64_t>(tensor.numel())},
           .bytes = {bytes, tensor.nbytes()},
           .xxh3_128 = {}});
    }
    return pieces;
  }

 private:
  enum class Begins { kEqual, kZero };

  /// @throws CheckpointError if the file has only some of the network's weights
  void require_all_or_none(gan::Network& network) const {
    const auto is_there = [this](const gan::Network::NamedParameter& named) {
      return file_.find(named.name) != nullptr;
    };
    const std::vector<gan::Network::NamedParameter> all = network.parameters();
    const auto missing = std::ranges::find_if_not(all, is_there);
    if (missing != all.end() && std::ranges::any_of(all, is_there)) {
      throw CheckpointError(
          fmt::format("{}: there is no tensor '{}'", file_.path().string(), missing->name));
    }
  }

  /// Adds tensors [first, end) again under `prefix` in place of `own`.
  void add_like(std::size_t first, std::size_t end, const std::string& own,
                const std::string& prefix, Begins begins) {
    for (std::size_t i = first; i < end; ++i) {
      const at::Tensor& like = tensors_[i].second;
      add(prefix + tensors_[i].first.substr(own.size()),
          begins == Begins::kEqual ? like.clone() : at::zeros_like(like));
    }
  }

  checkpoint::SafetensorsFile file_;
  std::vector<std::pair<std::string, at::Tensor>> tensors_;
};

/// Adds the empty image pools (worker/state/image_pools.hpp).
void add_pools(const JobSpec& job, FirstState& state) {
  std::vector<std::int64_t> shape = example_shape(job.model);
  shape.insert(shape.begin(), job.training.translation.pool);
  const std::vector<std::string> names = pipeline::pools_of(gan::phases_of(job, TORCH_VERSION));
  for (const std::string& name : names) {
    for (int microbatch = 0; microbatch < job.training.microbatches; ++microbatch) {
      state.add(fmt::format("image_pools/{}/{}", microbatch, name), at::zeros(shape));
    }
  }
  if (!names.empty()) {
    state.add_updates("image_pools_optimizer/updates");
  }
}

}  // namespace

void begin_run(const BeginOptions& options) {
  const ResolvedJob job = load_job({.file = options.job_file, .overrides = options.overrides});
  FirstState state(options.weights);
  const at::NoGradGuard no_grad;
  PerNetwork<gan::Network> networks = gan::build_networks(job.spec);
  for (const NetworkId id : networks.ids()) {
    networks[id].initialise(job.spec.training.seed);
    state.add(networks[id], job.spec.networks[id]);
  }
  add_pools(job.spec, state);
  state.require_all_taken();
  const std::filesystem::path temporary =
      checkpoint::begin_checkpoint(options.run / kCheckpointsFolder, 0);
  const checkpoint::FileReport file =
      checkpoint::write_worker_pieces(temporary, {.step = 0}, state.pieces());
  checkpoint::commit_checkpoint(
      temporary, {.job_yaml = job.yaml,
                  .job_fingerprint = job_fingerprint(job.spec),
                  .model_fingerprint = model_fingerprint(job.spec),
                  .numerics = numerics_text(job.spec),
                  .created = checkpoint::rfc3339(std::chrono::system_clock::now()),
                  .files = {{.name = file.name, .bytes = file.bytes, .xxh3_128 = file.xxh3_128}}});
  write_job(options.run, job.yaml);
}

}  // namespace gangway::launch
