-- GroupNorm of few groups, for which a block each leaves a device idle: a kernel for mean and squares of parts of a group, short
-- ones that put those together, and one that reads x again from the L2.

local gpu = require "lib.gpu"

return schedule "group_norm" {
  target = "cuda",

  generator = {
    parts = tune { 4, 8, 16, 32, default = 16 }, -- of a group, by channels
  },

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, 8, default = 2 }, -- vectors in flight
  },

  apply = function(k, p)
    local o = { threads = p.threads, unroll = p.unroll, vector = gpu.vector_of(k.x) }
    k.of_parts:compute_root():gpu_blocks { "part", "g", "n" }
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
      threads = o.threads, unroll = o.unroll, vector = o.vector,
    })
    k.y:stream()
    for _, both in ipairs { { k.mean, k.sum }, { k.inv_std, k.sum_sq } } do
      local value, sum = table.unpack(both)
      gpu.elements(value:compute_root(), { rows = { "g" }, blocks = { "n" }, threads = 32 })
      sum:compute_at(value, "thread"):store_in "register"
    end
  end,
}
