-- Products of a few rows with interleaved blocks, as gemm_q.interleaved.lua has them; of gate and up a block has the same columns of both.

local gemm_q = require "lib.gpu_gemm_q"

return schedule "product" {
  target = "cuda",

  generator = {
    format = gemm_q.formats,
    interleaved = tune { 8, 16, 32, default = 16 },
    parts = tune { 4, 8, 16, 24, 32, default = 8 }, -- of the depth, by threads
  },

  params = {
    rows  = tune { 0, 1, 2, 4, 8, default = 0 }, -- that a thread has; 0: by the rows of a call, up to 4
    near  = tune { 1, 2, 4, default = 4 },       -- columns of a thread
    turns = tune { 1, 2, 3, 4, 6, 8, default = 1 }, -- blocks of a part that are loaded together, where a thread has one row
    once  = tune { 0, 1, 2, default = 2 },          -- so many or fewer may be all of them, which are unpacked before anything else
    rounds = tune { 0, 1, default = 0, search = false }, -- 1: a version for that
  },

  where = function(p) return p.interleaved // p.near * 4 * p.parts <= 1024 end,

  versions = gemm_q.versions_of_few,

  apply = function(k, p)
    local weights = { gemm_q.weights(k, "w") }
    if k:has "w_up_bytes" then table.insert(weights, gemm_q.weights(k, "w_up")) end
    local factors = k:has "norm_f" and k.norm_f
    gemm_q.by_threads(k.y, p, { { partial = k.partial, gathered = k.gathered, weights = weights, row = k.x_f, factors = factors } })
  end,
}
