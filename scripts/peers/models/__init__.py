"""Whole models, as `scripts/bench --models FOLDER` times them: what `halyard compile` makes of an ONNX file, beside onnxruntime, OpenVINO
and torch.compile, all interleaved in one process."""
