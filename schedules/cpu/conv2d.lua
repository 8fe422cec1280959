-- Convolution with its epilogue for AVX2 and AVX-512, weights packed into panels of output channels.
-- A register tile of pixels x channels runs over the window and all input channels; the panel of weights
-- stays in L2 while the band goes by. Each job first copies its band of x with the padding around
-- it (f16 and bf16: as f32), so no loop asks where the border is: 1 to 2 parts in 100 of a 3x3 over 64 channels.
-- f32 and f16 reach 94 to 97 % of the f32 peak at the sizes of ResNet-50 (Zen 4, one thread). bf16 is multiplied in
-- pairs where the target can: 1.9 times that. Zeros of the padding are left out: of a 3x3 over 7x7, 14x14, 28x28 and 56x56
-- pixels (19/21)^2 = 0.82, 0.91, 0.95 and 0.98 is multiplied, and takes 0.82, 0.92, 0.96 and 0.99 of the time (f32, Zen 5).
-- A build for one target takes 1.8 s for 1.0, as columns at a border have loops of their own. Images of 3
-- channels want channels=3, groups of few conv2d.grouped.lua.

local conv = require "lib.conv"
local gemm = require "lib.gemm"
local processor = require "lib.processor"

return schedule "conv2d" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 32 },
    skip_padding = tune { true, false, default = true },
  },

  params = {
    pixels = tune { 0, 4, 6, 7, 8, 14, default = 0 },  -- of the register tile, with 32 registers; 0: what suits the panel
    band   = tune { 2, 4, 8, 16, default = 8 },        -- rows of the image a job
    channels = tune { 0, 1, 3, 4, default = 0 },       -- of x: few are unrolled with the columns of the window
  },

  where = function(p, target)
    return gemm.tile_fits({ rows = p.pixels, panel = p.panel }, target)
  end,

  apply = function(k, p, target)
    local wide = target.vector_registers >= 32
    local lanes = target:lanes "f32"
    local type = k.x:type()
    local columns = wide and p.panel or 2 * lanes
    local dot = gemm.has_dot(target, type, columns)
    k.y:dim(0):set_min(0)
    conv.register_tiles(k.y, k.acc, {
      width = k.y:dim(2):extent(),
      lanes = lanes,
      panel = p.panel,
      columns = columns,
      pixels = conv.pixels(target, p.panel, p.pixels),
      band = p.band,
      group = gemm.group(type),
      dot = dot,
      -- Weights that come from memory, 512 channels of 7 x 7 pixels, Zen 5: 1.06 ms to 0.97, bf16 543 us to 521; in the cache as
      -- quick. Emerald Rapids: 64 channels take 1.49 ms for 1.35 with it.
      ahead = not processor.is_intel(target),
    })
    if p.channels > 0 then
      k.x:dim(0):set_extent(p.channels)
      if gemm.group(type) == 1 then k.acc:update(0):unroll("tap_x"):unroll("tap_y") end
    end
    local band = type ~= "f32" and not dot and k.x_f or k:has "x_pad" and k.x_pad
    if band then
      band:compute_at(k.y, "job")
      if p.channels > 0 then
        band:unroll "c"
      else
        band:vectorize("c", lanes, "guard")
      end
    end
  end,
}
