-- GEMM with its epilogue for AVX2 and AVX-512, weights as they are written: k x n, row-major.
-- Each task copies the panel of weights that it needs into L2, and then runs the register tiles of
-- gemm.lua on it: as f32, or as pairs of bf16 where the target multiplies those. Many rows pay for the
-- copy, a few do not, and those want packed weights or gemm.nk.lua.

local gemm = require "lib.gemm"

return schedule "gemm" {
  target = "cpu",

  generator = { weights = "kn" },

  params = {
    panel = tune { 32, 48, 64, default = 64 },
    rows  = tune { 0, 4, 6, 8, 12, default = 0 }, -- of the register tile, with 32 registers; 0: what suits the panel
    -- Register tiles a task, for each of which the panel is copied: 4096 cubed takes 1.56 s with 32, 1.30 with 128,
    -- 1.28 with 256 (Zen 4), as with packed weights. Fewer give more threads something to do.
    task  = tune { 32, 64, 128, 256, default = 256 },
  },

  where = gemm.tile_fits,

  apply = function(k, p, target)
    local type = k.a:type()
    local columns, rows = gemm.tile(target, p.panel, p.rows)
    local dot = gemm.has_dot(target, type, columns)
    k.y:dim(0):set_min(0)
    gemm.register_tiles(k.y, k.acc, {
      m = k.y:dim(1):extent(),
      lanes = target:lanes "f32",
      panel = p.panel,
      columns = columns,
      rows = rows,
      task = p.task,
      group = gemm.group(type),
      dot = dot,
    })

    -- A vector of columns at a time: only the last one sticks out of b. Down some rows each, as every row is a
    -- page of its own in a wide b.
    local panel = (dot and k.b_groups or k.b_f):compute_at(k.y, "job"):bound_extent("col", p.panel)
    local vector, lane = panel:split("col", target:lanes "f32", "round_up", "vector", "lane")
    local block, step = panel:split("k", 64, "guard", "block", "step")
    panel:reorder(lane, step, vector, block):vectorize(lane)
    if dot then panel:bound("member", 0, 2):reorder("member", lane, step):unroll "member" end
  end,
}
