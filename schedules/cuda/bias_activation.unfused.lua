-- A chain of elementwise steps without fusion: scale, bias, activation, logarithm and the result go through memory
-- one after the other, each by a kernel of its own, as in a chain of library calls.

local elementwise = require "lib.gpu_elementwise"

return schedule "bias_activation" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = function(k, p)
    local o = { rows = { "row" }, threads = p.threads, unroll = p.unroll }
    for _, step in ipairs { "scaled", "biased", "activated", "logarithm" } do
      if k:has(step) then elementwise.vectors(k[step]:compute_root(), o) end
    end
    elementwise.vectors(k.y, o)
  end,
}
