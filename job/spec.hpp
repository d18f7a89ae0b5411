// SPDX-License-Identifier: MIT
// The resolved job file as plain values: what to train, and the layout. Does not parse
// (job/file/parse.hpp). No LibTorch.
//
// Job has everything that can change a weight. The layout (job/layout_choice.hpp), checkpoints and
// output (job/run_options.hpp) never do.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/augmentation.hpp"
#include "job/divergence.hpp"
#include "job/layout_choice.hpp"
#include "job/models/architecture.hpp"
#include "job/models/growth_schedule.hpp"
#include "job/models/hashed_file.hpp"
#include "job/models/initialization.hpp"
#include "job/models/model_spec.hpp"
#include "job/models/network_id.hpp"
#include "job/models/recipes.hpp"
#include "job/models/regularisation.hpp"
#include "job/optimizers.hpp"
#include "job/precision.hpp"
#include "job/run_options.hpp"
#include "job/schedules/ramp_up.hpp"
#include "job/schedules/schedule.hpp"

namespace gangway {

enum class LossKind { kNonsaturating, kLeastSquares, kHinge, kWasserstein, kRelativistic };
/// kAuto appears before a run alone: job/devices/settle_device.hpp replaces it.
enum class MemoryFormat { kContiguous, kChannelsLast, kAuto };
/// kAuto appears in job files alone: launch/data/followed_data.hpp replaces it before a job is
/// loaded.
enum class DeviceKind { kCpu, kCuda, kAuto };
/// Number format of data sent between hosts; all but fp32 are inexact (docs/numerics.md).
enum class WireFormat { kFp32, kBf16, kFp16 };
/// Direction in which pairs are translated.
enum class PairDirection { kAToB, kBToA };
/// Content of an example that the user's Python makes.
enum class ExampleKind {
  kPicture,
  kPair,         ///< two pictures that belong together
  kTwoPictures,  ///< one picture of each side
  kAny,          ///< anything that the user's own step can read
};

/// Random changes of a real picture each time it is shown (data/augment/).
struct AugmentSpec {
  double crop = 1.0;        ///< side of the square that is shown, over the picture's side; 1: all
  double zoom = 1.0;        ///< largest magnification; 1: none
  double rotation = 0.0;    ///< largest angle to either side, in degrees
  double brightness = 0.0;  ///< of these three, largest difference of a factor from 1
  double contrast = 0.0;
  double saturation = 0.0;
  [[nodiscard]] bool moves_pixels() const { return crop < 1.0 || zoom > 1.0 || rotation > 0.0; }
  [[nodiscard]] bool changes_shades() const {
    return brightness > 0.0 || contrast > 0.0 || saturation > 0.0;
  }
  bool operator==(const AugmentSpec&) const = default;
};

/// A class of a Python file of the user's. A network without one is the family's.
struct ModuleFile : HashedFile {
  std::string python_class = {};  ///< "Generator"
  std::string arguments = {};     ///< of the constructor: a JSON map sorted by name; empty: none
  std::string module = {};        ///< of a package: "R3GAN.Networks"; empty: the file's own name
  std::optional<std::int64_t> num_parameters = {};  ///< known once the class is made; not a key
  [[nodiscard]] bool is_python() const { return !file.empty(); }
  /// Returns the class alone, without inputs and outputs.
  [[nodiscard]] PythonSpec python_spec(std::string key, std::uint64_t seed) const {
    return {.key = std::move(key),
            .file = file,
            .module = module,
            .hash = hash,
            .python_class = python_class,
            .arguments = arguments,
            .seed = seed};
  }
  bool operator==(const ModuleFile&) const = default;
};

struct DataSpec {
  static constexpr std::int64_t kAutoCache = -1;

