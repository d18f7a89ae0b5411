// SPDX-License-Identifier: MIT
// A pass as data: a small graph of named tensors over one micro-batch. A recipe (gan/recipes/)
// makes it; schedules are made from it; the worker carries it out. No layout, no third party.
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

/// Tensors of a pass, each under the name by which a network takes it.
struct Input {
  std::string name;    ///< of the network: "image"
  std::string tensor;  ///< of the pass: "fake"
  bool operator==(const Input&) const = default;
};

/// Random numbers, keyed by job, step and place: equal on every worker.
struct Draw {
  enum class Kind {
    kNoise,       ///< standard normal [N, latent]
    kLabels,      ///< int64 [N], uniform over the job's classes
    kDataLabels,  ///< int64 [N], of random examples of the data
    kMix,         ///< uniform in [0, 1), one an example: [N, 1, …]
    kCodes,       ///< uniform in [-1, 1) [N, codes]
    kCategories,  ///< one-hot rows [N, categories]
    kTargets,     ///< for the logits of real images [N]: LabelSpec
  };
  Kind kind = Kind::kNoise;
  std::string output;
  int stream = 0;  ///< draws of one kind in a pass differ by it
  int share = 1;   ///< one in so many of a micro-batch's examples, but one at least
  bool operator==(const Draw&) const = default;
};

/// The micro-batch's real examples.
struct Reals {
  std::string images = "real";
  std::string labels = "real_labels";
  bool operator==(const Reals&) const = default;
};

/// A statistic of a network as it was before this update, [1]. No gradient goes back through it.
struct Running {
  NetworkId network{};
  std::string statistic;  ///< Network::keep_mean
  std::string output;
  int chunk = 0;  ///< that has it, of a network that is cut: the last
  /// Of an adaptive augmentation's strength: as the update of this phase stores it.
  bool is_moved = false;
  bool operator==(const Running&) const = default;
};

/// The job's style picture, the same for every micro-batch: a batch of one.
struct StylePicture {
  std::string output = "style";
  bool operator==(const StylePicture&) const = default;
};

/// A function of tensors without weights.
struct Join {
  std::string function;  ///< gan/losses/joins.hpp
  std::vector<std::string> inputs;
  std::string output;
  bool operator==(const Join&) const = default;
};

/// The join of one tensor that is data to whatever takes it: no gradient goes back through it.
inline constexpr std::string_view kDetached = "detached";

/// Images that were made, or in the place of some of them others that were made in earlier steps
/// for the same micro-batch, which keeps some (Shrivastava et al., 2017, section 2.3). No gradient
/// goes back through it.
struct Pool {
  std::string name;  ///< what is kept under one name is kept together
  std::string input;
  std::string output;
  bool operator==(const Pool&) const = default;
};

/// Images as a discriminator is to see them: transformed at random, keyed by place and stream, as
/// the job has it (training.augment). Gradients go through it.
struct Augment {
  NetworkId judge{};  ///< to which they are shown
  std::string input;
  std::string output;
  int stream = 0;             ///< as a draw's
  std::string strength = {};  ///< [1]: the judge's statistic, where that adapts; empty: the job's
  bool is_looked_through = false;  ///< by the pass's penalty
  bool operator==(const Augment&) const = default;
};

/// Of an application, the blocks that one chunk of a network that is cut has
/// (pipeline/cut_phases.hpp).
struct ChunkPart {
  int chunk = 0;
  BlockRange blocks = {};
  /// Names inside of the network of what flows out of it; those of the pass are its
  /// application's levels. Empty of the last chunk, which makes the network's results.
  std::vector<std::string> live = {};
  bool operator==(const ChunkPart&) const = default;
};

/// A network's forward; whether weights and inputs have gradients follows from the phase.
struct Application {
  NetworkId network{};
  std::vector<Input> inputs;
  std::string output;
  int stream = 0;  ///< applications of a pass draw other random numbers inside where it differs
  /// What it makes instead of `output`, where the network makes several tensors.
  std::vector<std::string> levels = {};
  /// Of the network's statistics, the one that is given the mean of what it makes; empty: none.
  std::string statistic = {};
  /// The mean sign of its output is a statistic of the network's, by which augmentation adapts.
  bool harvests_signs = false;
  /// Of a network that is cut; nothing: all of it.
  std::optional<ChunkPart> part = {};
  /// Of the job's own step (training.step), called instead of the network: what it makes depends on
  /// the weights of all that its phase trains.
  std::string method = {};
  std::vector<NetworkId> beside = {};  ///< other networks that the method looks at
  bool operator==(const Application&) const = default;
};

