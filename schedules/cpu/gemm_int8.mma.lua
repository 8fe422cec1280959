-- GEMM of 8-bit integers by AMX, weights packed into panels; where there is none, by vectors as in
-- gemm_int8.lua: see gemm.mma. Rows of a block of signed numbers are copied, as unsigned ones.

local gemm = require "lib.gemm"
local mma = require "lib.mma"

return schedule "gemm_int8" {
  target = "cpu",

  generator = { weights = "packed", panel = tune { 32, 48, 64, default = 32 } },

  params = {
    task   = tune { 4, 8, 16, 32, default = 4 }, -- blocks of 32 rows a task
    panels = tune { 1, 2, 4, 8, default = 4 },    -- a task
    inner  = tune { "rows", "panels", default = "panels" },  -- of a task go by first
    -- always: also where the processor has no tiles, which are then plain loops. To try the route out.
    tiles = tune { "amx", "always", default = "amx" },
  },

  apply = function(k, p, target)
    k.y:dim(0):set_min(0)
    local stage_a = k.a:type() == "i8" and k.a_u
    if mma.has_tiles(target) or p.tiles == "always" then
      mma.blocks(k.y, k.acc, {
        lanes = target:lanes "f32",
        panel = p.panel,
        rows = 32,
        task = p.task,
        panels = p.panels,
        inner = p.inner,
        group = 4,
        stage_a = stage_a,
      })
    else
      local tile = mma.vectors(target, p.panel)
      gemm.register_tiles(k.y, k.acc, {
        m = k.y:dim(1):extent(),
        lanes = target:lanes "i32",
        panel = p.panel,
        columns = tile.columns,
        rows = tile.rows,
        task = 4 * p.task,
        group = 4,
        dot = gemm.has_dot(target, "u8", tile.columns),
        stage_a = stage_a,
      })
    end
  end,
}
