-- GroupNorm with a block a group of an image: mean, variance and output in one kernel. The group comes from memory
-- once, and twice more from the caches. Vectors run along the pixels of a row, and the threads along all of them. Where there
-- are few groups, so that a device would be idle, several blocks share one: a kernel for mean and squares of each part, and one
-- that reads x again from the L2, each of whose threads puts the parts together, in registers and all loads under way at once.

local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"
local rows = require "lib.gpu_rows"

return schedule "group_norm" {
  target = "cuda",

  generator = { parts = -1 }, -- as many as blocks

  params = {
    blocks  = tune { 0, 1, 4, 8, 16, 32, default = 0 },     -- that share a group; 0: what a call's sizes are best off with
    threads = tune { 128, 256, 512, 1024, default = 512 },
    unroll  = tune { 1, 2, 4, 8, default = 4 },             -- vectors in flight
    vectors = tune { 1, 2, 4, 8, default = 4 },             -- of y for a thread, if several blocks share a group
    invariant = grid.invariant, -- an image's result is the same bits for any number of images
  },

  versions = function(k, p)
    if p.blocks > 0 then return { {} } end
    -- Short groups take one block each; long groups take 16.
    local length = k.x:dim(0):extent() * k.x:dim(1):extent() * (k.x:dim(2):extent() // k.groups)
    local short = p.invariant and 24 * 1024 or (k.groups * k.x:dim(3):extent()):at_least(97):select(96 * 1024, 24 * 1024)
    return { { when = length:at_most(short), blocks = 1 }, { blocks = 16, threads = 256, unroll = 2 } }
  end,

  apply = function(k, p)
    local o = { threads = p.threads, unroll = p.unroll, vector = grid.vector_of(k.x) }
    k.y:split("c", k.x:dim(2):extent() // k.groups, "guard", "group", "channel")
    k.y:stream()
    local parts, groups -- where those are computed and read
    if p.blocks == 1 then
      rows.group_blocks(k.y, {
        loop = "w", around = { "h", "channel" }, blocks = { "group", "n" },
        threads = o.threads, unroll = o.unroll, vector = o.vector,
      })
      parts, groups = { k.y, "group" }, { k.y, "group" }
      grid.each_thread(k.of_parts, { at = parts })
    else
      -- Bounds that are known keep divisions out of the places of parts.
      k.of_parts:compute_root():bound("g", 0, k.groups):gpu_blocks { "part", "g", "n" }
      rows.parts_of_groups(k.y, {
        loop = "w", around = { "h", "channel" }, blocks = { "group", "n" },
        threads = o.threads, unroll = p.vectors, vector = o.vector,
      })
      parts, groups = { k.of_parts, "part" }, { k.y, "chunk" }
    end

    local part = { at = parts, around = { "pixel_y", "pixel_z" }, threads = o.threads, unroll = o.unroll, vector = o.vector }
    for _, of_part in ipairs { k.part_sum, k.part_mean, k.part_sq } do
      for _, dim in ipairs { "part", "g", "n" } do of_part:bound_extent(dim, 1) end
    end
    reduce.in_block(k.part_sum, "pixel_x", part)
    grid.each_thread(k.part_mean, part)
    reduce.in_block(k.part_sq, "pixel_x", part)

    for _, value in ipairs { k.sum, k.mean, k.sum_sq, k.inv_std } do
      grid.each_thread(value:bound_extent("g", 1), { at = groups })
    end
    k.sum:update(0):unroll("part")
    k.sum_sq:update(0):unroll("part")
  end,
}
