-- Transposition in registers: a square tile is read by its rows and stored by its columns. The shuffles between
-- the two replace a pass through memory, and scale, bias and activation work on the vectors between. Tiles of
-- 8 x 8 are quicker than 16 x 16.
-- Large matrices whose rows start a multiple of 1024 elements apart, so that they meet in few sets of each cache, go in blocks of
-- 32 x 32, which read whole lines and prefetch the next. With other strides such blocks are slower.

return schedule "transpose" {
  target = "cpu",

  params = {
    tile  = tune { 8, 16, default = 8 },        -- rows and columns of a tile
    block = tune { 1, 4, 16, default = 16 },    -- tiles along a row of y before the next rows
    task  = tune { 1, 4, 16, default = 4 },     -- tiles along a column of y that a task takes
    side  = tune { 32, 64, default = 32 },      -- of a block
    blocks = tune { "auto", "always", "never", default = "auto" }, -- where rows meet in the caches
  },

  apply = function(k, p, target)
    local function in_tiles(stage, rows, tail)
      local strips, lane = stage:split("row", rows, rows > 1 and "shift_inwards" or "auto", "strips", "lane")
      local tiles, line = stage:split("col", p.tile, tail, "tiles", "line")
      local blocks, strip = stage:split(strips, p.block, "guard", "block", "strip")
      local tasks, step = stage:split(tiles, p.task, "guard", "task", "step")
      stage:reorder(lane, line, strip, step, blocks, tasks, "n")
      stage:fuse(tasks, "n", "job"):parallel()
      stage:vectorize(lane)
      if rows > 1 then stage:unroll(line) end
    end

    local function in_blocks(stage)
      local tasks, lane = stage:split("row", p.side, "shift_inwards", "task", "lane")
      local strip, line = stage:split("col", p.side, "shift_inwards", "strip", "line")
      stage:reorder(lane, line, strip, tasks, "n")
      stage:fuse(tasks, "n", "job"):parallel()
      stage:vectorize(lane, target:lanes "f32"):prefetch(k.x, strip, strip, 1)
    end

    local rows, cols = k.y:dim(0):extent(), k.y:dim(1):extent()
    local function at_least(size) return rows:at_least(size):and_(cols:at_least(size)) end
    local large = (rows * cols * k.y:dim(2):extent()):above(target.l3 // 2 // (k.y:type() == "f32" and 4 or 2))
    if p.blocks == "always" then
      in_blocks(k.y:specialize(at_least(p.side)))
    elseif p.blocks ~= "never" and not k:has "residual" then -- with one, blocks are slower
      in_blocks(k.y:specialize(at_least(p.side):and_(k.x:dim(1):stride():multiple_of(1024)):and_(large)))
    end
    in_tiles(k.y:specialize(at_least(p.tile)), p.tile, "shift_inwards")
    in_tiles(k.y, 1, "guard")
    k.y:stream()

    local turned = k.transposed:in_(k.linear)
    turned:compute_at(k.y, "strip"):store_in "stack"
    local tiles, lane = turned:split("row", p.tile, "guard", "tiles", "lane")
    local below, line = turned:split("col", p.tile, "guard", "below", "line")
    turned:reorder(lane, line, below, tiles):vectorize(lane):unroll(line)
    k.transposed:compute_at(turned, "below"):store_in "stack":reorder("col", "row"):vectorize("col", p.tile, "guard"):unroll "row"
  end,
}
