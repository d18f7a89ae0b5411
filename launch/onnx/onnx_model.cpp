// SPDX-License-Identifier: MIT
#include "launch/onnx/onnx_model.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include "base/errors.hpp"
#include "job/primitives/primitives.hpp"

namespace gangway::launch {
namespace {

using Names = std::vector<std::string>;

constexpr std::int64_t kIrVersion = 8;
constexpr std::int64_t kOperatorSet = 17;

void set(onnx::NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void set(onnx::NodeProto& node, const char* name, const Shape& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  attribute.mutable_ints()->Add(values.begin(), values.end());
}

void set(onnx::NodeProto& node, const char* name, double value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(static_cast<float>(value));
}

void set(onnx::NodeProto& node, const char* name, const char* text) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(text);
}

/// Returns the name of an operator that takes the primitive's inputs and no attributes, or null.
const char* plain_operator(Operation operation) {
  switch (operation) {
    case Operation::kAdd:
      return "Add";
    case Operation::kSubtract:
      return "Sub";
    case Operation::kMultiply:
      return "Mul";
    case Operation::kDivide:
      return "Div";
    case Operation::kMatrixProduct:
      return "MatMul";
    case Operation::kRelu:
      return "Relu";
    case Operation::kSigmoid:
      return "Sigmoid";
    case Operation::kSoftplus:
      return "Softplus";
    case Operation::kTanh:
      return "Tanh";
    case Operation::kLookup:
      return "Gather";
    default:
      return nullptr;
  }
}

class OnnxWriter {
 public:
  OnnxWriter(const PrimitiveGraph& graph, onnx::GraphProto& proto) : graph_(graph), proto_(proto) {}

  void write() {
    name_tensors();
    for (const Primitive& primitive : graph_.primitives) {
      for (const std::size_t input : primitive.inputs) {
        add_constant(input);
      }
      write(primitive);
    }
    for (const std::size_t input : graph_.inputs) {
      describe(*proto_.add_input(), input);
    }
    for (const std::size_t output : graph_.outputs) {
      describe(*proto_.add_output(), output);
    }
  }

 private:
  void name_tensors() {
    std::set<std::string> taken;
    for (std::size_t index = 0; index < graph_.tensors.size(); ++index) {
      std::string name = graph_.tensors[index].name;
      if (name.empty() || !taken.insert(name).second) {
        name = fmt::format("{}{}{}", name, name.empty() ? "tensor" : "/", index);
      }
      names_.push_back(std::move(name));
    }
    for (std::size_t number = 0; number < graph_.outputs.size(); ++number) {
      names_[graph_.outputs[number]] =
          graph_.outputs.size() == 1 ? "output" : fmt::format("level{}", number);
    }
  }

  /// Adds a constant once.
  void add_constant(std::size_t index) {
    const GraphTensor& tensor = graph_.tensors[index];
    if (!tensor.is_constant || !constants_.insert(names_[index]).second) {
      return;
    }
    static_assert(std::endian::native == std::endian::little);
    onnx::TensorProto& proto = *proto_.add_initializer();
    proto.set_name(names_[index]);
    proto.set_data_type(onnx::TensorProto::FLOAT);
    proto.mutable_dims()->Add(tensor.shape.begin(), tensor.shape.end());
    proto.set_raw_data(tensor.values.data(), tensor.values.size() * sizeof(float));
  }

  /// Returns the name of a constant int64 [values].
  std::string integers(const Shape& values) {
    std::string name = fmt::format("integers_{}", fmt::join(values, "_"));
    if (constants_.insert(name).second) {
      onnx::TensorProto& proto = *proto_.add_initializer();
      proto.set_name(name);
      proto.set_data_type(onnx::TensorProto::INT64);
      proto.add_dims(static_cast<std::int64_t>(values.size()));
      proto.mutable_int64_data()->Add(values.begin(), values.end());
    }
    return name;
  }

  /// Returns the name of a constant float32 [values].
  std::string numbers(const std::vector<double>& values) {
    std::string name = fmt::format("numbers_{}", fmt::join(values, "_"));
    if (constants_.insert(name).second) {
      onnx::TensorProto& proto = *proto_.add_initializer();
      proto.set_name(name);
      proto.set_data_type(onnx::TensorProto::FLOAT);
      proto.add_dims(static_cast<std::int64_t>(values.size()));
      proto.mutable_float_data()->Add(values.begin(), values.end());
    }
    return name;
  }

