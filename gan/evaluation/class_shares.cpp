// SPDX-License-Identifier: MIT
#include "gan/evaluation/class_shares.hpp"

namespace gangway::gan {

ClassShares class_shares(LeNet& lenet, const at::Tensor& features) {
  const at::NoGradGuard no_grad;
  const at::Tensor counts =
      at::bincount(lenet.logits(features).argmax(1), /*weights=*/{}, LeNet::kClasses);
  ClassShares shares{};
  for (std::size_t i = 0; i < shares.size(); ++i) {
    shares[i] = static_cast<double>(counts.const_data_ptr<std::int64_t>()[i]) /
                static_cast<double>(features.size(0));
  }
  return shares;
}

double right_class_share(LeNet& lenet, const at::Tensor& features, const at::Tensor& labels) {
  const at::NoGradGuard no_grad;
  return lenet.logits(features).argmax(1).eq(labels).to(at::kDouble).mean().item<double>();
}

}  // namespace gangway::gan
