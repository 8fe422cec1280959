-- A chain of elementwise steps in one pass: everything between reading x and writing y stays in registers. A thread
-- has vectors of up to 16 bytes of several rows in flight, and reads the bias once for them. Rows of up to 64 columns take 8
-- threads.

local elementwise = require "lib.gpu_elementwise"

return schedule "bias_activation" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    lanes   = tune { 16, 32, 64, 128, default = 32 }, -- threads side by side in a row
    unroll  = tune { 1, 2, 4, 8, default = 4 },       -- of which so many are in flight
    vector  = tune { 0, 1, 2, 4, 8, default = 0 },    -- columns that a thread has at once; 0: by the distance of the rows
  },

  versions = function(k, p, target)
    if p.vector > 0 then return { {} } end
    return elementwise.vector_versions({ k.x, k.y, k:has "residual" and k.residual or nil }, 2, p, target)
  end,

  apply = function(k, p)
    elementwise.vectors(k.y, { rows = { "row" }, threads = p.threads, lanes = p.lanes, narrow = 8, unroll = p.unroll, vector = p.vector })
    k.y:stream()
  end,
}
