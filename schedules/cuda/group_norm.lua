-- GroupNorm with a block a group of an image: mean, variance and output in one kernel. The group comes from memory
-- once, and twice more from the caches. Vectors run along the pixels of a row, and the threads along all of them.

local gpu = require "lib.gpu"

return schedule "group_norm" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, 1024, default = 512 },
    unroll  = tune { 1, 2, 4, 8, default = 4 }, -- vectors in flight
  },

  apply = function(k, p)
    local channels = k.x:dim(2):extent() // k.groups
    k.y:split("c", channels, "guard", "group", "channel")
    local o = { threads = p.threads, unroll = p.unroll, vector = gpu.vector_of(k.x) }
    gpu.group_blocks(k.y, {
      loop = "w", around = { "h", "channel" }, blocks = { "group", "n" },
      threads = o.threads, unroll = o.unroll, vector = o.vector,
    })
    k.y:stream()
    for _, sum in ipairs { k.sum, k.sum_sq } do
      sum:bound_extent("g", 1)
      gpu.reduce(sum, "pixel_x", {
        at = { k.y, "group" }, around = { "pixel_y", "pixel_z" },
        threads = o.threads, unroll = o.unroll, vector = o.vector,
      })
    end
    for _, value in ipairs { k.mean, k.inv_std } do
      gpu.each_thread(value:bound_extent("g", 1), { at = { k.y, "group" } })
    end
  end,
}
