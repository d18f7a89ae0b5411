// SPDX-License-Identifier: MIT
// Short identities of a job: what a checkpoint is compared with before it is loaded. Pure.
#pragma once

#include <string>

#include "job/schema/key.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Whether the value of `key` decides about a weight of this job: of job_fingerprint()'s keys.
[[nodiscard]] bool decides_weights(const Key& key, const JobSpec& spec);

/// 32 hexadecimal digits (XXH3-128) of every key that can change a weight: all but layout,
/// checkpoint, output, data.prefetch and training.kimg; the last counts where a cosine schedule
/// ends at it. Two jobs with one fingerprint train to the same bits at the same step,
/// unless they are declared inexact.
[[nodiscard]] std::string job_fingerprint(const JobSpec& spec);

/// 32 hexadecimal digits of the model section alone: equal where the tensors have the same names
/// and shapes.
[[nodiscard]] std::string model_fingerprint(const JobSpec& spec);

/// The numerics section in one line, `threads=1 memory_format=channels-last wire=fp32 device=cpu`:
/// the digest's header; with `precision=bf16` behind the wire where that is not fp32. It ends in
/// `inexact=wire` or `inexact=processors` where the layout can change bits.
[[nodiscard]] std::string numerics_text(const JobSpec& spec);

/// One line that says by which key the job's bits depend on its layout; empty for an exact job.
[[nodiscard]] std::string declared_inexactness(const JobSpec& spec);

}  // namespace gangway
