// SPDX-License-Identifier: MIT
#include "job/file/reference_page.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "job/keys/family_texts.hpp"
#include "job/rules/rules.hpp"
#include "job/schema/key.hpp"
#include "job/schema/yaml_tree.hpp"

namespace gangway {
namespace {

constexpr const char* kIntroduction = R"(# The job file

<!-- Made by `gangway-job-reference --write docs/job-file.md` from job/keys/key_table.cpp and job/rules/rules.cpp: edit those. -->

A job file says what to train. It is YAML; every key has a default, so a file holds only what differs:

```yaml
model:      {family: dcgan, resolution: 32, width: 64, latent: 100}
data:       {source: fashion-mnist}
training:   {kimg: 40, batch: 64, microbatches: 2, seed: 0, loss: nonsaturating}
generator:     {optimizer: {adam: {lr: 2e-4, betas: [0.5, 0.999]}}, ema_kimg: 10}
discriminator: {optimizer: {adam: {lr: 2e-4, betas: [0.5, 0.999]}}, steps: 1}
checkpoint: {every_kimg: 10, keep: 3}
```
)";

constexpr const char* kReading = R"(
## How a job is read

**Precedence.** Defaults < file < environment < command line. A key on the command line is `training.kimg=80`, in the
environment `GANGWAY_TRAINING_KIMG=80`: capitals, and `_` for the dot. Values are read as YAML, so
`'generator.optimizer.adam.betas=[0, 0.9]'` works. Choosing another optimiser replaces the whole map below it.
`training.kimg=null`, or `~training.kimg`, resets a key or a section to its default, wherever it was set before.

**Choices are replaced whole.** The command line (or the environment) may choose another policy, optimiser, recipe or
family, or switch something off. Then keys that the file set for the earlier choice, and that no longer apply, are left
out: `training.augment.policy=none` removes the file's `training.augment.target` too. The run's first lines, and
`--dry-run`, name such keys. The keys of one place must fit together: `training.augment.target` without its policy in
the file is an error, and so is `training.augment.target` beside policy none on the command line.

**What changes the numbers.** Keys marked * never change a weight: two jobs that differ only in those train to the
same bits. All other keys belong to the job's fingerprint, which a checkpoint carries. `training.kimg` is marked too, but
belongs to the fingerprint if a schedule ends at it (docs/training.md).

**What is checked.** Everything is checked before anything starts; all problems are listed at once with line and column.
A file has at most {} KiB, {} levels and {} words, is UTF-8 without NUL bytes and one document, and has no
anchors, aliases, tags or keys given twice.
)";

/// The keys that most jobs set, for the page's first table.
constexpr std::string_view kUsualKeys =
    " model.family model.resolution model.width model.latent model.channels model.classes "
    "model.generator model.discriminator data.source data.mirror data.threads data.cache "
    "training.recipe training.step training.kimg training.batch training.microbatches "
    "training.seed training.loss training.gradient_penalty training.r1.gamma training.r1.interval "
    "training.augment.policy generator.optimizer.adam.lr generator.optimizer.adam.betas "
    "generator.schedule.decay generator.ema_kimg discriminator.optimizer.adam.lr "
    "discriminator.optimizer.adam.betas discriminator.steps numerics.device numerics.precision "
    "layout.data layout.stages checkpoint.every_kimg checkpoint.keep checkpoint.keep_best "
    "evaluation.metrics output.tick_kimg output.pictures_kimg ";

std::string table_row(const Key& key) {
  const std::string mark = key.changes_weights ? "" : " *";
  const std::string unit = key.unit.empty() ? "" : ", " + key.unit;
  const std::string initial = key.is_variant ? "" : default_of(key) + " ";
  return fmt::format("| `{}`{} | {}{} | {}| {} | {} |\n", key.path, mark, key.type, unit, initial,
                     key.allowed, key.description);
}

}  // namespace

std::string reference_page() {
  std::string usual =
      "\n## The keys that most jobs set\n\n| key | what it is | default |\n|---|---|---|\n";
  std::string all =
      fmt::format(kReading, kYamlLimitBytes / 1024, kYamlLimitDepth, kYamlLimitValues);
  std::string section;
  for (const Key& key : key_table()) {
    const std::string own = key.path.substr(0, key.path.find('.'));
    if (own != section) {
      section = own;
      all += fmt::format(
          "\n## {}\n\n| key | type | default | allowed | what it is |\n|---|---|---|---|---|\n",
          section);
    }
    all += table_row(key);
    if (kUsualKeys.find(' ' + key.path + ' ') != std::string_view::npos) {
      const std::size_t end = key.description.find_first_of(":;");
      usual += fmt::format("| [`{}`](#{}) | {} | {} |\n", key.path, own,
                           key.description.substr(0, end), default_of(key));
    }
  }
  std::string page = kIntroduction + usual + all + "\n## Families\n\n" + family_docs() +
                     "\n## Recipes\n\n" + recipe_docs() + "\n## Rules between keys\n\n";
  for (const Rule& rule : job_rules()) {
    page += fmt::format("- {}\n", rule.statement);
  }
  page += "- Keys that have no meaning for the chosen family or optimiser are refused.\n";
  return page;
}

}  // namespace gangway
