// SPDX-License-Identifier: MIT
// The schema of the job file. To add a key: a field in Job, LayoutChoice or RunOptions; an entry
// here or in its section's part; a rule in job/rules/ if it depends on another key. Then run
// `gangway-job-reference --write docs/job-file.md`.
#include <utility>

#include <fmt/format.h>

#include "job/http_address.hpp"
#include "job/keys/key_uses.hpp"
#include "job/keys/model_keys.hpp"
#include "job/keys/network_keys.hpp"
#include "job/keys/per_recipe.hpp"
#include "job/keys/placement_keys.hpp"
#include "job/keys/run/evaluation_keys.hpp"
#include "job/keys/training_keys.hpp"
#include "job/schema/key_types.hpp"

namespace gangway {
namespace {

using Keys = std::vector<Key>;

void add_numerics(const Recipe& recipe, Keys& keys) {
  keys.push_back(whole_key({"numerics.threads", "threads",
                            "Compute threads of a worker; another number gives other bits"},
                           [](auto& job) -> auto& { return job.numerics.threads; }, {1, 1024}));
  keys.push_back(
      with_default(choice_key(
                       {"numerics.memory_format", "", "Order of image tensors in memory"},
                       [](auto& job) -> auto& { return job.numerics.memory_format; }),
                   "contiguous with cuda in fp32, else channels-last"));
  keys.push_back(wire_key(
      {"numerics.wire", "",
       "Number format of gradients and new weights between hosts; all but fp32 are inexact, as in "
       "{generator: bf16, discriminator: fp32}"},
      recipe));
  keys.push_back(later(precision_key(
      {"numerics.precision", "",
       "Numbers that networks compute in while they are trained; weights stay fp32; auto: bf16 "
       "where the machine multiplies it (docs/training.md)"},
      recipe)));
  keys.push_back(choice_key(
      {"numerics.device", "",
       "Kind of device that computes; auto: GPUs where there are some, else the CPU, settled when "
       "the run is begun"},
      [](auto& job) -> auto& { return job.numerics.device; }));
  keys.push_back(for_gpus(choice_key(
      {"numerics.order", "",
       "In which order micro-batches' gradients are added: as the job's tree has them, or as NCCL "
       "likes, which is inexact"},
      [](auto& job) -> auto& { return job.numerics.order; })));
  keys.push_back(for_gpus(choice_key(
      {"numerics.kernels", "",
       "What a GPU computes with: deterministic kernels, or the fastest, which is inexact"},
      [](auto& job) -> auto& { return job.numerics.kernels; })));
  keys.push_back(later(for_gpus(choice_key(
      {"numerics.cuda_graph", "",
       "Whether a GPU is given recorded steps where nothing speaks against it "
       "(docs/communication.md); on: "
       "say what does; overlap: that, and gradients leave while the rest of their step is "
       "computed; "
       "branches: that, and up to four micro-batches are computed at once"},
      &LayoutChoice::cuda_graph))));
  keys.push_back(later(choice_key(
      {"numerics.processor", "",
       "Instruction set of which LibTorch, oneDNN and MKL take their kernels on every worker, so "
       "that unlike processors compute alike; native: the best that each has"},
      [](auto& job) -> auto& { return job.numerics.processor; })));
  keys.push_back(later(choice_key(
      {"numerics.mixed_processors", "",
       "Workers that compute other bits than the others, by processor or library: refused before "
       "the first step, or allowed, which is inexact"},
      &LayoutChoice::mixed_processors)));
}

void add_layout(Keys& keys) {
  keys.push_back(file_or_none_key(
      {"layout.plan", "",
       "Profile by which `gangway run` chooses the layout for this machine; auto: the one beside "
       "the job file, if there is one that fits; `layout: auto` says that too (docs/planning.md)"},
      &LayoutChoice::plan, "none, auto or a file"));
  keys.push_back(auto_or_whole_key(
      {"layout.data", "workers", "Workers that share the micro-batches; auto: all started"},
      &LayoutChoice::data, {1, 65'536}));
  keys.push_back(later(choice_key(
      {"layout.balance", "",
       "Whether `gangway run` moves micro-batches from slow workers to fast ones, by what their "
       "steps take; off: they stay as layout.shares has them (docs/going-on.md)"},
      &LayoutChoice::balance)));
  keys.push_back(whole_key({"layout.stages", "chunks",
                            "Chunks that each network is cut into, on different workers "
                            "(docs/pipeline-stages.md)"},
                           &LayoutChoice::stages, {1, 65'536}));
  keys.push_back(later(choice_key(
      {"layout.recompute", "",
       "Whether a network's activations, or those of a chunk, are made again for backward instead "
       "of kept (docs/memory.md)"},
      &LayoutChoice::recompute)));
  keys.push_back(choice_key(
      {"layout.transport", "",
       "What carries data between workers: shared memory on one host, MPI, or both by hosts; "
       "between GPUs NCCL, by hosts (auto, hierarchical) or from each to each (nccl)"},
      &LayoutChoice::transport));
  keys.push_back(choice_key(
      {"layout.overlap", "",
       "What the exchange runs beside: nothing, the backward pass, or the other network's work "
       "too"},
      &LayoutChoice::overlap));
  keys.push_back(later(auto_or_whole_key(
      {"layout.buckets", "",
       "Into how many pieces each network's gradients are cut, of which each leaves when its last "
       "gradient is there: more leave sooner, fewer wait less often for the wire; auto: 8, on a "
       "GPU fewer of a small network"},
      &LayoutChoice::buckets, {1, 128})));
  keys.push_back(later(choice_key(
      {"layout.schedule", "",
       "Pipeline schedule of networks that are cut: fill (no flush between phases), gpipe (all "
       "forwards of a phase, then its backwards), 1f1b (fill, with as many micro-batches in flight "
       "as there are stages), zero-bubble (fill, with gradients of weights deferred) "
       "(docs/pipeline-stages.md)"},
      &LayoutChoice::schedule)));
  keys.push_back(later(whole_key(
      {"layout.in_flight", "micro-batches",
       "Of networks that are cut: of how many a worker keeps what backward needs, at most; fewer "
       "is less memory, and more waiting; 0: as many as the schedule does "
       "(docs/pipeline-stages.md)"},
      &LayoutChoice::in_flight, {0, 65'536})));
  keys.push_back(later(choice_key(
      {"layout.placement", "",
       "Of networks that are cut: the first workers have the first chunk of each, or of the first "
       "network alone and the last chunk of the others (docs/pipeline-stages.md)"},
      &LayoutChoice::placement)));
  Key python = later(file_or_none_key(
      {"layout.python", "",
       "Whose interpreter runs networks that are your Python: an environment's folder, or its "
       "bin/python; auto: $VIRTUAL_ENV, .venv beside the job file, or Gangway's own "
       "(docs/python.md)"},
      &LayoutChoice::python, "auto, or a folder"));
  python.set = [set_file = python.set](const YamlNode& node, JobSpec& job) -> std::string {
    YamlNode said = node;
    said.text = node.text == "auto" ? "none" : node.text;
    return set_file(said, job);
  };
  python.get = [get_file = python.get](const JobSpec& job) {
    return job.layout.python.empty() ? std::string("auto") : get_file(job);
  };
  python.why_refused = [](const JobSpec& job) -> std::string {
    return job.has_python() ? ""
                            : "has a meaning with networks of your own Python alone; leave it out";
  };
  keys.push_back(std::move(python));
  keys.push_back(
      real_key({"layout.timeout_seconds", "seconds", "Deadline of every wait on another worker"},
               &LayoutChoice::timeout_seconds, {.low = 0.1, .high = 86'400.0}));
  keys.push_back(auto_or_whole_key(
      {"layout.restarts", "",
       "Losses of a worker, a host, the coordinator or mpirun after which `gangway run` starts the "
       "job again; auto: as long as it gets on, three times where it does not (docs/going-on.md)"},
      &LayoutChoice::restarts, {0, 1'000'000}, LayoutChoice::kAutoRestarts));
  keys.push_back(whole_key({"layout.min_workers", "workers",
                            "Least with which the job goes on when hosts are lost and no spare "
                            "slots take their place"},
                           &LayoutChoice::min_workers, {1, 65'536}));
  keys.push_back(
      whole_key({"layout.check_steps", "steps",
                 "From one comparison of the hosts' weights, by hashes, to the next; 0: never"},
                &LayoutChoice::check_steps, {0, 1'000'000'000}));
  keys.push_back(choice_key(
      {"layout.audit", "",
       "Whether, every check_steps, other workers recompute a random slice of each update"},
      &LayoutChoice::audit));
}

void add_checkpoint(Keys& keys) {
  keys.push_back(real_key(
      {"checkpoint.every_kimg", kKimg, "From one checkpoint to the next; 0: not by images"},
      &CheckpointSpec::every_kimg, kZeroOrMore));
  keys.push_back(real_key(
      {"checkpoint.every_seconds", "seconds", "From one checkpoint to the next; 0: not by time"},
      &CheckpointSpec::every_seconds, kZeroOrMore));
  keys.push_back(whole_key(
      {"checkpoint.every_steps", "steps", "From one checkpoint to the next; 0: not by steps"},
      &CheckpointSpec::every_steps, {0, 1'000'000'000}));
  keys.push_back(auto_or_whole_key(
      {"checkpoint.snapshot_steps", "steps",
       "From one snapshot in memory to the next; auto: under 0.5 % of the time, and as often as "
       "losses make it worth while (docs/snapshots.md); 0: none"},
      &CheckpointSpec::snapshot_steps, {0, 1'000'000'000}, CheckpointSpec::kAutoSnapshots));
  keys.push_back(
      real_key({"checkpoint.snapshot_cost", "",
                "Share of the time that snapshots may take once the run has lost processes"},
               &CheckpointSpec::snapshot_cost, {.low = 0.0001, .high = 1.0}));
  keys.push_back(whole_key({"checkpoint.keep", "", "Newest checkpoints that are kept"},
                           &CheckpointSpec::keep, {1, 1'000'000}));
  keys.push_back(
      real_key({"checkpoint.keep_every", kKimg,
                "The first checkpoint of each stretch so long is kept for good; 0: none is"},
               &CheckpointSpec::keep_every, kZeroOrMore));
  keys.push_back(
      whole_key({"checkpoint.keep_best", "",
                 "Checkpoints with the best scores that are kept as well (docs/evaluation.md); 0: "
                 "none is"},
                &CheckpointSpec::keep_best, {0, 1'000'000}));
  keys.push_back(
      whole_key({"checkpoint.early_stop.patience", "scores",
                 "In a row without a better one, after which the run ends, with exit code 0; 0: it "
                 "goes on"},
                &CheckpointSpec::early_stop, {0, 1'000'000}));
}

Key http_key(KeyText text, std::string OutputSpec::*field) {
  const std::string allowed = "auto, off, or an address: 8080, 10.0.0.7, 10.0.0.7:8080, [::]:8080";
  Key key = text_key(std::move(text), field, allowed);
  key.set = [field, allowed, set_text = key.set](const YamlNode& node, JobSpec& job) {
    std::string complaint = set_text(node, job);
    const std::string& given = job.output.*field;
    const bool is_word = given == "auto" || given == "off";
    return !complaint.empty() || is_word || parse_http_address(given)
               ? complaint
               : fmt::format("expected {}, not '{}'", allowed, given);
  };
  return key;
}

void add_output(Keys& keys) {
  keys.push_back(real_key({"output.tick_kimg", kKimg, "From one line of progress to the next"},
                          &OutputSpec::tick_kimg, kAboveZero));
  keys.push_back(real_key(
      {"output.pictures_kimg", kKimg, "From one picture of fakes to the next; 0: only at the end"},
      &OutputSpec::pictures_kimg, kZeroOrMore));
  keys.push_back(whole_key({"output.grid", "pictures", "Side of a picture's grid"},
                           &OutputSpec::grid, {1, 64}));
  keys.push_back(later(real_key(
      {"output.histograms_kimg", kKimg,
       "From one set of TensorBoard's histograms (weights, gradients, logits) to the next; 0: "
       "none"},
      &OutputSpec::histograms_kimg, kZeroOrMore)));
  keys.push_back(later(http_key(
      {"output.http", "",
       "Where the run's live page and metrics are served; auto: to this user on the coordinator's "
       "host, at any free port (docs/metrics.md)"},
      &OutputSpec::http)));
  keys.push_back(later(choice_key(
      {"output.http_plain", "",
       "Whether the page goes to other hosts, and its token comes from them, without TLS: where "
       "something in between encrypts"},
      &OutputSpec::http_plain)));
  keys.push_back(later(text_key(
      {"output.control", "",
       "Where the running job is watched and steered: auto: a socket of this user's alone; off; or "
       "an address and port (docs/control.md)"},
      &OutputSpec::control, "auto, off or ADDRESS:PORT")));
  keys.push_back(file_or_none_key(
      {"output.control_certificate", "",
       "For TLS: PEM; output.control uses it where there is one, output.http where other hosts can "
       "reach it"},
      &OutputSpec::control_certificate, "a file, or none"));
  keys.push_back(file_or_none_key({"output.control_key", "", "Of output.control_certificate: PEM"},
                                  &OutputSpec::control_key, "a file, or none"));
}

Keys make_table(const Recipe& recipe) {
  Keys keys;
  add_model_keys(recipe, keys);
  add_data_keys(keys);
  add_training_keys(keys);
  add_network_keys(recipe, keys);
  add_numerics(recipe, keys);
  add_layout(keys);
  add_placement_keys(recipe, keys);
  add_checkpoint(keys);
  add_evaluation_keys(keys);
  add_output(keys);
  return keys;
}

}  // namespace

const std::vector<Key>& key_table(const Recipe& recipe) {
  static PerRecipe<Keys> tables(make_table);
  return tables.of(recipe);
}

}  // namespace gangway
