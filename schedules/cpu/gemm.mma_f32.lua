-- GEMM of f32 by AMX, weights packed into panels: numbers are taken apart into three of bf16, of whose nine products six are
-- summed, more exactly than by a chain of f32 (runtime/mma_f32.h); where there is no AMX, by vectors as in gemm.lua, so that
-- one library serves both. Results that are infinite, or no numbers, cost a product in plain loops, of 32 rows by a panel.
-- A task makes the parts of its rows once, 6 bytes x k x 32 x task, which should fit L2, and those of a panel beside the products,
-- for each 32 rows again. Eight rows and fewer are multiplied by vectors.
-- gemm.lua takes tiles too where there are any; here their tasks can be tuned.

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
    local cut = k:has "a_tf32" -- numbers of fewer digits are what vectors multiply
    if not cut and (mma.has_tiles(target) or p.tiles == "always") then
      mma.blocks(k.y, k.acc, {
        lanes = target:lanes "f32",
        panel = p.panel,
        rows = 32,
        task = p.task,
        panels = p.panels,
        group = 1,
      })
    else
      gemm.register_tiles(k.y, k.acc, gemm.packed(target, k.a, k.a_f, {
        m = k.y:dim(1):extent(),
        panel = p.panel,
        tiles = cut and "never" or nil,
      }))
    end
  end,
}