  std::string source = "fashion-mnist";  ///< fashion-mnist, stacked:fashion-mnist, idx:DIR,
                                         ///< images:DIR_OR_FILE, toy:ring8, toy:grid25; of two
                                         ///< sides pairs:DIR_OR_FILE, unpaired:DIR_OR_FILE,
                                         ///< edges:fashion-mnist, classes:fashion-mnist:A,B;
                                         ///< pack:DIR, made by `gangway data pack`; or `module`
  /// Returns whether an example is two pictures; the first side's channels come first.
  [[nodiscard]] bool has_two_sides() const;
  /// Returns whether the second picture is the target for the first.
  [[nodiscard]] bool has_pairs() const;
  bool mirror = false;     ///< horizontal flips, keyed by sample
  int prefetch = 4;        ///< micro-batches prepared ahead
  int threads = 0;         ///< that prepare them; 0: auto, from the worker's cores
  std::int64_t cache = 0;  ///< most bytes of resized pictures to keep; 0: none; or kAutoCache
  std::int64_t limit = 0;  ///< first examples of the source to train on; 0: all
  PairDirection direction = PairDirection::kAToB;
  AugmentSpec augment;
  /// The class that provides the examples, if they are the user's Python (docs/python.md). `source`
  /// then is "data.py:Faces".
  ModuleFile module;
  std::string python;          ///< layout.python, whose interpreter reads the examples
  double read_seconds = 60.0;  ///< layout.timeout_seconds: for a micro-batch read by Python
  ExampleKind takes = ExampleKind::kPicture;  ///< kind of example of `module`
  bool operator==(const DataSpec&) const = default;
};

struct PenaltySpec {
  double gradient_penalty = 0.0;  ///< lambda of WGAN-GP (Gulrajani et al., 2017, eq. 3); 0: none
  double r1_gamma = 0.0;          ///< gamma of R1 (Mescheder et al., 2018, eq. 9); 0: none
  /// Steps from one R1 and R2 to the next; above 1 a lazy phase (StyleGAN2, appendix B).
  int r1_interval = 1;
  double r2_gamma = 0.0;                ///< gamma of R2 (R1 on generated images); 0: none
  double final_factor = 1.0;            ///< factor on both gammas at the end of the burn-in
  ScheduleSpec gamma_schedule = {};     ///< of a factor on both gammas; unused with `final_factor`
  ScheduleSpec gradient_schedule = {};  ///< of a factor on `gradient_penalty`
  /// Returns the schedule of the factor on both gammas.
  [[nodiscard]] ScheduleSpec gamma_course() const {
    return final_factor == 1.0
               ? gamma_schedule
               : ScheduleSpec{.decay = DecayKind::kCosine, .final_value = final_factor};
  }
  [[nodiscard]] bool is_any() const {
    return gradient_penalty > 0.0 || r1_gamma > 0.0 || r2_gamma > 0.0;
  }
  [[nodiscard]] bool is_lazy() const {
    return (r1_gamma > 0.0 || r2_gamma > 0.0) && r1_interval > 1;
  }
  bool operator==(const PenaltySpec&) const = default;
};

/// The generator's path length regularisation (Karras et al., 2020, eq. 4).
struct PathLengthSpec {
  double weight = 0.0;  ///< 0: none
  int interval = 4;     ///< steps from one to the next; above 1 a lazy phase (appendix B)
  [[nodiscard]] bool is_any() const { return weight > 0.0; }
  [[nodiscard]] bool is_lazy() const { return is_any() && interval > 1; }
  bool operator==(const PathLengthSpec&) const = default;
};

/// Minus the log-likelihood of an example, up to a constant.
enum class Reconstruction { kBernoulli, kSquared, kAbsolute };

struct AutoencoderSpec {
  Reconstruction reconstruction = Reconstruction::kBernoulli;
  double kl_weight = 1.0;  ///< beta (Higgins et al., 2017, eq. 4); 1: the evidence lower bound
  /// Weight of the generator's adversarial loss beside the reconstruction: 1 / gamma (Larsen et
  /// al., 2016, eq. 9).
  double adversarial_weight = 20.0;
  bool operator==(const AutoencoderSpec&) const = default;
};

/// The information term that recipe infogan maximizes beside the adversarial losses.
struct InformationSpec {
  double weight = 1.0;  ///< lambda (Chen et al., 2016, eq. 6)
  double codes = 0.1;   ///< weight of the continuous codes' share, beside the categorical one's
  bool operator==(const InformationSpec&) const = default;
};

/// Losses of generators that translate pictures, beside the adversarial ones.
struct TranslationSpec {
  double l1_weight = 100.0;      ///< lambda of pix2pix (Isola et al., 2017, eq. 4)
  double cycle_weight = 10.0;    ///< lambda of CycleGAN (Zhu et al., 2017, eq. 3)
  double identity_weight = 5.0;  ///< Zhu et al., 2017, section 5.2: half of cycle_weight
  int pool = 50;  ///< generated images that each micro-batch keeps per generator; 0: none
  bool operator==(const TranslationSpec&) const = default;
};

/// Style transfer: keeps a picture's content, takes another's style (Johnson et al., 2016, eq. 5).
struct StyleSpec {
  HashedFile picture;           ///< picture that gives the style
  double weight = 1.0;          ///< of the style distance
  double content_weight = 1.0;  ///< of the content distance
  int content_level = 2;        ///< of the features at which content is compared; from 1
  double total_variation = 0.0;
  bool operator==(const StyleSpec&) const = default;
};

/// What a generator learns from its teacher (recipe distill).
struct DistillSpec {
  int teacher_width = 128;          ///< model.width of the teacher
  double adversarial_weight = 1.0;  ///< of the discriminator's judgement
  double picture_weight = 10.0;     ///< of the mean absolute difference from the teacher's example
  double feature_weight = 10.0;     ///< of the same of the trunk's features
  bool prunes = false;  ///< whether the generator begins with the teacher's largest channels
  bool operator==(const DistillSpec&) const = default;
};

/// A phase of a step in the user's Python (docs/own-step.md), as its file declares it.
struct OwnPhase {
  std::string name;                   ///< of the method
  std::vector<std::string> networks;  ///< trained by the phase
  int repeats = 1;
  int interval = 1;
  bool takes_reals = false;
  bool is_captured = false;  ///< may be recorded on a GPU: it has work for the device alone
  bool operator==(const OwnPhase&) const = default;
};

/// Facts that the file of the user's step declares.
struct OwnStepFacts {
  /// Shape and type of one example of a network's input.
  struct Input {
    std::vector<std::int64_t> shape;
    bool is_whole = false;  ///< int64; else float32
    bool operator==(const Input&) const = default;
  };
  std::vector<OwnPhase> phases;
  bool shows = false;             ///< the step makes the run's pictures
  bool scores = false;            ///< the step scores the networks
  bool is_higher_better = false;  ///< of the first score
  /// Inputs of networks that differ from their roles' inputs, by network name.
  std::map<std::string, std::vector<Input>> takes;
  bool operator==(const OwnStepFacts&) const = default;
};

struct TrainingSpec {
  const Recipe* recipe = default_recipe();  ///< a row of the table; never null
  double kimg = 40;                         ///< thousand real images shown to the discriminator
  int batch = 128;                          ///< images per phase, over all workers
  int microbatches = 2;                     ///< M: micro-batches per batch; the unit of arithmetic
  std::uint64_t seed = 0;
  /// Images over which values reach their final ones, on half a cosine (R3GAN, appendix); 0: kimg.
  double burn_in_kimg = 0.0;
  GrowthSpec growth;  ///< of families that grow
  LossKind loss = LossKind::kNonsaturating;
  /// Whether the generator's phase reuses the examples of the discriminator's last update
  /// (PyTorch's DCGAN tutorial); else it makes new examples.
  bool reuse_fakes = false;
  FakeLabels fake_labels = FakeLabels::kUniform;
  GeneratorReals generator_reals = GeneratorReals::kSame;
  PenaltySpec penalty;
  AugmentationSpec augment;
  /// Orthogonal regularisation of the generator's maps: beta (Brock et al., 2019, eq. 3); 0: none.
  double orthogonal_weight = 0.0;
  LabelSpec labels;
  LecamSpec lecam;
  PathLengthSpec path_length;
  AutoencoderSpec autoencoder;
  InformationSpec information;
  TranslationSpec translation;
  StyleSpec style;
  DistillSpec distill;
  DivergenceSpec divergence;
  PlateauSpec plateau;
  ModuleFile step;  ///< the user's step, which replaces the recipe's phases; empty: none
  /// Facts of `step`; python::open_python fills them in (python/open/python_library.hpp). Not a
  /// key.
  OwnStepFacts own = {};
  bool operator==(const TrainingSpec&) const = default;
};

struct NetworkSpec {
  std::string name;  ///< "generator"
  OptimizerSpec optimizer;
  ScheduleSpec schedule;             ///< of a factor on the learning rate
  ScheduleSpec beta1_schedule = {};  ///< of the first moment's decay
  ScheduleSpec beta2_schedule = {};  ///< of the second moment's; unused with `final_beta2`
  ScheduleSpec ema_schedule = {};    ///< of `ema_kimg`
  double final_beta2 = 0.0;          ///< at the end of the burn-in; 0: no change
  double clip_norm = 0.0;            ///< global norm; 0: no clipping
  std::string weights;  ///< safetensors file of the first values; empty: keyed random numbers
  /// Whether the weights stay as in `weights`. The network then works as in evaluation and has no
  /// optimiser and no average; no phase trains it.
  bool is_frozen = false;
  double ema_kimg = 0.0;  ///< half-life of the average; 0: none, unless its schedule ends above 0
  RampUp ema_rampup = {};
  double ema_start_kimg = 0.0;  ///< until then the average equals the weights
  /// Interval of the lazy regulariser for which rate and decays are corrected; 0: as in the phases.
  int lazy_interval = 0;
  int steps = 1;                           ///< updates per update of the other networks (n_critic)
  WireFormat wire = WireFormat::kFp32;     ///< of its gradients and new weights
  Precision precision = Precision::kFp32;  ///< of its passes; kAuto until a run begins
  ModuleFile module;                       ///< model.NETWORK
  InitializationSpec initialization;       ///< of a network that is not the user's
  /// Whether an average of its weights is kept.
  [[nodiscard]] bool is_averaged() const {
    return ema_kimg > 0.0 || (!is_frozen && ema_schedule.final_value > 0.0);
  }
  bool operator==(const NetworkSpec&) const = default;
};

/// Returns the networks of a job that says nothing about them.
[[nodiscard]] PerNetwork<NetworkSpec> networks_of(const Recipe& recipe);

/// Order in which the micro-batches' gradients are added.
enum class SumOrder {
  kTree,  ///< the job's: the same bits on any layout
  kNccl,  ///< NCCL's own, declared inexact
};
/// Kernels that a GPU, or a network of the user's Python on a CPU, uses.
enum class KernelChoice {
  kDeterministic,
  kFastest,  ///< of a GPU; declared inexact: two equal runs may differ
  kPytorch,  ///< of Python networks on CPUs: PyTorch's alone, none of Gangway's
};

/// Instruction set for LibTorch, oneDNN and MKL on x86. Other instructions give other bits.
enum class InstructionSet { kNative, kSse4, kAvx2, kAvx512 };

struct NumericsSpec {
  int threads = 1;  ///< compute threads per worker; the number changes bits
  MemoryFormat memory_format = MemoryFormat::kChannelsLast;
  DeviceKind device = DeviceKind::kCpu;
  SumOrder order = SumOrder::kTree;
  KernelChoice kernels = KernelChoice::kDeterministic;
  InstructionSet processor = InstructionSet::kNative;
  std::optional<Precision> penalties;  ///< as the key says; nothing: auto (Job::penalty_precision)
  bool operator==(const NumericsSpec&) const = default;
};

/// Everything that can change a weight, and nothing else. Code that computes takes this type, so
/// that no layout can affect an example, a draw or a sum.
struct Job {
  ModelSpec model;
  DataSpec data;
  TrainingSpec training;
  PerNetwork<NetworkSpec> networks = networks_of(*default_recipe());  ///< the recipe's
  NumericsSpec numerics;

