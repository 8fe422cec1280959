-- Cross-entropy in one pass over the logits: a thread keeps the largest of its columns so far and the sum of exponentials relative to it.
-- A row has a block, whose threads put theirs together at the end. Few long rows have many blocks each, and a second kernel puts together
-- what the threads of all of these have.

local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

return schedule "cross_entropy" {
  target = "cuda",

  generator = { parts = -1, piece = -1, vector = 8 },

  params = {
    shares  = tune { 0, 256, 512, 1024, 2048, 4096, default = 0 }, -- threads of a row; 0: by the rows and columns of a call
    vectors = tune { 0, 1, 2, 4, 8, default = 0 }, -- in flight. With 4, 53 registers leave room for two blocks of 512.
    threads = tune { 0, 32, 64, 128, 256, 512, 1024, default = 0 }, -- of a block
    invariant = grid.invariant, -- a row's result is the same bits for any number of rows
  },

  where = function(p)
    if p.shares == 0 then return p.vectors == 0 and p.threads == 0 end
    return p.vectors > 0 and p.threads > 0 and p.threads <= p.shares
  end,

  versions = function(k, p, target)
    if p.shares > 0 then return { {} } end
    local rows, cols, any = k.loss:dim(0):extent(), k.logits:dim(0):extent(), { shares = 512, threads = 512, vectors = 2 }
    if p.invariant then return { any } end
    return {
      { when = rows:at_most(target.multiprocessors // 4):and_(cols:above(32768)), shares = 4096, threads = 64, vectors = 4 },
      { when = rows:at_most(target.multiprocessors):and_(cols:above(4096)), shares = 1024, threads = 1024, vectors = 4 },
      any,
    }
  end,

  apply = function(k, p)
    local row = { at = { k.loss, "row" }, threads = p.threads, vector = 8, unroll = p.vectors }
    k.loss:gpu_blocks "row"

    if p.threads == p.shares then
      grid.each_thread(k.running, row)
      for _, stage in ipairs { k.running, k.running:update(0) } do stage:gpu_threads "part" end
      grid.each_thread(k.row_max, row)
      grid.each_thread(k.part_sum, row)
      k.part_sum:gpu_threads "part"
      grid.each_thread(k.row_sum, row)
    else
      local of_all = k.running:in_():compute_root()
      of_all:split("part", p.threads, "auto", "part", "thread")
      of_all:gpu_blocks { "part", "row" }:gpu_threads "thread"
      grid.each_thread(k.running, { at = { of_all, "thread" } })
      k.running:bound_extent("part", 1):bound_extent("row", 1)
      local of_row = { at = { k.loss, "row" }, threads = 256, vector = 1, unroll = 4 }
      reduce.in_block(k.row_max, "part", of_row)
      reduce.in_block(k.row_sum, "part", of_row)
    end
    for _, of_piece in ipairs { k.piece_max, k.piece_sum } do
      grid.each_thread(of_piece, { at = { k.running, "step" } })
      of_piece:update(0):atomic():vectorize("piece_x"):unroll("piece_y"):never_partition_all()
    end
    grid.each_thread(k.log_sum, row)
    if k:has "sum" then reduce.in_block(k.sum, "col", row) end -- of smoothed targets, which reads the row again
  end,
}
