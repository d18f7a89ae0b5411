// SPDX-License-Identifier: MIT
#include "worker/pass/pass_work.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "pipeline/schedule.hpp"

namespace gangway::worker {

bool PassWork::has(const std::string& name) const {
  return std::ranges::find(values, name, &Value::name) != values.end();
}

at::Tensor& PassWork::value(const std::string& name) {
  const auto found = std::ranges::find(values, name, &Value::name);
  if (found == values.end()) {
    throw InvariantError("pass " + pass->name + " takes " + name + " before it is made");
  }
  return found->tensor;
}

std::vector<at::Tensor> PassWork::values_of(const std::vector<std::string>& names) {
  std::vector<at::Tensor> tensors;
  for (const std::string& name : names) {
    tensors.push_back(value(name));
  }
  return tensors;
}

gan::NamedTensors PassWork::taken(const std::vector<pipeline::Input>& inputs) {
  gan::NamedTensors tensors;
  for (const pipeline::Input& input : inputs) {
    if (const at::Tensor& tensor = value(input.tensor); tensor.defined()) {
      tensors = tensors.with(input.name, tensor);
    }
  }
  return tensors;
}

void PassWork::add_gradient(const std::string& name, const at::Tensor& gradient) {
  if (!gradient.defined()) {
    return;
  }
  const at::NoGradGuard no_grad;
  at::Tensor& sum = value(name).mutable_grad();
  if (sum.defined()) {
    sum.add_(gradient);
  } else {
    sum = gradient;
  }
}

PassWorks::Key PassWorks::key_of(const pipeline::Instruction& at) {
  return {at.repeat, at.phase, at.microbatch, at.pass};
}

PassWork& PassWorks::enter(const pipeline::Instruction& at) {
  const bool goes_back = at.goes_back() || at.operation == pipeline::Operation::kRecompute;
  if (const auto found = works_.find(key_of(at)); found != works_.end()) {
    PassWork& work = found->second;
    if (goes_back || work.share != nullptr || !work.has_turned) {
      return work;
    }
  }
  if (shares_ == nullptr) {
    std::erase_if(works_, [&](const auto& one) {
      return !keeps_microbatches_ || one.second.at.microbatch == at.microbatch;
    });
  }
  PassWork& work = works_[key_of(at)];
  work.at = at;
  work.pass =
      &phases_[static_cast<std::size_t>(at.phase)].passes[static_cast<std::size_t>(at.pass)];
  work.made.resize(work.pass->nodes.size());
  work.num_kept = pipeline::nodes_to_keep(phases_, at);
  if (shares_ != nullptr) {
    work.share = &shares_->of(at.phase, at.pass, at.microbatch);
    work.remaining = work.share->num_instructions(*work.pass);
  }
  return work;
}

void PassWorks::leave(const PassWork& work) {
  if (work.share == nullptr) {
    return;
  }
  const auto found = works_.find(key_of(work.at));
  if (--found->second.remaining == 0 && found->second.seen.empty()) {
    works_.erase(found);
  }
}

void PassWorks::give_seen(const pipeline::Instruction& at, gan::StatisticSink& sink) {
  for (auto& [place, work] : works_) {
    const bool is_of_leaf = work.at.phase == at.phase && work.at.repeat == at.repeat &&
                            work.at.microbatch == at.microbatch;
    std::erase_if(work.seen, [&](const auto& one) {
      const bool is_meant = is_of_leaf && one.first == at.network;
      if (is_meant) {
        one.second.give_to(sink);
      }
      return is_meant;
    });
  }
  std::erase_if(works_, [](const auto& one) {
    const PassWork& work = one.second;
    return work.share != nullptr && work.remaining == 0 && work.seen.empty();
  });
}

}  // namespace gangway::worker
