-- Transposition through shared memory: a block reads a tile by the rows of x and stores it by the rows of y, in vectors
-- on both sides, and applies scale, bias, activation and residual to it between. A row of the tile in shared memory
-- is followed by a gap of 4 bytes, so that threads that go down a column meet different banks.

local transpose = require "lib.gpu_transpose"

return schedule "transpose" {
  target = "cuda",

  params = {
    tile    = tune { 32, 64, 128, default = 64 }, -- rows and columns of a tile
    threads = tune { 128, 256, 512, default = 256 },
    read    = tune { 0, 1, 2, 4, 8, default = 0 }, -- elements of x that a thread has at once; 0: by the distance of the rows
    written = tune { 0, 1, 2, 4, 8, default = 0 }, -- .. and of y
  },

  where = function(p) return (p.read == 0) == (p.written == 0) end,

  versions = function(k, p, target)
    if p.read > 0 then return { {} } end
    return transpose.versions(k.x, { k.y, k:has "residual" and k.residual or nil }, target)
  end,

  apply = function(k, p)
    transpose.tiles(k.y, k.transposed, p)
    k.y:stream()
  end,
}
