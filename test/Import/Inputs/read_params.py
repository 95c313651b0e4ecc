"""Reads each braid.param's bytes from the model file and compares them with what PyTorch loads.

python read_params.py MODEL.pt IR.mlir
"""

import re
import sys
import warnings

import numpy as np
import torch

warnings.simplefilter("ignore")
DTYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64}

model = torch.jit.load(sys.argv[1])
tensors = dict(model.named_parameters()) | dict(model.named_buffers())
data = open(sys.argv[1], "rb").read()
equal = 0
for name, type_, offset, attrs in re.findall(r'braid\.param @"?([^" ]+)"? : tensor<([^>]+)> at (\d+)(.*)', open(sys.argv[2]).read()):
    *shape, dtype = type_.split("x")
    shape = [int(size) for size in shape]
    strides = re.search(r"strides = array<i64: ([^>]+)>", attrs)
    item = np.dtype(DTYPES[dtype])
    if strides:
        strides = [int(stride) * item.itemsize for stride in strides[1].split(",")]
    array = np.ndarray(shape, item, data, int(offset), strides)
    assert np.array_equal(array, tensors[name].detach().numpy()), name
    equal += 1
print(equal, "tensors equal")
