-- RoPE in one pass: a vector of a head and its partners are loaded, turned and stored. Both halves of a pair read the two, the second
-- time from L1. Computed angles are made once a token, for all of its heads.

local rope = require "lib.rope"

return schedule "rope" {
  target = "cpu",

  params = {
    task = tune { 1, 4, 16, default = 4 }, -- tokens a task
  },

  apply = function(k, p, target)
    rope.tokens(k, k.y, { task = p.task, lanes = target:lanes "f32", angles = k:has "frequencies" and k.angle_turn })
    k.y:stream()
  end,
}
