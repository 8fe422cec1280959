-- The draw of one of the largest of each row (generators/math/draw.h). Without one there is nothing to do.

local draw = {}

local of_list = { "draw_weight", "draw_before", "draw_left", "draw_share" }
local of_row = { "draw_terms", "draw_all", "draw_goal", "draw_total", "drawn" }

-- On the host: a row a task.
function draw.rows(k)
  if not k:has "token" then return end
  k.token:parallel "row"
  for _, names in ipairs { of_list, of_row } do
    for _, name in ipairs(names) do k[name]:compute_at(k.token, "row") end
  end
end

-- On a GPU: a block a row.
--
--   for row: draw_weight, draw_before, ...; token
--     ->
--   blocks row
--     threads i: draw_weight               -- of what stands in the list, in shared memory
--     draw_all                             -- of the row: each thread has it
--     threads i: draw_before ...
function draw.blocks(k, length)
  if not k:has "token" then return end
  k.token:gpu_blocks "row"
  for _, name in ipairs(of_row) do k[name]:compute_at(k.token, "row"):store_in "register" end
  for _, name in ipairs(of_list) do
    local func = k[name]:compute_at(k.token, "row")
    func:store_in "gpu_shared":bound("i", 0, length):gpu_threads "i"
    if name == "draw_before" or name == "draw_share" then func:update(0):gpu_threads "i" end
  end
end

return draw
