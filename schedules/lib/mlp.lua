-- What the schedules of swiglu_mlp share: the product back, of an h that may be two parts of bf16.

local gemm = require "lib.gemm"

local mlp = {}

-- Computes h: make(func) schedules what goes to memory, over "col" and "row".
--
-- row      the loop over its rows that is innermost        lanes    SIMD lanes
function mlp.hidden(k, make, o)
  if not k:has "h_parts" then return make(k.h) end
  -- A row of a tile at a time, from which both parts are taken.
  k.h_parts:bound("half", 0, 2):unroll("half"):reorder_storage("col", "half", "row")
  make(k.h_parts)
  k.h:compute_at(k.h_parts, o.row):store_in "stack":vectorize("col", o.lanes, "guard")
end

-- The same options for tiles as gemm.packed() gives them.
function mlp.row_of(tiles)
  return { row = tiles.amx and "row_in_block" or "row_in_tile", lanes = tiles.lanes }
end

-- The tiles of the product back; o as gemm.packed() takes it.
function mlp.down(k, target, o)
  if not k:has "h_parts" then
    local tiles = gemm.packed(target, k.x, k.h_f, o)
    if k.h:type() == "f32" then tiles.dot, tiles.stage_a = false, nil end -- weights alone may be of bf16
    return tiles
  end
  -- Both parts meet a panel of weights in turn.
  local loops = { k = "k_x", around = { "k_y" }, rest = "k_rest_x", rest_around = { "k_rest_y" } }
  local tiles = gemm.packed(target, k.x, false, o)
  for name, value in pairs(loops) do
    tiles[name] = value
    if tiles.amx then tiles.amx[name] = value end
  end
  return tiles
end

return mlp