/// A scalar that the phase makes smaller.
struct Loss {
  std::string function;  ///< gan/losses/losses.hpp
  std::vector<std::string> inputs;
  double weight = 1.0;
  std::optional<NetworkId> shown_with;  ///< the network whose loss it is part of where people read
  bool operator==(const Loss&) const = default;
};

/// Of a penalty on a network that is cut, what is done with one chunk. Four sweeps go over the
/// chunks (gan/losses/block_sweeps.hpp): two are nodes, the other two their backwards.
struct PenaltyPart {
  int chunk = 0;
  BlockRange blocks = {};
  bool goes_forward = false;  ///< sweep 1, and backward sweep 4
  bool goes_back = false;     ///< sweep 2, and backward sweep 3
  bool is_measured = false;   ///< here is what the penalty looks at
  /// Tensors of the pass that it makes, by their names in the network: what goes on forward, or
  /// gradients that go back.
  std::vector<Input> makes = {};
  std::string value = {};  ///< the penalty, [], for where it is shown; empty: nowhere, or not here
  bool operator==(const PenaltyPart&) const = default;
};

/// A loss on the gradient of a trained network's output with respect to one of its inputs, or to a
/// tensor inside that the function knows.
struct Penalty {
  NetworkId network{};
  std::string function;  ///< gan/losses/penalty.hpp
  double weight = 1.0;
  std::vector<Input> inputs;      ///< the first is the one looked at, unless one inside is
  std::string looks_inside = {};  ///< at a tensor of this name, if not at an input
  /// Whether at the images of which the pass's Augment made that input.
  bool looks_through = false;
  ScheduleSpec schedule = {};            ///< of a factor on the weight
  std::optional<NetworkId> shown_with;   ///< as a loss's
  bool harvests = false;                 ///< a statistic of the network's
  std::optional<PenaltyPart> part = {};  ///< of a network that is cut; nothing: all of it
  bool operator==(const Penalty&) const = default;
};

/// A scalar that is part of the loss that people read, beside a chunk that has the rest of it: the
/// sum is that of one worker. No gradient goes back through it.
struct Shown {
  NetworkId network{};
  int chunk = 0;
  std::string input;
  NetworkId shown_with{};
  bool operator==(const Shown&) const = default;
};

using Node = std::variant<Draw, Reals, Running, StylePicture, Join, Pool, Augment, Application,
                          Loss, Penalty, Shown>;

/// What a pass begins with: the first nodes of a pass of an earlier phase are its own, and what
/// they made in that phase's last repeat is taken, not made again.
struct Recall {
  int phase = 0;
  int pass = 0;
  int nodes = 0;
  bool operator==(const Recall&) const = default;
};

/// One forward and backward of a phase over one micro-batch: its nodes in an order in which each
/// finds what it takes. Backward visits them in the opposite order, which is that of the sums where
/// a tensor is taken by several.
struct Pass {
  std::string name;  ///< "real", "gradient_penalty"
  std::vector<Node> nodes;
  std::optional<Recall> recall = {};
  /// By node: whether a gradient of its output is wanted (gradient_flow); filled in by `completed`.
  std::vector<bool> has_gradient = {};
  bool operator==(const Pass&) const = default;
};

/// By node, whether what it makes depends on the weights of a trained network, and a loss on it.
/// @throws InvariantError naming a tensor that no earlier node makes, or that two make
[[nodiscard]] std::vector<bool> gradient_flow(const Pass& pass,
                                              const std::vector<NetworkId>& trained);

/// Names of the tensors that a node takes, and of those that it makes.
[[nodiscard]] std::vector<std::string> inputs_of(const Node& node);
[[nodiscard]] std::vector<std::string> outputs_of(const Node& node);

/// Whether a gradient of one of the tensors that `application` of the pass takes is wanted.
[[nodiscard]] bool wants_input_gradient(const Pass& pass, const Application& application);

}  // namespace gangway::pipeline
