// SPDX-License-Identifier: MIT
// A user's network in Python, made: its tensors by name, and its forward, which computes the same
// on each worker. Compute thread only; takes the interpreter's lock where it needs it, and never
// while it waits.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "gan/block.hpp"
#include "job/blocks/python_spec.hpp"
#include "python/support.hpp"

namespace gangway::python {

class PythonModule {
 public:
  /// A tensor of the module, and the dictionaries of its submodules that have it. Others of its
  /// name may be tied to it: they have the same tensor.
  struct Held {
    std::string name;  ///< "main.0.weight"
    at::Tensor value;
    std::vector<std::pair<Kept, Kept>> slots;  ///< dictionary and name
  };
  /// What a call has made, and what it has left in moving(), in that order.
  struct Called {
    std::vector<at::Tensor> made;
    std::vector<at::Tensor> moved;
  };

  /// Imports the file, makes the network under the spec's seed, and calls it once, for parts that
  /// take their shapes from what they are given; its buffers are afterwards what they were.
  /// @throws ConfigError of one line that begins with the key: what the file raises, with file and
  /// line; no network, or one that begins with other numbers when it is made again; files that
  /// others can write to
  explicit PythonModule(PythonSpec spec);
  PythonModule(const PythonModule&) = delete;
  PythonModule& operator=(const PythonModule&) = delete;
  ~PythonModule() = default;

  /// Trained: float32, requires grad, in the module's order. The module computes with these
  /// tensors.
  [[nodiscard]] const std::vector<Held>& parameters() const { return parameters_; }
  /// What forward writes to in training, such as BatchNorm's running mean. Until keep_moving all
  /// that is not trained.
  [[nodiscard]] const std::vector<Held>& moving() const { return moving_; }
  /// What does not move is a constant from now on. @param moves  by place in moving()
  void keep_moving(const std::vector<bool>& moves);

  /// @param inputs  as the spec has them, on one device
  /// @param moving  what moving() is to be meanwhile; the module may write to it
  /// @param seed    of all that it draws: LibTorch's generator, random and numpy.random
  /// @throws ConfigError where it raises, makes something else than the spec says, or changes a
  /// constant
  [[nodiscard]] Called call(gan::Mode mode, const std::vector<at::Tensor>& inputs,
                            const std::vector<at::Tensor>& moving, std::uint64_t seed);

  /// Prepares a call that the user's step makes: the module is in `mode`, on `device`, and has
  /// `moving`. The caller holds the interpreter's lock.
  void be_ready(gan::Mode mode, at::Device device, const std::vector<at::Tensor>& moving);
  /// What such a call has left in moving(). @throws ConfigError where it has changed a constant
  [[nodiscard]] std::vector<at::Tensor> moved() const;
  [[nodiscard]] const Kept& module() const { return module_; }

  /// Remembers what it keeps beside tensors.
  void note_kept();
  /// The first name of what differs from then; empty: nothing does.
  [[nodiscard]] std::string first_changed() const;
  /// The first parameter or buffer that the module has replaced, made or taken away; empty: none.
  [[nodiscard]] std::string first_replaced() const;

  [[nodiscard]] const PythonSpec& spec() const { return spec_; }
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  [[nodiscard]] Kept construct() const;
  void find_tensors();
  void add(const std::string& name, const at::Tensor& value, std::pair<Kept, Kept> slot);
  void require_repeated() const;
  void call_first(const Kept& network) const;
  void bring_constants(at::Device device);
  void require_still() const;

  PythonSpec spec_;
  Kept place_;  ///< place_of(spec_): its files are read once
  Kept module_;
  Kept noted_;
  std::vector<Held> parameters_;
  std::vector<Held> moving_;
  std::vector<Held> still_;             ///< all else: constants
  std::vector<std::int64_t> versions_;  ///< of the values of still_
  bool is_training_ = true;
};

}  // namespace gangway::python
