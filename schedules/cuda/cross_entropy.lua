-- Cross-entropy with a block a row of logits, which are read once: a thread keeps the largest of its columns so far
-- and the sum of exponentials relative to it, and the threads put theirs together at the end.

local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

return schedule "cross_entropy" {
  target = "cuda",

  generator = {
    parts = tune { 256, 512, 1024, default = 512 }, -- threads
    vector = 8,
    piece = 2, -- vectors in flight: with 4, 53 registers leave room for two blocks
  },

  apply = function(k, p)
    local row = { at = { k.loss, "row" }, threads = p.parts, vector = p.vector, unroll = p.piece }
    k.loss:gpu_blocks "row"

    grid.each_thread(k.running, row)
    for _, stage in ipairs { k.running, k.running:update(0) } do stage:gpu_threads "part" end
    for _, of_piece in ipairs { k.piece_max, k.piece_sum } do
      grid.each_thread(of_piece, { at = { k.running, "step" } })
      of_piece:update(0):atomic():vectorize("piece_x"):unroll("piece_y"):never_partition_all()
    end

    grid.each_thread(k.row_max, row)
    grid.each_thread(k.part_sum, row)
    k.part_sum:gpu_threads "part"
    grid.each_thread(k.row_sum, row)
    grid.each_thread(k.log_sum, row)
    if k:has "sum" then reduce.in_block(k.sum, "col", row) end -- of smoothed targets, which reads the row again
  end,
}
