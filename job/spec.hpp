// SPDX-License-Identifier: MIT
// The resolved job file as plain values: what to train, and the layout. No parsing here
// (job/file/parse.hpp), no LibTorch.
//
// What can change a weight is in Job. The layout (job/layout_choice.hpp), checkpoints and
// output (job/run_options.hpp) never do.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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
enum class MemoryFormat { kContiguous, kChannelsLast };
/// kAuto stands in job files alone: launch/data/followed_data.hpp settles it before a job is
/// loaded.
enum class DeviceKind { kCpu, kCuda, kAuto };
/// Number format of what travels between hosts; all but fp32 are inexact (docs/numerics.md).
enum class WireFormat { kFp32, kBf16, kFp16 };
/// Of pairs: which picture the other one is made of.
enum class PairDirection { kAToB, kBToA };
/// What a job makes of an example that is the user's Python.
enum class ExampleKind {
  kPicture,
  kPair,         ///< two pictures that belong together
  kTwoPictures,  ///< one of each side
  kAny,          ///< what a step of the user's own makes of it
};

/// How real pictures are changed by chance each time that they are shown (gan/data/augment/).
struct AugmentSpec {
  double crop = 1.0;        ///< side of the square of it that is shown, of the picture's; 1: all
  double zoom = 1.0;        ///< largest factor by which it is magnified; 1: none
  double rotation = 0.0;    ///< largest angle to either side, in degrees
  double brightness = 0.0;  ///< of these three, most by which a factor differs from 1
  double contrast = 0.0;
  double saturation = 0.0;
  [[nodiscard]] bool moves_pixels() const { return crop < 1.0 || zoom > 1.0 || rotation > 0.0; }
  [[nodiscard]] bool changes_shades() const {
    return brightness > 0.0 || contrast > 0.0 || saturation > 0.0;
  }
  bool operator==(const AugmentSpec&) const = default;
};

/// What is the user's own: a class of a Python file. A network without one is the family's.
struct ModuleFile : HashedFile {
  std::string python_class = {};  ///< "Generator"
  std::string arguments = {};  ///< of its constructor, a map in JSON by sorted names; empty: none
  std::optional<std::int64_t> num_parameters = {};  ///< once the class was made; no key
  [[nodiscard]] bool is_python() const { return !file.empty(); }
  bool operator==(const ModuleFile&) const = default;
};

struct DataSpec {
  static constexpr std::int64_t kAutoCache = -1;

  std::string source = "fashion-mnist";  ///< fashion-mnist, stacked:fashion-mnist, idx:DIR,
                                         ///< images:DIR_OR_FILE, toy:ring8, toy:grid25; of two
                                         ///< sides pairs:DIR_OR_FILE, unpaired:DIR_OR_FILE,
                                         ///< edges:fashion-mnist, classes:fashion-mnist:A,B;
                                         ///< pack:DIR, made by `gangway data pack`; or `module`
  /// Whether an example is two pictures, the first side's channels before the second's.
  [[nodiscard]] bool has_two_sides() const;
  /// Whether the second of them is what the first one should become.
  [[nodiscard]] bool has_pairs() const;
  bool mirror = false;     ///< horizontal flips, keyed by sample
  int prefetch = 4;        ///< micro-batches prepared ahead
  int threads = 0;         ///< that prepare them; 0: auto, by the cores that a worker has
  std::int64_t cache = 0;  ///< bytes that may be kept of resized pictures; 0: none, or kAutoCache
  std::int64_t limit = 0;  ///< examples of the source that are trained on, the first ones; 0: all
  PairDirection direction = PairDirection::kAToB;
  AugmentSpec augment;
  /// Whose class has the examples, where they are the user's Python (docs/python.md); `source` is
  /// "data.py:Faces" then.
  ModuleFile module;
  std::string python;          ///< layout.python, whose interpreter reads them
  double read_seconds = 60.0;  ///< layout.timeout_seconds: for a micro-batch that it reads
  ExampleKind takes = ExampleKind::kPicture;  ///< of `module`
  bool operator==(const DataSpec&) const = default;
};

