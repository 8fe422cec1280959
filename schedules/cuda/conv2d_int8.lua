-- Convolution in 8 bits on the tensor cores, weights as torch.nn.Conv2d stores them in channels_last: the boxes of conv2d.lua,
-- of 128 channels a step, with sums of 32 bits. Zeros lie outside of the image; what a zero point makes of them is a small
-- image of its own, which is added to the sums with scales, bias, activation and residual.

local conv = require "lib.gpu_conv"
local elementwise = require "lib.gpu_elementwise"

return schedule "conv2d_int8" {
  target = "cuda",

  generator = { weights = "ohwi", gather = "open" },

  params = conv.window_params,

  where = conv.windows_fit,

  versions = conv.window_versions,

  apply = function(k, p)
    if k:has "zero_sum_at" then
      local zero = k.zero_sum_at:in_():compute_root()
      elementwise.elements(zero, { rows = { "o" }, blocks = { "g", "w", "h" }, threads = 64 })
      k.zero_sum_at:compute_at(zero, "thread"):store_in "register"
      for _, dim in ipairs { "o", "g", "w", "h" } do k.zero_sum_at:bound_extent(dim, 1) end
    end
    if p.repack then conv.repack(k, "x_u") end
    if p.gathered == 1 then conv.gather(k) end
    conv.tensor_windows(k.y, p.gathered == 1 and k.acc_gathered or k.acc, p)
  end,
}
