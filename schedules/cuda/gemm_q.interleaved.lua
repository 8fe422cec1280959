-- Products of few rows with weights in interleaved blocks (halyard_interleave_blocks), without tensor cores: all that takes time is to read
-- the weights. A block has a panel of columns, whose threads share the depth; a word of weights becomes f32 in registers.

local gemm_q = require "lib.gpu_gemm_q"

return schedule "gemm_q" {
  target = "cuda",

  generator = {
    sums = "lanes",
    format = tune { "q4_0", "q4_1", "q8_0", default = "q4_0" },
    interleaved = tune { 8, 16, 32, default = 16 },
  },

  params = {
    rows  = tune { 0, 1, 2, 4, 8, default = 0 }, -- that a thread has; 0: as many as the call has, up to 8
    parts = tune { 2, 4, 8, 16, default = 4 },   -- of the depth, by threads
  },

  where = function(p, target) return p.interleaved * 4 * p.parts <= 1024 end,

  versions = function(k, p)
    if p.rows > 0 then return { {} } end
    local m, versions = k.y:dim(1):extent(), {}
    for _, rows in ipairs { 1, 2, 4 } do table.insert(versions, { when = m:at_most(rows), rows = rows }) end
    table.insert(versions, { rows = 8 })
    return versions
  end,

  apply = gemm_q.by_threads,
}
