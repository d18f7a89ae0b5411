// SPDX-License-Identifier: MIT
#include "launch/model/compute/operator_watch.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include <c10/util/ThreadLocalDebugInfo.h>

namespace gangway::launch {
namespace {

using Clock = std::chrono::steady_clock;
using Arguments = c10::ArrayRef<const c10::IValue>;

/// The slot of the watch in the thread's debug information; nothing else in this process uses it.
c10::DebugInfoKind slot() { return c10::DebugInfoKind::TEST_INFO; }

/// Operations of one map, or of one of its gradients.
double convolution_operations(const at::Tensor& small, const at::Tensor& weight) {
  const std::int64_t places = small.numel() / std::max<std::int64_t>(1, small.size(1));
  return 2.0 * static_cast<double>(places) * static_cast<double>(weight.numel());
}

double matrix_operations(const at::Tensor& left, const at::Tensor& right) {
  return 2.0 * static_cast<double>(left.numel()) * static_cast<double>(right.size(-1));
}

std::vector<at::Tensor> tensors_of(const c10::IValue& value) {
  if (value.isTensor() && value.toTensor().defined()) {
    return {value.toTensor()};
  }
  return value.isTensorList() ? value.toTensorVector() : std::vector<at::Tensor>{};
}

double bytes_of(Arguments values) {
  double bytes = 0.0;
  for (const c10::IValue& value : values) {
    for (const at::Tensor& tensor : tensors_of(value)) {
      if (tensor.defined() && tensor.layout() == at::kStrided) {
        bytes += static_cast<double>(tensor.nbytes());
      }
    }
  }
  return bytes;
}

/// The memory of the first tensor, or null.
const void* first_memory(Arguments values) {
  const std::vector<at::Tensor> tensors =
      values.empty() ? std::vector<at::Tensor>{} : tensors_of(values.front());
  return tensors.empty() || !tensors.front().has_storage()
             ? nullptr
             : tensors.front().storage().unsafeGetStorageImpl();
}

struct Call final : at::ObserverContext {
  Clock::time_point begin;
  double operations = 0.0;
  double bytes = 0.0;          ///< of the inputs, which are gone when the operator ends
  const void* from = nullptr;  ///< memory of its first input
};

/// Returns whether the operator moves nothing: it allocates, or it returns a view.
bool is_idle(std::string_view name, const Call& call, Arguments outputs) {
  const void* const to = first_memory(outputs);
  return name.find("empty") != std::string_view::npos ||
         (!name.ends_with('_') && to != nullptr && to == call.from);
}

OperatorWatch::State* state() {
  return static_cast<OperatorWatch::State*>(c10::ThreadLocalDebugInfo::get(slot()));
}

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& called) {
  OperatorWatch::State* const sums = state();
  const bool is_engine = std::string_view(called.name()).starts_with("autograd::");
  if (sums == nullptr || is_engine) {  // autograd's engine is around each operator of a backward
    return nullptr;
  }
  auto call = std::make_unique<Call>();
  ++sums->depth;
  const double operations = product_operations(called.name(), called.inputs());
  if (operations > 0.0 && sums->product_depth++ == 0) {
    sums->sums.operations += operations;
  }
  call->operations = operations;
  call->bytes = bytes_of(called.inputs());
  call->from = first_memory(called.inputs());
  call->begin = Clock::now();
  return call;
}

void on_end(const at::RecordFunction& called, at::ObserverContext* context) {
  const auto* const call = static_cast<Call*>(context);
  OperatorWatch::State* const sums = state();
  if (call == nullptr || sums == nullptr) {
    return;
  }
  const std::chrono::duration<double> taken = Clock::now() - call->begin;
  if (call->operations > 0.0 && --sums->product_depth == 0) {
    sums->sums.product_seconds += taken.count();
  }
  const Arguments outputs(called.outputs().data(), called.outputs().size());
  if (--sums->depth == 0 && !is_idle(called.name(), *call, outputs)) {
    sums->sums.bytes += call->bytes + bytes_of(outputs);
  }
}

}  // namespace

double product_operations(std::string_view name, Arguments inputs) {
  const auto tensor = [&](std::size_t index) { return inputs[index].toTensor(); };
  if (name == "aten::mm" || name == "aten::bmm" || name == "aten::mv") {
    return tensor(1).dim() == 1 ? 2.0 * static_cast<double>(tensor(0).numel())
                                : matrix_operations(tensor(0), tensor(1));
  }
  if (name == "aten::addmm" || name == "aten::addmm_" || name == "aten::baddbmm") {
    return matrix_operations(tensor(1), tensor(2));
  }
  if (name == "aten::convolution") {
    const bool is_transposed = inputs[6].toBool();
    if (is_transposed) {
      return convolution_operations(tensor(0), tensor(1));
    }
    // Each output place reads a whole kernel.
    double places = static_cast<double>(tensor(0).size(0));
    for (std::int64_t dim = 2; dim < tensor(0).dim(); ++dim) {
      const auto of_dim = [&](std::size_t argument) {  // one number may hold for all dimensions
        const std::vector<std::int64_t> numbers = inputs[argument].toIntVector();
        return numbers[std::min(static_cast<std::size_t>(dim) - 2, numbers.size() - 1)];
      };
      const std::int64_t reach = of_dim(5) * (tensor(1).size(dim) - 1) + 1;
      places *= static_cast<double>((tensor(0).size(dim) + 2 * of_dim(4) - reach) / of_dim(3) + 1);
    }
    return 2.0 * places * static_cast<double>(tensor(1).numel());
  }
  if (name == "aten::convolution_backward") {
    const auto wanted = inputs[10].toBoolList();
    const at::Tensor small = inputs[7].toBool() ? tensor(1) : tensor(0);
    return (static_cast<double>(wanted[0]) + static_cast<double>(wanted[1])) *
           convolution_operations(small, tensor(2));
  }
  return name == "gangway::map" || name == "gangway::weight_gradient"
             ? convolution_operations(tensor(0), tensor(1))
             : 0.0;
}

OperatorWatch::OperatorWatch()
    : state_(std::make_shared<State>()),
      guard_(slot(), state_),
      callback_(at::addThreadLocalCallback(at::RecordFunctionCallback(on_begin, on_end)
                                               .needsInputs(true)
                                               .needsOutputs(true)
                                               .scopes({at::RecordScope::FUNCTION}))) {}

OperatorWatch::~OperatorWatch() { at::removeCallback(callback_); }

}  // namespace gangway::launch
