-- GroupNorm of few groups, for which a block each leaves a device idle: a kernel for mean and squares of parts of a group, and one
-- that reads x again from the L2, each of whose threads puts the parts together, in registers and all loads under way at once.

local gpu = require "lib.gpu"

return schedule "group_norm" {
  target = "cuda",

  generator = {
    parts = tune { 4, 8, 16, 32, default = 16 }, -- of a group, by channels
  },

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, 8, default = 2 }, -- vectors of a part in flight
    vectors = tune { 1, 2, 4, 8, default = 4 }, -- of y for a thread
  },

  apply = function(k, p)
    local o = { threads = p.threads, unroll = p.unroll, vector = gpu.vector_of(k.x) }
    -- Bounds that are known keep divisions out of the places of parts.
    k.of_parts:compute_root():bound("g", 0, k.groups):gpu_blocks { "part", "g", "n" }
    local part = { at = { k.of_parts, "part" }, around = { "pixel_y", "pixel_z" }, threads = o.threads, unroll = o.unroll, vector = o.vector }
    for _, of_part in ipairs { k.part_sum, k.part_mean, k.part_sq } do
      for _, dim in ipairs { "part", "g", "n" } do of_part:bound_extent(dim, 1) end
    end
    gpu.reduce(k.part_sum, "pixel_x", part)
    gpu.each_thread(k.part_mean, part)
    gpu.reduce(k.part_sq, "pixel_x", part)

    k.y:split("c", k.x:dim(2):extent() // k.groups, "guard", "group", "channel")
    gpu.parts_of_groups(k.y, {
      loop = "w", around = { "h", "channel" }, blocks = { "group", "n" },
      threads = o.threads, unroll = p.vectors, vector = o.vector,
    })
    k.y:stream()
    for _, value in ipairs { k.sum, k.mean, k.sum_sq, k.inv_std } do
      gpu.each_thread(value:bound_extent("g", 1), { at = { k.y, "chunk" } })
    end
    k.sum:update(0):unroll("part")
    k.sum_sq:update(0):unroll("part")
  end,
}
