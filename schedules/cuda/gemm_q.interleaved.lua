-- Products of few rows with weights in interleaved blocks (halyard_interleave_blocks), without tensor cores: all that takes time is to read
-- the weights. A block has a panel of columns, whose threads share the depth; a word of weights becomes f32 in registers.

local gemm_q = require "lib.gpu_gemm_q"

return schedule "gemm_q" {
  target = "cuda",

  generator = {
    sums = "lanes",
    format = gemm_q.formats,
    interleaved = tune { 8, 16, 32, default = 16 },
    parts = tune { 4, 8, 16, 24, 32, default = 16 }, -- of the depth, by threads
  },

  params = gemm_q.params_of_few(),

  where = gemm_q.few_fit,

  versions = gemm_q.versions_of_few,

  apply = function(k, p)
    if p.rounds == 1 then k["b_" .. p.format .. "_interleaved"]:prefetch_at_launch(p.turns) end
    gemm_q.by_threads(k.y, p, { gemm_q.product(k, "w") })
  end,
}
