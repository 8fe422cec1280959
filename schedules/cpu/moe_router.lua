-- The router for AVX2 and AVX-512, weights packed into panels. A task takes a tile of tokens: their logits for
-- all experts are made in registers, or by tile instructions where there is AMX, and stay in L1 for the search and the softmax.

local gemm = require "lib.gemm"
local mma = require "lib.mma"
local router = require "lib.router"

return schedule "moe_router" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 16, 32, 48, default = 32 },
    top_k = tune { 1, 2, 4, 6, 8, default = 2 }, -- what is wanted
  },

  params = {
    rows = tune { 4, 6, 8, default = 8 },  -- tokens of a register tile, with 32 registers
    -- always: also where the processor has no tiles, which are then plain loops. To try the route out.
    tiles = tune { "amx", "always", default = "amx" },
  },

  apply = function(k, p, target)
    local tiles = gemm.packed(target, k.x, k.x_f, { panel = p.panel, rows = p.rows, tiles = p.tiles })
    local m, amx = k.scores:dim(1):extent(), tiles.amx
    local columns = amx and p.panel or tiles.columns

    local function tile(stage, rows, tail)
      local strip = stage:split("row", rows, tail, "strip", "token")
      strip:parallel()
    end
    k.chosen:compute_root()
    if amx then
      tile(k.chosen, amx.rows, "guard")
    else
      tile(k.chosen:specialize(m:at_least(tiles.rows)), tiles.rows, "shift_inwards")
      tile(k.chosen, 1, "auto")
    end

    k.order:compute_at(k.chosen, "strip")
    local panel, column = k.order:split("e", p.panel, "round_up", "panel", "column")
    local part, col = k.order:split(column, columns, "guard", "part", "col")
    k.order:reorder(col, "row", part, panel):vectorize(col, tiles.lanes)
    if amx then
      -- There is one block. A loop over panels alone tells Halide that there are experts, so that it clamps the expert for its panel
      -- (generators/math/weights.h), and columns would be no neighbours.
      local block, row = k.order:split("row", amx.rows, "guard", "block", "row_in_block")
      k.order:reorder(col, row, part, panel, block):fuse(panel, block, "job")
      mma.in_tiles(k.acc, k.order, "job", {
        columns = p.panel, rows = amx.rows, lanes = tiles.lanes, group = tiles.group, col = "e",
      })
    else
      gemm.in_registers(k.acc, k.order, "part", {
        columns = columns, lanes = tiles.lanes, col = "e", group = tiles.group, dot = tiles.dot,
      })
      if tiles.stage_a then
        k.x_f:compute_at(k.chosen, "strip"):vectorize("k", tiles.lanes, "guard")
      end
    end
    router.choose(k, "token", target:lanes "f32")
  end,
}
