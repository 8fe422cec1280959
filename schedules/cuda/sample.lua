-- Sampling, a block a row for the cuts: its threads share the panels, of which each looks only into those whose largest may count. The
-- largest of panels, what panels have of ties and of weights, and what is drawn of these are kernels of their own around it.

local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"
local sampling = require "lib.sampling"

return schedule "sample" {
  target = "cuda",

  generator = { panel = 64, digit = 4, listed = false },

  params = {
    threads = tune { 256, 512, 1024, default = 512 }, -- of a row
  },

  apply = function(k, p)
    -- A thread an element of what is stored, with its reduction in registers.
    local function stored(func, loops)
      local all = func:in_():compute_root()
      elementwise.elements(all, { rows = loops, threads = 128 })
      func:compute_at(all, "thread"):store_in "register"
      for _, loop in ipairs(loops) do func:bound_extent(loop, 1) end
    end
    -- The sums of all candidates of a digit: 32 threads a candidate, which take the panels in turn.
    local function of_digit(func, loop)
      local update = func:update(0)
      update:split(loop, 32, "guard", "chunk", "slice")
      local part = update:rfactor("slice", { "of_slice" }):bound_extent("of_slice", 32)
      part:compute_at(k.limits, "row"):store_in "gpu_shared"
      local sum = part:update(0)
      if loop == "r_y" then sum:reorder("r", "chunk", "of_slice", "d") else sum:reorder("chunk", "of_slice", "d") end
      for _, s in ipairs { part, sum } do
        s:fuse("of_slice", "d", "thread")
        s:gpu_threads "thread"
      end
      func:compute_at(k.limits, "row"):store_in "gpu_shared":gpu_threads "d"
      update:reorder("slice", "d"):gpu_threads "d"
    end
    local in_row = { at = { k.limits, "row" }, threads = p.threads, vector = 1, unroll = 1 }
    k.limits:compute_root():gpu_blocks "row"
    elementwise.elements(k.last_tie:compute_root(), { rows = { "row" }, threads = 32 })
    elementwise.elements(k.chosen:compute_root(), { rows = { "row" }, threads = 32 })
    elementwise.elements(k.token, { rows = { "row" }, threads = 32 })
    if k:has "logprob" then elementwise.elements(k.logprob, { rows = { "row" }, threads = 32 }) end
    local found = { tie = k.last_tie, draw = k.chosen }
    for _, stage in ipairs(sampling.stages(k, p.digit)) do
      local func = stage.func
      if stage.kind == "panel" then
        stored(func, stage.name == "panel_max" and { "p", "row" } or { "q", "row" })
      elseif stage.kind == "chunk" then
        stored(func, { "s", "row" })
      elseif stage.kind == "maxima" then
        reduce.rows(func, "p", { rows = { "row" }, threads = p.threads, vector = 1, unroll = 1 })
      elseif stage.digits then
        of_digit(func, stage.kind == "panels" and "p" or "r_y")
      elseif stage.kind == "elements" then
        reduce.in_block(func, "r_y", in_row)
      elseif stage.kind == "all" then
        reduce.rows(func, "c", { rows = { "row" }, threads = 256, vector = 4, unroll = 1 })
      elseif stage.phase == "limits" and stage.kind == "row" and stage.name ~= "limits" then
        grid.each_thread(func, in_row)
      elseif stage.name == stage.phase .. "_chunks" then
        func:compute_root()
        for _, s in ipairs { func, func:update(0) } do elementwise.elements(s, { rows = { "row" }, threads = 32 }) end
      elseif found[stage.phase] and func ~= found[stage.phase] and stage.name ~= "last_tie" and stage.name ~= "drawn" then
        grid.each_thread(func, { at = { found[stage.phase], "thread" } })
        func:bound_extent("row", 1)
      end
    end
  end,
}
