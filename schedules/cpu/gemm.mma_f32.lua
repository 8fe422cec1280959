-- GEMM of f32 by AMX, weights packed into panels: numbers are taken apart into three of bf16, of whose nine products six are
-- summed, more exactly than by a chain of f32 (runtime/mma_f32.h); where there is no AMX, by vectors as in gemm.lua, so that
-- one library serves both. Results that are infinite, or no numbers, cost a product in plain loops, of 32 rows by a panel.
-- A task makes the parts of its rows once, and those of a panel for all of its rows, each panel's while the one before is
-- multiplied: they should fit L2, 6 bytes x k x (32 x task + 2 x panel). For less than 57 rows vectors are quicker.
-- GFLOP/s of one thread and of two on an Emerald Rapids, beside vectors (panels of 48):
--   256 x 1536 x 384    8 blocks, 32 panels 285 and 405; 4, 32 241 and 483; 8, 8 246 and 480; panels of 48 237, of 64 267; vectors 171, 330
--   256 x 384 x 1536    8, 32 158 and 161; 4, 32 211 and 436; vectors 171, 341
--   1024 cubed          8, 32 223 and 458; 4, 32 258 and 516; vectors 164, 327
--   64 x 1536 x 384     4, 32 191; vectors 168            32 x 1536 x 384    131; vectors 163

local gemm = require "lib.gemm"
local mma = require "lib.mma"

return schedule "gemm" {
  target = "cpu",

  generator = {
    type = "float32",
    weights = "packed",
    panel = tune { 32, 48, 64, default = 32 },
  },

  params = {
    task   = tune { 2, 4, 8, 16, default = 4 }, -- blocks of 32 rows a task
    panels = tune { 1, 2, 4, 6, 8, 9, 12, 16, 32, default = 16 }, -- a task
    -- always: also where the processor has no tiles, which are then plain loops. To try the route out.
    tiles = tune { "amx", "always", default = "amx" },
  },

  apply = function(k, p, target)
    k.y:dim(0):set_min(0)
    if mma.has_tiles(target) or p.tiles == "always" then
      mma.blocks(k.y, k.acc, {
        lanes = target:lanes "f32",
        panel = p.panel,
        rows = 32,
        task = p.task,
        panels = p.panels,
        group = 1,
      })
    else
      gemm.register_tiles(k.y, k.acc, gemm.packed(target, k.a, k.a_f, { m = k.y:dim(1):extent(), panel = p.panel }))
    end
  end,
}
