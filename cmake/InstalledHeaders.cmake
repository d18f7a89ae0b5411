# SPDX-License-Identifier: MIT
# Headers that a library of the user's may include (docs/bring-your-own.md). Their hash is the interface: a library that was
# built against others is refused (cmake/WriteInterface.cmake, job/library/shared_library.hpp). What they include is here too.
set(GANGWAY_INSTALLED_HEADERS
  base/errors.hpp
  gan/block.hpp
  gan/blocks/label_blocks.hpp
  gan/blocks/layer_block.hpp
  gan/blocks/residual_blocks.hpp
  gan/blocks/transformer_blocks.hpp
  gan/library.hpp
  gan/named_tensors.hpp
  gan/random.hpp
  gan/random_tensors.hpp
  gan/torch.hpp
  job/blocks/block_tensors.hpp
  job/blocks/initial_deviation.hpp
  job/blocks/label_specs.hpp
  job/blocks/layer_spec.hpp
  job/blocks/library_spec.hpp
  job/blocks/residual_specs.hpp
  job/blocks/script_spec.hpp
  job/blocks/transformer_specs.hpp
  job/families/families.hpp
  job/families/label_input.hpp
  job/library/library_rows.hpp
  job/models/architecture.hpp
  job/models/model_spec.hpp
  job/models/network_id.hpp
  job/models/recipes.hpp)
