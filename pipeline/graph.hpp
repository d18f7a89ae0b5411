// SPDX-License-Identifier: MIT
// Describes a pass as a small graph of named tensors over one micro-batch. Made by a recipe
// (gan/recipes/); schedules are made from it, and the worker runs it. No layout, no third party.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "job/layout/block_range.hpp"
#include "job/models/network_id.hpp"
#include "job/schedules/schedule.hpp"

namespace gangway::pipeline {

/// Connects a tensor of the pass to an input of a network.
struct Input {
  std::string name;    ///< the network's name for it: "image"
  std::string tensor;  ///< the pass's name for it: "fake"
  bool operator==(const Input&) const = default;
};

/// Random numbers, keyed by job, step and place: equal on every worker.
struct Draw {
  enum class Kind {
    kNoise,       ///< standard normal [N, latent]
    kLabels,      ///< int64 [N], uniform over the job's classes
    kDataLabels,  ///< int64 [N], of random examples of the data
    kMix,         ///< uniform in [0, 1), one per example: [N, 1, …]
    kCodes,       ///< uniform in [-1, 1) [N, codes]
    kCategories,  ///< one-hot rows [N, categories]
    kTargets,     ///< for the logits of real images [N]: LabelSpec
  };
  Kind kind = Kind::kNoise;
  std::string output;
  int stream = 0;  ///< distinguishes draws of one kind in a pass
  int share = 1;   ///< draws for one in so many examples of a micro-batch, but for at least one
  bool operator==(const Draw&) const = default;
};

/// The micro-batch's real examples.
struct Reals {
  std::string images = "real";
  std::string labels = "real_labels";
  bool operator==(const Reals&) const = default;
};

/// A network statistic before this update, [1]. No gradient goes back through it.
struct Running {
  NetworkId network{};
  std::string statistic;  ///< Network::keep_mean
  std::string output;
  ChunkIndex chunk{};  ///< the chunk that has the statistic; of a cut network the last
  /// For an adaptive augmentation's strength: whether it is the value after this phase's update.
  bool is_moved = false;
  bool operator==(const Running&) const = default;
};

/// The job's style picture, equal for every micro-batch: a batch of one.
struct StylePicture {
  std::string output = "style";
  bool operator==(const StylePicture&) const = default;
};

/// A function of tensors, without weights.
struct Join {
  std::string function;  ///< gan/losses/joins.hpp
  std::vector<std::string> inputs;
  std::string output;
  bool operator==(const Join&) const = default;
};

/// The join that detaches one tensor: no gradient goes back through it.
inline constexpr std::string_view kDetached = "detached";

/// Generated images, some replaced by images of earlier steps for the same micro-batch, which keeps
/// a few (Shrivastava et al., 2017, section 2.3). No gradient goes back through it.
struct Pool {
  std::string name;  ///< pools of equal name share their kept images
  std::string input;
  std::string output;
  bool operator==(const Pool&) const = default;
};

/// Images transformed at random for a discriminator as the job says (training.augment), keyed by
/// place and stream. Gradients go through it.
struct Augment {
  NetworkId judge{};  ///< the discriminator
  std::string input;
  std::string output;
  int stream = 0;             ///< as in Draw
  std::string strength = {};  ///< [1]: the judge's statistic, if it adapts; empty: the job's value
  bool is_looked_through = false;  ///< by the pass's penalty
  bool operator==(const Augment&) const = default;
};

/// The blocks of an application that one chunk of a cut network runs (pipeline/cut_phases.hpp).
struct ChunkPart {
  ChunkIndex chunk{};
  BlockRange blocks = {};
  /// The network's names of the chunk's outgoing tensors; `levels` has their names in the pass.
  /// Empty for the last chunk, which makes the network's results.
  std::vector<std::string> live = {};
  bool operator==(const ChunkPart&) const = default;
};

/// A network's forward. The phase decides whether weights and inputs have gradients.
struct Application {
  NetworkId network{};
  std::vector<Input> inputs;
  std::string output;
  int stream = 0;  ///< distinguishes the random numbers of a pass's applications
  /// Its outputs instead of `output`, if the network makes several tensors.
  std::vector<std::string> levels = {};
  /// The network statistic that receives the mean of its output; empty: none.
  std::string statistic = {};
  /// Whether the mean sign of its output is a network statistic, by which augmentation adapts.
  bool harvests_signs = false;
  /// The chunk of a cut network; none: the whole network.
  std::optional<ChunkPart> part = {};
  /// A method of the job's own step (training.step), called instead of the network. Its output
  /// depends on the weights of all networks that its phase trains.
  std::string method = {};
  std::vector<NetworkId> beside = {};  ///< other networks that the method reads
  bool operator==(const Application&) const = default;
};

/// A scalar that the phase minimises.
struct Loss {
  std::string function;  ///< gan/losses/losses.hpp
  std::vector<std::string> inputs;
  double weight = 1.0;
  std::optional<NetworkId> shown_with;  ///< the network whose displayed loss includes it
  bool operator==(const Loss&) const = default;
};

/// One chunk's part of a penalty on a cut network. Four sweeps go over the chunks
/// (gan/losses/block_sweeps.hpp): two are nodes, the other two their backwards.
struct PenaltyPart {
  ChunkIndex chunk{};
  BlockRange blocks = {};
  bool goes_forward = false;  ///< sweep 1, and backward sweep 4
  bool goes_back = false;     ///< sweep 2, and backward sweep 3
  bool is_measured = false;   ///< whether the penalised tensor is in this chunk
  /// The pass's tensors that it makes, by their names in the network: forward tensors, or gradients
  /// that go back.
  std::vector<Input> makes = {};
  std::string value = {};  ///< the penalty, [], for display; empty: not shown, or not here
  bool operator==(const PenaltyPart&) const = default;
};

/// A loss on the gradient of a trained network's output with respect to one of its inputs, or to an
/// inner tensor that the function knows.
struct Penalty {
  NetworkId network{};
  std::string function;  ///< gan/losses/penalty.hpp
  double weight = 1.0;
  std::vector<Input> inputs;      ///< the first is penalised, unless `inner_tensor` is set
  std::string inner_tensor = {};  ///< name of the penalised inner tensor; empty: an input
  /// Whether it penalises the images from which the pass's Augment made that input.
  bool before_augment = false;
  ScheduleSpec schedule = {};            ///< of a factor on the weight
  std::optional<NetworkId> shown_with;   ///< as in Loss
  bool harvests = false;                 ///< whether it gives a statistic of the network
  std::optional<PenaltyPart> part = {};  ///< for a cut network; none: the whole network
  bool operator==(const Penalty&) const = default;
};

/// A scalar added to a displayed loss on another chunk's worker, so that the sum equals a single
/// worker's. No gradient goes back through it.
struct Shown {
  NetworkId network{};
  ChunkIndex chunk{};
  std::string input;
  NetworkId shown_with{};
  bool operator==(const Shown&) const = default;
};

using Node = std::variant<Draw, Reals, Running, StylePicture, Join, Pool, Augment, Application,
                          Loss, Penalty, Shown>;

/// The reused beginning of a pass: its first nodes equal those of an earlier phase's pass, and take
/// the results of that phase's last repeat.
struct Recall {
  int phase = 0;
  int pass = 0;
  int nodes = 0;
  bool operator==(const Recall&) const = default;
};

/// One forward and backward of a phase over one micro-batch. Each node follows its inputs. Backward
/// visits the nodes in reverse, which is also the order in which gradients of a tensor with several
/// takers are added.
struct Pass {
  std::string name;  ///< "real", "gradient_penalty"
  std::vector<Node> nodes;
  std::optional<Recall> recall = {};
  /// By node: whether its output needs a gradient (gradient_flow); filled in by `completed`.
  std::vector<bool> has_gradient = {};
  bool operator==(const Pass&) const = default;
};

/// By node: whether its output depends on a trained network's weights, and a loss depends on it.
/// @throws InvariantError naming a tensor that no earlier node makes, or that two nodes make
[[nodiscard]] std::vector<bool> gradient_flow(const Pass& pass,
                                              const std::vector<NetworkId>& trained);

/// Names of the tensors that a node takes (inputs_of) and makes (outputs_of).
[[nodiscard]] std::vector<std::string> inputs_of(const Node& node);
[[nodiscard]] std::vector<std::string> outputs_of(const Node& node);

/// Whether a tensor that `application` takes needs a gradient.
[[nodiscard]] bool wants_input_gradient(const Pass& pass, const Application& application);

}  // namespace gangway::pipeline
