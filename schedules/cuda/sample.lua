-- Sampling, a block a row for the cuts and the draw, by histograms in shared memory. Many blocks find the largest of each panel of
-- tokens before it, and the weights of panels of rows that have no top-k. A thread of a row's block has some panels, and looks only into
-- those whose largest may count, of which there are few where few tokens have most of the weight.

local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

-- A thread an element of what is stored, with its reduction in registers.
local function stored(func, loops)
  local all = func:in_():compute_root()
  elementwise.elements(all, { rows = loops, threads = 128 })
  func:compute_at(all, "thread"):store_in "register":update(0):unroll("j"):never_partition_all()
  for _, loop in ipairs(loops) do func:bound_extent(loop, 1) end
end

return schedule "sample" {
  target = "cuda",

  generator = {
    search = "histograms",
    panel = tune { 8, 16, 32, default = 16 }, -- tokens
  },

  params = {
    threads = tune { 256, 512, 1024, default = 1024 }, -- of a row
  },

  apply = function(k, p)
    local draw = k.token
    if k:has "logprob" then draw = k.chosen:compute_root() end
    draw:gpu_blocks "row"
    local in_row = { at = { draw, "row" }, threads = p.threads, vector = 1, unroll = 1 }

    -- A stage of a row: what it has stands in shared memory, a thread an element or some of them.
    local function of_threads(func, loop, count, updates)
      func:compute_at(draw, "row"):store_in "gpu_shared"
      for n = 0, updates or 1 do
        local stage = n == 0 and func or func:update(n - 1)
        if not count then
          stage:split(loop, p.threads, "guard", "chunk", "thread")
          stage:gpu_threads "thread"
        elseif count > p.threads then
          stage:split(loop, p.threads, "auto", "chunk", "thread")
          stage:gpu_threads "thread"
        else
          stage:gpu_threads(loop)
        end
      end
    end
    local function of_row(names)
      for _, name in ipairs(names) do
        if k:has(name) then grid.each_thread(k[name], in_row) end
      end
    end
    -- The Funcs of a search for a cut (generators/math/histogram_search.h). over: the loop over panels
    local function search(name, over)
      for _, n in ipairs { "near", "0", "1", "2", "3" } do
        local bins = name .. "_bins_" .. n
        if k:has(bins) then
          of_threads(k[bins], "b", 256, 0)
          local add = k[bins]:update(0)
          local chunk, thread = add:split(over, p.threads, "guard", "chunk", "thread")
          if over == "r_y" then
            add:reorder("r_x", chunk, thread)
            local key = k.order:in_(k[bins]):compute_at(k[bins], "r_x"):store_in "register"
            for _, dim in ipairs { "c", "row" } do key:bound_extent(dim, 1) end
          end
          add:atomic():gpu_threads "thread"
          of_threads(k[name .. "_sums_" .. n], "s", 16)
          of_row { name .. "_in_sums_" .. n, name .. "_in_bins_" .. n, name .. "_" .. n, name .. "_key_" .. n }
        end
      end
    end
    -- Those of a search for a token (Sample::find_in_slices).
    local function find(name)
      of_threads(k[name .. "_slices"], "s", 1024, name == "draw" and 2 or 1)
      of_threads(k[name .. "_sums"], "i", 32)
      of_row { name .. "_total", name .. "_goal", name .. "_in_sums", name .. "_in_slices" }
      of_threads(k[name .. "_near"], "i", nil, name == "draw" and 2 or 1)
      of_row { name .. "_in_panels" }
      of_threads(k[name .. "_elements"], "e", p.panel)
      of_row { name .. "_in_elements" }
    end

    stored(k.panel_max, { "p", "row" })
    k.terms:compute_root():gpu_blocks "row"
    reduce.in_block(k.row_max, "p", { at = { k.terms, "row" }, threads = p.threads, vector = 1, unroll = 1 })
    stored(k.panel_sum, { "p", "row" })

    search("floor_k", "p")
    search("kth", "r_y")
    reduce.in_block(k.sum_of_panels, "p", in_row)
    reduce.in_block(k.above_weight_k, "r_y", in_row)
    of_row { "places_k", "all_weight", "goal" }
    search("floor_p", "p")
    search("nucleus", "r_y")
    of_row { "cut" }
    reduce.in_block(k.ties, "r_y", in_row)
    of_row { "limits" }
    find "tie"
    of_row { "last_tie" }
    find "draw"
    of_row { "drawn" }
    if k:has "logprob" then
      reduce.tiles(k.exp_sum, "c", { tile = 2048, threads = 256, vector = 4, unroll = 1 })
      reduce.in_block(k.exp_sum, "tile", in_row)
      for _, out in ipairs { k.token, k.logprob } do elementwise.elements(out, { rows = { "row" }, threads = 32 }) end
    end
  end,
}
