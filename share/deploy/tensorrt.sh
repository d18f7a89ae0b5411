#!/usr/bin/env bash
# This project has never run this script: it has had no TensorRT. docs/deploying.md has what others report.
#
#   tensorrt.sh g.onnx fp16|int8 [BATCHES]    writes g.fp16.engine or g.int8.engine for batches of, by default, 1,8,32
#
# For int8, g.onnx is the file of `gangway quantize`: TensorRT takes scales from its QuantizeLinear nodes.
# Needs trtexec of TensorRT 10 on PATH, an NVIDIA GPU, and python3 with the package onnx, which reads the inputs.
set -euo pipefail
echo "tensorrt.sh: Gangway has never run this script; compare the engine's pictures with ONNX Runtime's before use"

[ $# -ge 2 ] && [[ $2 == fp16 || $2 == int8 ]] || { sed -n '4,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
model=$1 precision=$2 batches=${3:-1,8,32}
[ -f "$model" ] || { echo "tensorrt.sh: $model: no such file; gangway checkpoints export makes it" >&2; exit 2; }
command -v trtexec >/dev/null || { echo "tensorrt.sh: trtexec is not on PATH; install TensorRT" >&2; exit 6; }

# shapes BATCH: the inputs' shapes for --minShapes and the like, as noise:8x100; pictures get 256 x 256 where any size will do.
shapes() {
  python3 - "$model" "$1" <<'PYTHON'
import sys
import onnx
def shape(value):
    first, *rest = value.type.tensor_type.shape.dim
    return "x".join([sys.argv[2], *(str(one.dim_value or 256) for one in rest)])
print(",".join(f"{value.name}:{shape(value)}" for value in onnx.load(sys.argv[1]).graph.input))
PYTHON
}

IFS=, read -ra sizes <<<"$batches"
precisions=(--fp16)
[ "$precision" = fp16 ] || precisions+=(--int8)
# One profile: kernels are chosen for the middle batch, and serve all from the first to the last.
trtexec --onnx="$model" --saveEngine="${model%.onnx}.$precision.engine" "${precisions[@]}" \
  --minShapes="$(shapes "${sizes[0]}")" --optShapes="$(shapes "${sizes[$((${#sizes[@]} / 2))]}")" \
  --maxShapes="$(shapes "${sizes[-1]}")"
for size in "${sizes[@]}"; do
  trtexec --loadEngine="${model%.onnx}.$precision.engine" --shapes="$(shapes "$size")" --warmUp=200 --duration=3
done
