"""Writes double.onnx: y = 2 relu(x) over rows of 3."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

nodes = [helper.make_node("Relu", ["x"], ["positive"]), helper.make_node("Mul", ["positive", "two"], ["y"])]
graph = helper.make_graph(nodes, "double", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 3])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 3])],
                          [numpy_helper.from_array(np.array(2, np.float32), "two")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "double.onnx")
