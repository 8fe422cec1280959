-- A blur in strips of rows, with the horizontal sums of a strip in a ring of three rows.
-- The sums are kept for the whole image, since the histogram reads them once more.

return schedule "blur_histogram" {
  target = "cpu",

  params = {
    rows = tune { 4, 8, 16, default = 8 }, -- rows a task
  },

  apply = function(k, p, target)
    local lanes = target:lanes "u16"

    local strip, row = k.blur_y:split("y", p.rows, "guard", "strip", "row")
    strip:parallel()
    k.blur_y:compute_root():vectorize("x", lanes, "guard")
    k.blur_x:compute_at(row):store_at(strip):vectorize("x", lanes)

    k.blurred:parallel("y", p.rows, "guard"):vectorize("x", 2 * lanes, "guard")
    k.histogram:vectorize("bin", lanes, "guard")
    k.histogram:update(0):reorder("pixel_x", "pixel_y"):unroll("pixel_x", 4)
  end,
}
