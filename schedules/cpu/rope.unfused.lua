-- RoPE without fusion, as a chain of library calls has it: the cosines and sines of all tokens go to memory, then x with its halves
-- swapped, then the result.

local rope = require "lib.rope"
local rows = require "lib.rows"

return schedule "rope" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    rows.materialise({ k.angle_turn }, { row = "token", inner = "member", lanes = lanes, task = 4 })
    local swapped = k:has "swapped" and k.swapped or k.swapped_neighbours
    rope.tokens(k, swapped:compute_root(), { task = 4, lanes = lanes })
    rope.tokens(k, k.y, { task = 4, lanes = lanes })
  end,
}
