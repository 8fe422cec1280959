-- BatchNorm without fusion: scales and shifts of the channels, x scaled and shifted, the activation and the result, each
-- its own pass through memory, SIMD and parallel as a library call would be.

local rows = require "lib.rows"

return schedule "batch_norm" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local y = k:has "y" and k.y or k.y_nhwc
    local pass = { row = k:has "y" and "c" or "h", inner = k:has "y" and "w" or "c", lanes = lanes }
    for _, of_channel in ipairs { k.channel_scale, k.channel_shift } do
      of_channel:compute_root():vectorize("c", lanes, "guard")
    end
    for _, step in ipairs { "normalised", "activated" } do
      if k:has(step) then rows.materialise({ k[step] }, pass) end
    end
    y:parallel(pass.row):vectorize(pass.inner, lanes, "guard")
  end,
}