struct PenaltySpec {
  double gradient_penalty = 0.0;  ///< lambda of WGAN-GP (Gulrajani et al., 2017, eq. 3); 0: none
  double r1_gamma = 0.0;          ///< gamma of R1 (Mescheder et al., 2018, eq. 9); 0: none
  /// R1 and R2 every so many steps; above 1 as their own lazy phase (StyleGAN2, appendix B).
  int r1_interval = 1;
  double r2_gamma = 0.0;                ///< gamma of R2, which is R1 on generated images; 0: none
  double final_factor = 1.0;            ///< on both gammas when the burn-in is over
  ScheduleSpec gamma_schedule = {};     ///< of a factor on both gammas, unless `final_factor` is
  ScheduleSpec gradient_schedule = {};  ///< of a factor on `gradient_penalty`
  /// What both gammas are multiplied by.
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
  int interval = 4;     ///< every so many steps; above 1 in a lazy phase of its own (appendix B)
  [[nodiscard]] bool is_any() const { return weight > 0.0; }
  [[nodiscard]] bool is_lazy() const { return is_any() && interval > 1; }
  bool operator==(const PathLengthSpec&) const = default;
};

/// Minus the logarithm of an example's likelihood, up to a constant.
enum class Reconstruction { kBernoulli, kSquared, kAbsolute };

struct AutoencoderSpec {
  Reconstruction reconstruction = Reconstruction::kBernoulli;
  double kl_weight = 1.0;  ///< beta (Higgins et al., 2017, eq. 4); 1: the evidence lower bound
  /// Of what the discriminator says to the generator beside the reconstruction: 1 / gamma (Larsen
  /// et al., 2016, eq. 9).
  double adversarial_weight = 20.0;
  bool operator==(const AutoencoderSpec&) const = default;
};

/// What a step of recipe infogan makes larger beside the adversaries' losses.
struct InformationSpec {
  double weight = 1.0;  ///< lambda (Chen et al., 2016, eq. 6)
  double codes = 0.1;   ///< of the continuous codes' share, beside the categorical one's
  bool operator==(const InformationSpec&) const = default;
};

/// What generators learn from beside the discriminators, where they make pictures of pictures.
struct TranslationSpec {
  double l1_weight = 100.0;      ///< lambda of pix2pix (Isola et al., 2017, eq. 4)
  double cycle_weight = 10.0;    ///< lambda of CycleGAN (Zhu et al., 2017, eq. 3)
  double identity_weight = 5.0;  ///< Zhu et al., 2017, section 5.2: half of the cycle's
  int pool = 50;  ///< images that each micro-batch keeps of each generator's; 0: none
  bool operator==(const TranslationSpec&) const = default;
};

/// What a picture is to keep, and what to take of another one (Johnson et al., 2016, eq. 5).
struct StyleSpec {
  HashedFile picture;           ///< whose style it is to have
  double weight = 1.0;          ///< of the style's distance
  double content_weight = 1.0;  ///< of the content's
  int content_level = 2;        ///< of the features, in which the content is compared; from 1
  double total_variation = 0.0;
  bool operator==(const StyleSpec&) const = default;
};

/// A phase of a step that is the user's Python (docs/own-step.md), as its file says it.
struct OwnPhase {
  std::string name;                   ///< of the method
  std::vector<std::string> networks;  ///< that it trains
  int repeats = 1;
  int interval = 1;
  bool takes_reals = false;
  bool is_captured = false;  ///< may be recorded on a GPU: it is work for the device alone
  bool operator==(const OwnPhase&) const = default;
};

/// What the file of such a step says of it.
struct OwnStepFacts {
  /// An example of a tensor that a network takes.
  struct Input {
    std::vector<std::int64_t> shape;
    bool is_whole = false;  ///< int64; else float32
    bool operator==(const Input&) const = default;
  };
  std::vector<OwnPhase> phases;
  bool shows = false;             ///< makes the run's pictures
  bool scores = false;            ///< says how good the networks are
  bool is_higher_better = false;  ///< of its first figure
  /// Of networks that take something else than their roles say, by name.
  std::map<std::string, std::vector<Input>> takes;
  bool operator==(const OwnStepFacts&) const = default;
};

