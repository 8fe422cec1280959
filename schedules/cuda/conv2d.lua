-- Convolution on the tensor cores, weights as torch.nn.Conv2d stores them in channels_last: a block keeps the sums of a box of
-- pixels in registers. For each element of the kernel and 64 channels the box, moved by that element, is fetched like a
-- tile of a matrix, with zeros outside of the image; scale, bias, activation and residual are applied to the sums. A call takes the
-- box and the columns that are done first.

local conv = require "lib.gpu_conv"
local grid = require "lib.gpu_grid"

local params = {
  invariant = grid.invariant, -- an image's result is the same bits for any number of images
}
for name, choices in pairs(conv.window_params) do params[name] = choices end

return schedule "conv2d" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "ohwi",
    gather = "open",
  },

  params = params,

  where = conv.windows_fit,

  versions = function(k, p, target) return conv.window_versions(k, p, target, p.invariant) end,

  apply = function(k, p)
    if p.repack then conv.repack(k, "x_pad") end
    if p.gathered == 1 then conv.gather(k) end
    conv.tensor_windows(k.y, p.gathered == 1 and k.acc_gathered or k.acc, p)
  end,
}
