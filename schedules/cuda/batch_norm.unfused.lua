-- BatchNorm without fusion: scales and shifts of the channels, x scaled and shifted, the activation and the result, each a
-- kernel of its own, as a chain of library calls would be.

local elementwise = require "lib.gpu_elementwise"

return schedule "batch_norm" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = function(k, p)
    local function pass(func)
      local o = { threads = p.threads, unroll = p.unroll }
      if k:has "y" then
        o.col, o.rows = "w", { "h", "c", "n" }
      else
        o.col, o.rows = "c", { "w", "h", "n" }
      end
      elementwise.vectors(func, o)
    end
    for _, of_channel in ipairs { k.channel_scale, k.channel_shift } do
      elementwise.elements(of_channel:compute_root(), { rows = { "c" }, threads = p.threads })
    end
    for _, step in ipairs { "normalised", "activated" } do
      if k:has(step) then pass(k[step]:compute_root()) end
    end
    pass(k:has "y" and k.y or k.y_nhwc)
  end,
}