  /// @throws InvariantError if the recipe has no network of that name
  [[nodiscard]] NetworkId id_of(std::string_view network) const;
  [[nodiscard]] NetworkSpec& network(std::string_view name) { return networks[id_of(name)]; }
  [[nodiscard]] const NetworkSpec& network(std::string_view name) const {
    return networks[id_of(name)];
  }
  /// Returns the network that a user calls `name`; for an empty name, the network that is shown.
  /// @throws ConfigError if there is no such network
  [[nodiscard]] NetworkId chosen(std::string_view name) const;
  [[nodiscard]] PerNetwork<std::string> network_names() const;
  /// Returns the network whose results are shown.
  [[nodiscard]] NetworkId shown_network() const { return id_of(training.recipe->shown); }
  /// Returns the batches of real examples that count as shown in a step: one for each update of the
  /// network that judges them.
  [[nodiscard]] int judged_batches_per_step() const {
    const std::string_view counts = training.recipe->counts;
    return counts.empty() ? 1 : network(counts).steps;
  }
  /// Returns the batches of new real examples that a step reads.
  [[nodiscard]] int real_batches_per_step() const {
    return judged_batches_per_step() + (training.generator_reals == GeneratorReals::kNew ? 1 : 0);
  }
  /// Returns whether losses are scaled so that gradients stay in fp16's range. If one network
  /// computes in fp16, all losses are scaled, because other networks' gradients pass through it.
  [[nodiscard]] bool scales_losses() const;
  /// Returns the precision of the penalties on a network (numerics.penalties). It is never kTf32 on
  /// a CPU, whose arithmetic that is in float32.
  [[nodiscard]] Precision penalty_precision(NetworkId network) const;
  /// Returns whether a network or the step is the user's Python (docs/python.md).
  [[nodiscard]] bool computes_in_python() const;
  /// Same, or the data (docs/python.md).
  [[nodiscard]] bool has_python() const { return computes_in_python() || data.module.is_python(); }
  /// Returns whether the network's updates wait for the norm of its gradient.
  [[nodiscard]] bool agrees_on_updates(NetworkId network) const {
    return skips_updates(network) || training.divergence.gradient_norm > 0.0;
  }
  /// Returns whether an update is skipped if that norm is not finite.
  [[nodiscard]] bool skips_updates(NetworkId network) const {
    return networks[network].clip_norm > 0.0 || scales_losses();
  }
  /// Returns whether data sent between hosts is rounded.
  [[nodiscard]] bool rounds_wire() const;
  /// Returns the model with Normalization::kAuto replaced by its meaning in this job.
  [[nodiscard]] ModelSpec settled_model() const;
  /// Returns each network's architecture: the user's, or that of settled_model().
  /// @throws InvariantError if neither the user nor the family has one
  [[nodiscard]] PerNetwork<Architecture> architectures() const;
  /// Returns the images after which scheduled values have reached their final ones.
  [[nodiscard]] double burn_in_images() const {
    return 1000.0 * (training.burn_in_kimg > 0.0 ? training.burn_in_kimg : training.kimg);
  }
  /// Returns how far the networks have grown after `images` images
  /// (job/blocks/progressive/growth.hpp).
  [[nodiscard]] double growth_level(std::int64_t images) const;
  /// Returns whether training.kimg affects weights: some value reaches its final one there.
  [[nodiscard]] bool ends_burn_in() const;
  [[nodiscard]] int images_per_microbatch() const { return training.batch / training.microbatches; }
  /// Returns the real images that kimg counts per step. The generator phase's own real images do
  /// not count (R3GAN's code).
  [[nodiscard]] std::int64_t images_per_step() const {
    return static_cast<std::int64_t>(training.batch) * judged_batches_per_step();
  }
  /// Returns the steps that reach training.kimg (rounded up).
  [[nodiscard]] std::int64_t total_steps() const;
  /// Returns the steps between events that are given in kimg: at least 1; 0 for 0.
  [[nodiscard]] std::int64_t steps_of_kimg(double kimg) const;
  bool operator==(const Job&) const = default;
};

/// A whole job file.
struct JobSpec : Job, RunOptions {
  LayoutChoice layout = LayoutChoice::of(*default_recipe());

  /// Returns a job that gives only its recipe.
  [[nodiscard]] static JobSpec of(const Recipe& recipe);
  [[nodiscard]] NetworkPlacement& placement(std::string_view network) {
    return layout.networks[id_of(network)];
  }
  /// Returns whether `evaluation.metrics` compare its examples with pictures. False for points, for
  /// pictures made of pictures, and for data whose modes are counted.
  [[nodiscard]] bool compares_pictures() const;
  /// Returns the metrics; the first is the score. @pre compares_pictures()
  [[nodiscard]] std::vector<Metric> metrics() const;
  /// Returns the three intervals of the job's checkpoints, in steps; 0: never.
  [[nodiscard]] std::array<std::int64_t, 3> checkpoint_steps() const;
  bool operator==(const JobSpec&) const = default;
};

}  // namespace gangway
