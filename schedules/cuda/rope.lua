-- RoPE in one pass: a thread turns vectors of up to 16 bytes of several heads of a token, for all of which it has the cosines and
-- sines in registers. Neighbours in a head are read as one vector, halves as two.

local grid = require "lib.gpu_grid"
local rope = require "lib.gpu_rope"

return schedule "rope" {
  target = "cuda",

  generator = { granule = -1 },

  params = {
    threads = tune { 64, 128, 256, 512, default = 128 },
    lanes   = tune { 8, 16, 32, 64, default = 16 }, -- threads side by side in a head
    unroll  = tune { 1, 2, 4, 8, default = 4 },     -- heads that a thread has in flight
    vector  = tune { 0, 1, 2, 4, 8, default = 0 },  -- elements that it has at once; 0: by the pairs, and the distance of the heads
  },

  where = function(p) return p.lanes <= p.threads end,

  versions = function(k, p)
    if p.vector > 0 then return { {} } end
    return rope.versions(k)
  end,

  apply = function(k, p)
    local neighbours = k:has "swapped_neighbours"
    rope.vectors(k, k.y, p)
    local pairs = neighbours and math.max(p.vector // 2, 1) or p.vector
    local of_thread = k.element_turn:bound_extent("member", pairs):bound_extent("block", 1):bound_extent("token", 1)
    grid.each_thread(of_thread, { at = { k.y, "thread" } })
    of_thread:vectorize "member"
    k.y:stream()
  end,
}
