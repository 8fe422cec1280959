-- BatchNorm in one pass over memory: a thread has vectors of up to 16 bytes of several rows of pixels (NHWC: of several pixels) in
-- flight. Scale and shift of a channel it computes for itself; in NHWC, where each element of a vector has others, they are
-- computed first, by small kernels.

local elementwise = require "lib.gpu_elementwise"

return schedule "batch_norm" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    lanes   = tune { 8, 16, 32, 64, default = 32 }, -- threads side by side in a row
    unroll  = tune { 1, 2, 4, 8, default = 4 },
    vector  = tune { 0, 1, 2, 4, 8, default = 0 }, -- elements that a thread has at once; 0: by the distance of the rows
  },

  versions = function(k, p, target)
    if p.vector > 0 then return { {} } end
    return elementwise.vector_versions(k:has "y" and { k.x, k.y } or { k.x_nhwc, k.y_nhwc }, 4, p, target)
  end,

  apply = function(k, p)
    local o = { threads = p.threads, lanes = p.lanes, unroll = p.unroll, vector = p.vector }
    if k:has "y" then
      o.col, o.around, o.rows, o.outside = "w", { "h" }, { "c" }, { "n" }
      elementwise.vectors(k.y, o)
      k.y:stream()
    else
      for _, of_channel in ipairs { k.channel_scale, k.channel_shift } do
        elementwise.elements(of_channel:compute_root(), { rows = { "c" }, threads = p.threads })
      end
      o.col, o.rows = "c", { "w", "h", "n" }
      elementwise.vectors(k.y_nhwc, o)
      k.y_nhwc:stream()
    end
  end,
}
