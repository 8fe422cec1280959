-- The SPLADE head without tensor cores: a block takes a tile of the vocabulary and a sequence. Positions go by 128
-- at a time, whose logits are summed in registers, and of them only each thread's largest for a word is kept; at
-- the end those of the threads are put together in shared memory.

local tiles = require "lib.gpu_tiles"

return schedule "splade" {
  target = "cuda",

  generator = { weights = "nk", block = tune { 64, 128, default = 128 } },

  params = {
    columns = tune { 64, 128, default = 128 },
    depth   = tune { 16, 32, default = 16 }, -- k of a step
  },

  apply = function(k, p)
    k.y:split("col", p.columns, "guard", "tile_col", "in_col")
    local c = tiles.pieces(k.y, "in_col")
    k.y:reorder(c.near, c.part, c.thread, "tile_col", "n"):gpu_blocks { "tile_col", "n" }:gpu_threads(c.thread)
    k.y:vectorize(c.near):never_partition_all()

    local update = k.top:update(0)
    local position = tiles.pieces(update, "r_x")
    local part = update:rfactor(position.thread, { "of_position" }):bound_extent("of_position", 16)
    local parts = part:in_():compute_at(k.y, "tile_col"):store_in "gpu_shared"
    part:compute_at(k.y, "tile_col"):store_in "register"
    for _, stage in ipairs { parts, part, part:update(0) } do
      local words = tiles.pieces(stage, "col")
      stage:reorder(words.near, words.part, words.thread, "of_position")
      if stage ~= parts and stage ~= part then
        stage:reorder(words.near, words.part, position.near, position.part, words.thread, "of_position", "r")
      end
      stage:gpu_threads { words.thread, "of_position" }:vectorize(words.near):never_partition_all()
    end
    part:bound_extent("col", p.columns)
    parts:bound_extent("col", p.columns)
    tiles.sums(k.acc, { part, "r" }, {
      a = { func = k.x_f, loop = "i", k = "k", together = "k" },
      b = { func = k.w_f, loop = "col", k = "k", together = "k" },
      rows = p.block, columns = p.columns, depth = p.depth, row = "i", others = { "s", "n" },
    })

    k.top:compute_at(k.y, c.part):store_in "register":bound_extent("col", 4):vectorize "col"
    update:reorder("col", position.thread):vectorize "col"
  end,
}
