// SPDX-License-Identifier: MIT
// Short identities of a job, for comparison with a checkpoint before it is loaded. Pure.
#pragma once

#include <string>

#include "job/schema/key.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Returns whether the value of `key` affects a weight of this job: job_fingerprint() hashes it.
[[nodiscard]] bool decides_weights(const Key& key, const JobSpec& spec);

/// Hashes every key that can change a weight, to 32 hexadecimal digits (XXH3-128): all but layout,
/// checkpoint, output, data.prefetch and training.kimg. kimg counts if a cosine schedule ends at
/// it. Jobs with equal fingerprints train to the same bits at the same step, unless declared
/// inexact.
[[nodiscard]] std::string job_fingerprint(const JobSpec& spec);

/// Hashes the model section alone, to 32 hexadecimal digits: equal for the same tensor names and
/// shapes.
[[nodiscard]] std::string model_fingerprint(const JobSpec& spec);

/// Returns the numerics section in one line, `threads=1 memory_format=channels-last wire=fp32
/// device=cpu`, the digest's header. `precision=bf16` follows the wire unless it is fp32.
/// `inexact=wire` or `inexact=processors` is at the end if the layout can change bits.
[[nodiscard]] std::string numerics_text(const JobSpec& spec);

/// Returns a line with the key by which the job's bits depend on its layout; empty: an exact job.
[[nodiscard]] std::string declared_inexactness(const JobSpec& spec);

}  // namespace gangway