  onnx::NodeProto& node(const char* operation, const Names& inputs, const std::string& output) {
    onnx::NodeProto& proto = *proto_.add_node();
    proto.set_op_type(operation);
    proto.set_name(fmt::format("{}_{}", operation, proto_.node_size() - 1));
    for (const std::string& input : inputs) {
      proto.add_input(input);
    }
    proto.add_output(output);
    return proto;
  }

  /// Adds a node with a new output. @return the output's name
  std::string step(const char* operation, const Names& inputs) {
    std::string output = fmt::format("step{}", proto_.node_size());
    (void)node(operation, inputs, output);
    return output;
  }
  std::string mean(const std::string& x, const Shape& axes) {
    std::string output = step("ReduceMean", {x});
    set(*proto_.mutable_node(proto_.node_size() - 1), "axes", axes);
    return output;
  }

  void describe(onnx::ValueInfoProto& info, std::size_t index) {
    info.set_name(names_[index]);
    const GraphTensor& tensor = graph_.tensors[index];
    onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(tensor.name == "labels" ? onnx::TensorProto::INT64
                                               : onnx::TensorProto::FLOAT);
    const bool is_any_size = takes_any_size(graph_);
    const Shape& of_input = graph_.tensors[graph_.inputs.front()].shape;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      onnx::TensorShapeProto::Dimension& dimension = *type.mutable_shape()->add_dim();
      const bool is_as_input = axis < of_input.size() && tensor.shape[axis] == of_input[axis];
      if (axis == 0) {
        dimension.set_dim_param("batch");
      } else if (axis > 1 && is_any_size) {
        dimension.set_dim_param(fmt::format("{}{}", axis == 2 ? "height" : "width",
                                            is_as_input ? "" : fmt::format("_{}", names_[index])));
      } else {
        dimension.set_dim_value(tensor.shape[axis]);
      }
    }
  }

  void write(const Primitive& primitive) {
    Names inputs;
    for (const std::size_t input : primitive.inputs) {
      inputs.push_back(names_[input]);
    }
    const std::string& output = names_[primitive.output];
    if (const char* operation = plain_operator(primitive.operation)) {
      (void)node(operation, inputs, output);
      return;
    }
    switch (primitive.operation) {
      case Operation::kLeakyRelu:
        set(node("LeakyRelu", inputs, output), "alpha", primitive.number);
        break;
      case Operation::kRoot:
        (void)node("Sqrt", {step("Add", {inputs[0], numbers({primitive.number})})}, output);
        break;
      case Operation::kInstanceNorm:
        set(node("InstanceNormalization", inputs, output), "epsilon", primitive.number);
        break;
      default:
        write_along(primitive, inputs, output);
        break;
    }
  }

  void write_along(const Primitive& primitive, const Names& inputs, const std::string& output) {
    const Shape& axes = primitive.axes;
    switch (primitive.operation) {
      case Operation::kMean:
        set(node("ReduceMean", inputs, output), "axes", axes);
        break;
      case Operation::kSum:
        (void)node("ReduceSum", {inputs[0], integers(axes)}, output);
        break;
      case Operation::kSoftmax:
        set(node("Softmax", inputs, output), "axis", axes.front());
        break;
      case Operation::kConcatenation:
        set(node("Concat", inputs, output), "axis", axes.front());
        break;
      case Operation::kSlice:
        (void)node(
            "Slice",
            {inputs[0], integers({primitive.begin}), integers({primitive.end}), integers(axes)},
            output);
        break;
      case Operation::kTransposition:
        set(node("Transpose", inputs, output), "perm", axes);
        break;
      case Operation::kReshape: {
        Shape shape = axes;
        shape.insert(shape.begin(), 0);  // the batch, as it is
        (void)node("Reshape", {inputs[0], integers(shape)}, output);
        break;
      }
      case Operation::kZerosInFront: {
        Shape pads(2 * graph_.tensors[primitive.output].shape.size(), 0);
        pads[static_cast<std::size_t>(axes.front())] = primitive.begin;
        (void)node("Pad", {inputs[0], integers(pads)}, output);
        break;
      }
      default:
        write_on_maps(primitive, inputs, output);
        break;
    }
  }

