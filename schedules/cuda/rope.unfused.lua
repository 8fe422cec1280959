-- RoPE without fusion, as a chain of library calls has it: the cosines and sines of all tokens, x with its halves swapped, and the
-- result, each by a kernel of its own.

local elementwise = require "lib.gpu_elementwise"
local rope = require "lib.gpu_rope"

return schedule "rope" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = function(k, p)
    local o = { threads = p.threads, lanes = 16, unroll = p.unroll, vector = 1 }
    elementwise.vectors(k.angle_turn:compute_root(), {
      col = "member", rows = { "block", "token" }, threads = p.threads, unroll = p.unroll, vector = 1,
    })
    rope.vectors(k, (k:has "swapped" and k.swapped or k.swapped_neighbours):compute_root(), o)
    rope.vectors(k, k.y, o)
  end,
}
