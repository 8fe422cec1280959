-- What the CUDA schedules of grouped_gemm share.

local tiles = require "lib.gpu_tiles"
local elementwise = require "lib.gpu_elementwise"

local experts = {}

-- What each slot is, which rows of x it has, and of which expert a row is: kernels of a few threads before the products.
function experts.slots(k)
  local function searched(func, search, loop)
    elementwise.elements(func:compute_root(), { rows = { loop }, threads = 64 })
    search:compute_at(func, "thread"):store_in "register"
  end
  searched(k.slot, k.slot_expert, "t")
  elementwise.elements(k.source:compute_root(), { rows = { "i", "t" }, threads = 128 })
  searched(k.place_of_row, k.row_expert, "row")
end

-- Has threads store the rows of y from the products of slots: each its own, or the sum of those of a token.
function experts.rows(k, o)
  elementwise.vectors(k.y, { rows = { "row" }, threads = o.threads, unroll = 1, vector = 4 })
  if k:has "sum" then
    k.sum:compute_at(k.y, "thread"):store_in "register":bound_extent("col", 4):bound_extent("row", 1):vectorize "col"
    k.sum:update(0):reorder("col", "s"):vectorize "col"
  end
end

-- The products of slots in tiles of registers, as tiles.product() has them, a tile of each slot and its columns.
function experts.tiles(k, p)
  local z = k.z:compute_root()
  local o = { row = "i", rows = p.tile, columns = p.columns, depth = p.depth, blocks = { "t" }, others = { "t" } }
  local block = tiles.blocks(z, o)
  local products = k:has "gate" and { { k.gate, k.w_gate_f }, { k.up, k.w_up_f } } or { { k.acc, k.w_f } }
  for _, product in ipairs(products) do
    local acc, w = table.unpack(product)
    o.a = { func = products[2] and k.x_f:in_(acc) or k.x_f, loop = "i", k = "k", together = "k", others = { "t" } }
    o.b = { func = w, loop = "col", k = "k", together = "k", others = { "t" } }
    tiles.sums(acc, { z, block }, o)
  end
end

return experts