  void write_on_maps(const Primitive& primitive, const Names& inputs, const std::string& output) {
    const Window& window = primitive.window;
    const auto with_window = [&](const char* operation) -> onnx::NodeProto& {
      onnx::NodeProto& made = node(operation, inputs, output);
      set(made, "kernel_shape", Shape(2, window.kernel));
      set(made, "strides", Shape(2, window.stride));
      set(made, "pads", Shape(4, window.padding));
      return made;
    };
    switch (primitive.operation) {
      case Operation::kConvolution:
        set(with_window("Conv"), "group", window.groups);
        break;
      case Operation::kTransposedConvolution: {
        onnx::NodeProto& made = with_window("ConvTranspose");
        set(made, "group", window.groups);
        set(made, "output_padding", Shape(2, window.output_padding));
        break;
      }
      case Operation::kAveragePooling:
        (void)with_window("AveragePool");
        break;
      case Operation::kMaximumPooling:
        (void)with_window("MaxPool");
        break;
      case Operation::kRepetition: {
        const auto factor = static_cast<double>(window.stride);
        onnx::NodeProto& made =
            node("Resize", {inputs[0], "", numbers({1.0, 1.0, factor, factor})}, output);
        set(made, "mode", "nearest");
        set(made, "coordinate_transformation_mode", "asymmetric");
        set(made, "nearest_mode", "floor");
        break;
      }
      case Operation::kReflection: {
        const std::int64_t pixels = window.padding;
        const std::string pads = integers({0, 0, pixels, pixels, 0, 0, pixels, pixels});
        set(node("Pad", {inputs[0], pads}, output), "mode", "reflect");
        break;
      }
      case Operation::kGroupDeviation:
        write_deviation(primitive, inputs[0], output);
        break;
      default:
        throw InvariantError("a primitive has no ONNX");
    }
  }

  /// The batch's size is known only when the model runs, and so is the group.
  void write_deviation(const Primitive& primitive, const std::string& x,
                       const std::string& output) {
    const Shape& shape = graph_.tensors[primitive.inputs.front()].shape;
    std::string group = step("Shape", {x});
    set(*proto_.mutable_node(proto_.node_size() - 1), "end", std::int64_t{1});
    if (primitive.window.groups > 0) {
      Shape sizes;
      for (std::int64_t size = 1; size <= primitive.window.groups; ++size) {
        sizes.push_back(size);
      }
      const std::string rest = step("Mod", {group, integers(sizes)});
      const std::string divides = step("Equal", {rest, integers({0})});
      const std::string divisors = step("Where", {divides, integers(sizes), integers({1})});
      group = step("ReduceMax", {divisors});
    }
    const auto with_group = [&](const Shape& behind) {
      std::string all = step("Concat", {group, integers(behind)});
      set(*proto_.mutable_node(proto_.node_size() - 1), "axis", std::int64_t{0});
      return all;
    };
    const std::string groups = step("Reshape", {x, with_group({-1, shape[1], shape[2], shape[3]})});
    const std::string apart = step("Sub", {groups, mean(groups, {0})});
    const std::string variance = mean(step("Mul", {apart, apart}), {0});
    const std::string deviation =
        step("Sqrt", {step("Add", {variance, numbers({primitive.number})})});
    const std::string one_each =
        step("Reshape", {mean(deviation, {2, 3, 4}), integers({-1, 1, 1, 1})});
    (void)node("Tile", {one_each, with_group({1, shape[2], shape[3]})}, output);
  }

  const PrimitiveGraph& graph_;
  onnx::GraphProto& proto_;
  Names names_;                      // of the graph's tensors
  std::set<std::string> constants_;  // written
};

}  // namespace

std::string onnx_model(const PrimitiveGraph& graph, const std::string& name,
                       const std::map<std::string, std::string>& notes) {
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.add_opset_import()->set_version(kOperatorSet);
  model.set_producer_name("gangway");
  for (const auto& [key, value] : notes) {
    onnx::StringStringEntryProto& note = *model.add_metadata_props();
    note.set_key(key);
    note.set_value(value);
  }
  model.mutable_graph()->set_name(name);
  OnnxWriter(graph, *model.mutable_graph()).write();
  if (model.ByteSizeLong() > std::numeric_limits<std::int32_t>::max()) {
    throw ConfigError("the network is larger than an ONNX file of one part may be (2 GiB)");
  }
  return model.SerializeAsString();
}

}  // namespace gangway::launch
