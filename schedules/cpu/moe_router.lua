-- The router for AVX2 and AVX-512, weights packed into panels. A task takes a tile of tokens: their logits for
-- all experts are made in registers and stay in L1 for the search and the softmax.

local gemm = require "lib.gemm"
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
  },

  apply = function(k, p, target)
    local tiles = gemm.packed(target, k.x, k.x_f, { panel = p.panel, rows = p.rows })
    local m = k.scores:dim(1):extent()

    local function tile(stage, rows)
      local strip = stage:split("row", rows, rows > 1 and "shift_inwards" or "auto", "strip", "token")
      strip:parallel()
    end
    k.chosen:compute_root()
    tile(k.chosen:specialize(m:at_least(tiles.rows)), tiles.rows)
    tile(k.chosen, 1)

    k.order:compute_at(k.chosen, "strip")
    local panel, column = k.order:split("e", p.panel, "round_up", "panel", "column")
    local part, col = k.order:split(column, tiles.columns, "guard", "part", "col")
    k.order:reorder(col, "row", part, panel):vectorize(col, tiles.lanes)
    gemm.in_registers(k.acc, k.order, "part", {
      columns = tiles.columns, lanes = tiles.lanes, col = "e", group = tiles.group, dot = tiles.dot,
    })
    if tiles.stage_a then
      k.x_f:compute_at(k.chosen, "strip"):vectorize("k", tiles.lanes, "guard")
    end
    router.choose(k, "token")
  end,
}
