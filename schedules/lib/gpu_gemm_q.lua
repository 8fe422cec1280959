-- Products with weights in interleaved blocks (halyard_interleave_blocks) on a GPU.

local gemm_q = {}

-- Computes a Func of few rows by threads: neighbours have neighbouring columns, so that they read a panel of weights in order; others have other
-- elements of a block, and other blocks. A word of weights becomes f32 in registers, for all rows.
--
--   for row: for col: y = f(sum over k of a * w)
--     ->
--   blocks panel, strip of rows
--     threads column, group, part: partial in registers = 0
--       for chunk: for half: for member: for row: partial += a * w      -- k = ((chunk * parts + part) * 2 + half) * 16 + group * 4 + member
--     threads: partials = partial                                       -- in shared memory
--     threads column, row: y = f(sum of the partials)
--
-- interleaved    columns of a panel        rows    of a strip        parts    of the depth
function gemm_q.by_threads(k, p)
  local y, update = k.y, k.acc:update(0)
  y:split("col", p.interleaved, "guard", "panel", "column")
  y:split("row", p.rows, "guard", "strip", "row_in_strip")
  y:reorder("column", "row_in_strip", "panel", "strip")
  y:gpu_blocks { "panel", "strip" }:gpu_threads { "column", "row_in_strip" }:never_partition_all()

  update:split("k_w", p.parts, "guard", "chunk", "part")
  local partial = update:rfactor({ "k_y", "part" }, { "of_group", "of_part" })
  k.acc:compute_at(y, "column"):store_in "register":never_partition_all()
  update:unroll("k_y"):unroll("part"):never_partition_all()

  local partials = partial:in_():compute_at(y, "panel"):store_in "gpu_shared"
  partial:compute_at(y, "panel"):store_in "register"
  for _, func in ipairs { partials, partial } do
    func:bound_extent("col", p.interleaved):bound_extent("row", p.rows):bound_extent("of_group", 4):bound_extent("of_part", p.parts)
  end
  local threads = { "col", "of_group", "of_part" }
  for _, stage in ipairs { partials, partial } do
    stage:reorder("row", table.unpack(threads)):unroll("row"):gpu_threads(threads):never_partition_all()
  end
  local sum = partial:update(0)
  sum:reorder("row", "k_x", "k_z", "chunk", table.unpack(threads)):unroll("row"):unroll("k_x"):unroll("k_z")
  sum:gpu_threads(threads):never_partition_all()

  -- A word of weights of 4 bits has those of both halves.
  local function in_thread(func, loop)
    return func:compute_at(partial, loop):store_in "register":never_partition_all()
  end
  in_thread(k.w_bytes, p.format == "q8_0" and "k_z" or "chunk"):bound_extent("member", 4):vectorize "member"
  in_thread(k.w_scale, "chunk")
  if k:has "w_minimum" then in_thread(k.w_minimum, "chunk") end
  in_thread(k.w_block, "k_x")
  in_thread(k.a_f, "k_z"):bound_extent("k", 4):bound_extent("row", p.rows):vectorize "k":unroll "row"
end

-- Unpacks all weights to f32 in a kernel of its own, along k, as tensor cores fetch them.
--
--   for col: for k: w_f
--     ->
--   blocks part of the depth, panel
--     threads word, column: w_f of four neighbours along k
--
-- interleaved    columns of a panel
function gemm_q.unpack(k, p)
  local w = k.w_f:compute_root()
  w:split("col", p.interleaved, "guard", "panel", "column")
  w:split("k", 128, "guard", "part", "in_part")
  w:split("in_part", 4, "round_up", "word", "member")
  w:reorder("member", "word", "column", "part", "panel"):vectorize "member"
  w:gpu_blocks { "part", "panel" }:gpu_threads { "word", "column" }:never_partition_all()
end

return gemm_q
