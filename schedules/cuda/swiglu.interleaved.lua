-- SwiGLU of few rows with weights in interleaved blocks (halyard_interleave_blocks), without tensor cores: all that takes time is to read
-- the weights. A block of threads has the same panel of gate and of up, one after the other, each as gemm_q.interleaved.lua has it.

local gemm_q = require "lib.gpu_gemm_q"
local rows = require "lib.gpu_rows"

return schedule "swiglu" {
  target = "cuda",

  generator = {
    weights = "blocks",
    sums = "lanes",
    format = gemm_q.formats,
    interleaved = tune { 8, 16, 32, default = 16 },
    parts = tune { 4, 8, 16, 24, 32, default = 16 }, -- of the depth, by threads
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
    gemm_q.by_threads(rows.quantised_after(k), p, { gemm_q.product(k, "w_gate"), gemm_q.product(k, "w_up") })
  end,
}