struct TrainingSpec {
  const Recipe* recipe = default_recipe();  ///< a row of the table; never null
  double kimg = 40;                         ///< thousand real images shown to the discriminator
  int batch = 128;                          ///< images a phase, over all workers
  int microbatches = 2;  ///< M: pieces the batch is cut into; the unit of arithmetic
  std::uint64_t seed = 0;
  /// Over which values go to their final ones, on half a cosine (R3GAN, appendix); 0: all of kimg.
  double burn_in_kimg = 0.0;
  GrowthSpec growth;  ///< of families that grow
  LossKind loss = LossKind::kNonsaturating;
  /// Whether the generator is judged by what it made for the discriminator's last update, which is
  /// not made again (PyTorch's DCGAN tutorial); else it makes new examples.
  bool reuse_fakes = false;
  FakeLabels fake_labels = FakeLabels::kUniform;
  GeneratorReals generator_reals = GeneratorReals::kSame;
  PenaltySpec penalty;
  AugmentationSpec augment;
  /// beta of what keeps the generator's maps orthogonal (Brock et al., 2019, eq. 3); 0: nothing
  double orthogonal_weight = 0.0;
  LabelSpec labels;
  LecamSpec lecam;
  PathLengthSpec path_length;
  AutoencoderSpec autoencoder;
  InformationSpec information;
  TranslationSpec translation;
  StyleSpec style;
  DivergenceSpec divergence;
  PlateauSpec plateau;
  ModuleFile step;  ///< whose phases are trained in the place of the recipe's; empty: the recipe's
  /// Of that step; filled in by gan::open_python (gan/python/python_library.hpp); no key.
  OwnStepFacts own = {};
  bool operator==(const TrainingSpec&) const = default;
};

struct NetworkSpec {
  std::string name;  ///< "generator"
  OptimizerSpec optimizer;
  ScheduleSpec schedule;             ///< of a factor on the learning rate
  ScheduleSpec beta1_schedule = {};  ///< of the first moment's decay
  ScheduleSpec beta2_schedule = {};  ///< of the second moment's, unless `final_beta2` is
  ScheduleSpec ema_schedule = {};    ///< of `ema_kimg`
  double final_beta2 = 0.0;          ///< when the burn-in is over; 0: as ever
  double clip_norm = 0.0;            ///< global norm; 0: no clipping
  std::string weights;  ///< safetensors file to begin from; empty: keyed random numbers
  /// Whether it stays as `weights` has it, and works as in evaluation: it has no optimiser, no
  /// average, and is in no phase's list of those that are trained.
  bool is_frozen = false;
  double ema_kimg = 0.0;  ///< half-life of the weight average; 0: none is kept, unless it changes
  RampUp ema_rampup = {};
  double ema_start_kimg = 0.0;  ///< until then the average is the weights
  /// Rate and decays are corrected as beside a regulariser of every so many steps; 0: as the phases
  /// have one.
  int lazy_interval = 0;
  int steps = 1;                           ///< updates for one of the others (n_critic)
  WireFormat wire = WireFormat::kFp32;     ///< of its gradients and new weights
  Precision precision = Precision::kFp32;  ///< of its passes; kAuto until a run is begun
  ModuleFile module;                       ///< model.NETWORK
  InitializationSpec initialization;       ///< of a network that is not the user's
  /// Whether an average of its weights is kept.
  [[nodiscard]] bool is_averaged() const {
    return ema_kimg > 0.0 || (!is_frozen && ema_schedule.final_value > 0.0);
  }
  bool operator==(const NetworkSpec&) const = default;
};

/// Of a job that says nothing about them.
[[nodiscard]] PerNetwork<NetworkSpec> networks_of(const Recipe& recipe);

/// In which order the micro-batches' gradients are added.
enum class SumOrder {
  kTree,  ///< the job's: the same bits on any layout
  kNccl,  ///< NCCL's own, declared inexact
};
/// Which kernels a GPU computes with.
enum class KernelChoice {
  kDeterministic,
  kFastest,  ///< declared inexact: a run is not even equal to itself
};

/// What LibTorch, oneDNN and MKL may use of an x86 processor: other kernels have other bits.
enum class InstructionSet { kNative, kSse4, kAvx2, kAvx512 };

struct NumericsSpec {
  int threads = 1;  ///< compute threads a worker: they change bits
  MemoryFormat memory_format = MemoryFormat::kChannelsLast;
  DeviceKind device = DeviceKind::kCpu;
  SumOrder order = SumOrder::kTree;
  KernelChoice kernels = KernelChoice::kDeterministic;
  InstructionSet processor = InstructionSet::kNative;
  bool operator==(const NumericsSpec&) const = default;
};

/// What is trained: all that can change a weight, and nothing else. Code that computes takes this
/// type, so that no layout can reach an example, a draw or a sum.
struct Job {
  ModelSpec model;
  DataSpec data;
  TrainingSpec training;
  PerNetwork<NetworkSpec> networks = networks_of(*default_recipe());  ///< the recipe's
  NumericsSpec numerics;

