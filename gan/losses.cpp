// SPDX-License-Identifier: MIT
#include "gan/losses.hpp"

#include "base/errors.hpp"

namespace gangway::gan {

at::Tensor discriminator_real_loss(LossKind loss, const at::Tensor& real_logits) {
  switch (loss) {
    case LossKind::kNonsaturating:  // Goodfellow et al., 2014, eq. 1, on logits
      return at::softplus(-real_logits).mean();
    case LossKind::kLeastSquares:  // Mao et al., 2017, eq. 2 with a = 0, b = c = 1, without its
                                   // factor of one half
      return (real_logits - 1.0).square().mean();
    case LossKind::kHinge:  // Lim and Ye, 2017; Miyato et al., 2018, eq. 16
      return at::relu(1.0 - real_logits).mean();
    case LossKind::kWasserstein:  // Arjovsky et al., 2017, eq. 3
      return -real_logits.mean();
    case LossKind::kRelativistic:
      break;
  }
  throw InvariantError("this loss has no pass over real images alone");
}

at::Tensor discriminator_fake_loss(LossKind loss, const at::Tensor& fake_logits) {
  switch (loss) {
    case LossKind::kNonsaturating:
      return at::softplus(fake_logits).mean();
    case LossKind::kLeastSquares:
      return fake_logits.square().mean();
    case LossKind::kHinge:
      return at::relu(1.0 + fake_logits).mean();
    case LossKind::kWasserstein:
      return fake_logits.mean();
    case LossKind::kRelativistic:
      break;
  }
  throw InvariantError("this loss has no pass over generated images alone");
}

at::Tensor generator_loss(LossKind loss, const at::Tensor& fake_logits) {
  switch (loss) {
    case LossKind::kNonsaturating:  // Goodfellow et al., 2014, section 3: maximise log D(G(z))
      return at::softplus(-fake_logits).mean();
    case LossKind::kLeastSquares:
      return (fake_logits - 1.0).square().mean();
    case LossKind::kHinge:
    case LossKind::kWasserstein:
      return -fake_logits.mean();
    case LossKind::kRelativistic:
      break;
  }
  throw InvariantError("this loss needs real images in the generator's phase too");
}

at::Tensor relativistic_loss(const at::Tensor& preferred_logits, const at::Tensor& other_logits) {
  return at::softplus(other_logits - preferred_logits).mean();
}

}  // namespace gangway::gan
