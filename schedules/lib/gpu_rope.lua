-- Rotary position embedding on a GPU.

local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"

local rope = {}

-- Where vectors are whole: threads side by side in a head that all have something, and heads in flight that are there. Each token has a
-- block. Where each takes over was measured (docs/notes/2026-11-decoder.md).
local function of_widest(k, vector, fits)
  local heads, tokens = k.y:dim(1):extent(), k.y:dim(2):extent()
  local few = (heads * tokens):at_most(2048)
  local short = k.y:dim(0):extent():at_most(8 * vector)
  return {
    { when = fits:and_(short):and_(heads:at_most(16):or_(few)), vector = vector, lanes = 8, unroll = 1 },
    { when = fits:and_(short), vector = vector, lanes = 8, unroll = 2 },
    { when = fits:and_(heads:at_most(8):or_(few)), vector = vector, lanes = 16, unroll = 1 },
    { when = fits:and_(heads:at_most(16)), vector = vector, lanes = 16, unroll = 2 },
    { when = fits, vector = vector, lanes = 16, unroll = 4 },
  }
end

-- Versions by the vectors that a thread may have at once: all elements of one are turned or none, and every head begins where one may.
-- Each sets the parameter "vector", those of the widest lanes and unroll too.
function rope.versions(k)
  local half = (k:has "cos_table" and k.cos_table or k.frequencies):dim(0):extent()
  local turned = k:has "swapped_neighbours" and half * 2 or half
  local list = {}
  for i, vector in ipairs { grid.vector_of_all { k.x, k.y }, 2 } do
    local fits = turned:multiple_of(vector)
    for _, array in ipairs { k.x, k.y } do
      for d = 1, 2 do
        fits = fits:and_(array:dim(d):stride():multiple_of(vector):or_(array:dim(d):extent():at_most(1)))
      end
    end
    local of_vector = i == 1 and of_widest(k, vector, fits) or { { when = fits, vector = vector } }
    for _, version in ipairs(of_vector) do table.insert(list, version) end
  end
  table.insert(list, { vector = 1 })
  return list
end

-- Has a thread turn vectors of some heads of a token, with the cosines and sines of it in registers.
--
--   for token: for head: for i: y
--     ->
--   blocks token, some heads, some vectors
--     threads: angle_turn of the vector's pairs
--       unrolled heads: y                                     -- a vector at once
--
-- y    a Func over [i, head, token]       o    threads, lanes, unroll, vector, as elementwise.vectors() has them
function rope.vectors(k, y, o)
  elementwise.vectors(y, {
    col = "i", rows = { "head" }, outside = { "token" }, threads = o.threads, lanes = o.lanes, unroll = o.unroll, vector = o.vector,
  })
end

return rope