  /// @throws InvariantError for a name that no network of the recipe has
  [[nodiscard]] NetworkId id_of(std::string_view network) const;
  [[nodiscard]] NetworkSpec& network(std::string_view name) { return networks[id_of(name)]; }
  [[nodiscard]] const NetworkSpec& network(std::string_view name) const {
    return networks[id_of(name)];
  }
  /// The one called `name`, or whose results are shown if that is empty; what a user has asked for.
  /// @throws ConfigError for a name that there is not
  [[nodiscard]] NetworkId chosen(std::string_view name) const;
  [[nodiscard]] PerNetwork<std::string> network_names() const;
  /// The one whose results are shown.
  [[nodiscard]] NetworkId shown_network() const { return id_of(training.recipe->shown); }
  /// How many batches of real examples count as shown in a step: one for each update of the network
  /// that judges them.
  [[nodiscard]] int judged_batches_per_step() const {
    const std::string_view counts = training.recipe->counts;
    return counts.empty() ? 1 : network(counts).steps;
  }
  /// How many batches of new real examples a step reads.
  [[nodiscard]] int real_batches_per_step() const {
    return judged_batches_per_step() + (training.generator_reals == GeneratorReals::kNew ? 1 : 0);
  }
  /// Whether losses are multiplied so that gradients stay in fp16's range. Where one network
  /// computes in it those of others pass through it: then they are for all.
  [[nodiscard]] bool scales_losses() const;
  /// Whether networks or the step are the user's own Python (docs/python.md).
  [[nodiscard]] bool computes_in_python() const;
  /// The same, or the data (docs/python.md).
  [[nodiscard]] bool has_python() const { return computes_in_python() || data.module.is_python(); }
  /// Whether a network's updates wait for the norm of its gradient.
  [[nodiscard]] bool agrees_on_updates(NetworkId network) const {
    return skips_updates(network) || training.divergence.gradient_norm > 0.0;
  }
  /// Whether they are skipped where that is not finite.
  [[nodiscard]] bool skips_updates(NetworkId network) const {
    return networks[network].clip_norm > 0.0 || scales_losses();
  }
  /// Whether what travels between hosts is rounded.
  [[nodiscard]] bool rounds_wire() const;
  /// The model with Normalization::kAuto replaced by what it stands for in this job.
  [[nodiscard]] ModelSpec settled_model() const;
  /// Of its networks: the user's, and of the others those of settled_model().
  /// @throws InvariantError where neither the user nor the family has one
  [[nodiscard]] PerNetwork<Architecture> architectures() const;
  /// Images after which what goes to a final value has come there.
  [[nodiscard]] double burn_in_images() const {
    return 1000.0 * (training.burn_in_kimg > 0.0 ? training.burn_in_kimg : training.kimg);
  }
  /// How far the networks have grown when so many images were shown
  /// (job/blocks/progressive/growth.hpp).
  [[nodiscard]] double growth_level(std::int64_t images) const;
  /// Whether training.kimg decides about a weight: something comes to its final value there.
  [[nodiscard]] bool ends_burn_in() const;
  /// Images a micro-batch.
  [[nodiscard]] int images_per_microbatch() const { return training.batch / training.microbatches; }
  /// Real images that one step shows, as kimg counts them: those that the generator's phase reads
  /// for itself are not among them (R3GAN's code).
  [[nodiscard]] std::int64_t images_per_step() const {
    return static_cast<std::int64_t>(training.batch) * judged_batches_per_step();
  }
  /// Steps after which training.kimg is reached (rounded up).
  [[nodiscard]] std::int64_t total_steps() const;
  /// Steps between events that are given in kimg: at least 1; 0 stays 0.
  [[nodiscard]] std::int64_t steps_of_kimg(double kimg) const;
  bool operator==(const Job&) const = default;
};

/// A whole job file.
struct JobSpec : Job, RunOptions {
  LayoutChoice layout = LayoutChoice::of(*default_recipe());

  /// A job that says nothing but its recipe.
  [[nodiscard]] static JobSpec of(const Recipe& recipe);
  [[nodiscard]] NetworkPlacement& placement(std::string_view network) {
    return layout.networks[id_of(network)];
  }
  /// Whether its examples are compared with pictures, by `evaluation.metrics`: they are neither
  /// points nor made of pictures, and their modes are not counted.
  [[nodiscard]] bool compares_pictures() const;
  /// What they are scored by; the first one is the score. @pre compares_pictures()
  [[nodiscard]] std::vector<Metric> metrics() const;
  /// The steps, in intervals, at which the job itself asks for checkpoints; 0: never.
  [[nodiscard]] std::array<std::int64_t, 3> checkpoint_steps() const;
  bool operator==(const JobSpec&) const = default;
};

}  // namespace gangway
