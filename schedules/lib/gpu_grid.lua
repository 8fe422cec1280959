-- What every schedule for a GPU needs: loops become a grid of blocks and threads, and values stay in registers.

local grid = {}

-- A parameter of schedules that have versions by the number of rows: only versions that add up alike, so that a row's result is the same
-- bits for any number of them. With one kind of blocks given, it is in any case.
grid.invariant = tune { false, true, default = false, search = false }

grid.bytes_of = { f32 = 4, i32 = 4, f16 = 2, bf16 = 2, i8 = 1, u8 = 1 }

-- The number of elements of a Func or buffer in 16 bytes, which is the widest access of a thread. It is 8 at most, since the
-- elements are f32 in registers.
function grid.vector_of(func)
  return math.min(16 // grid.bytes_of[func:type()], 8)
end

-- The same of several, of which a thread has as many elements of each.
function grid.vector_of_all(funcs)
  local vector = 8
  for _, func in ipairs(funcs) do vector = math.min(vector, grid.vector_of(func)) end
  return vector
end

-- Whether all rows of arrays begin at a multiple of so many elements, so that a thread has that many of a row at once.
--
-- arrays    whose dimension 1 steps from row to row
function grid.rows_fit(arrays, elements)
  local all
  for _, array in ipairs(arrays) do
    local fits = array:dim(1):stride():multiple_of(elements):or_(array:dim(1):extent():at_most(1))
    all = all and all:and_(fits) or fits
  end
  return all
end

-- How many elements an array of so many dimensions has.
function grid.elements_of(array, dimensions)
  local elements = array:dim(0):extent()
  for d = 1, dimensions - 1 do elements = elements * array:dim(d):extent() end
  return elements
end

-- Joins loops, innermost first, into one, and returns its name.
function grid.fuse(stage, loops)
  local name = loops[1]
  for i = 2, #loops do
    local both = name .. "_" .. loops[i]
    stage:fuse(name, loops[i], both)
    name = both
  end
  return name
end

-- Spreads loops over blocks, innermost first, and returns the innermost loop of blocks. A grid has three dimensions, so the outer
-- loops become pairs. Of three fused loops Halide 21 does not see any more that a block has one iteration of each.
function grid.over_blocks(stage, loops)
  local blocks, at = {}, 1
  for left = 3, 1, -1 do
    local n = math.min(math.max((#loops - at + 1) // left, 1), left == 1 and #loops or 2)
    if at <= #loops then table.insert(blocks, grid.fuse(stage, { table.unpack(loops, at, at + n - 1) })) end
    at = at + n
  end
  stage:gpu_blocks(blocks)
  return blocks[1]
end

-- Cuts a loop for the threads of a block: a thread has neighbouring vectors, `unroll` of them in flight.
--
--   for col
--     ->
--   for chunk: threads thread: unrolled step: vectorized lane      -- col = ((chunk * unroll + step) * threads + thread)
--                                                                  --       * vector + lane
--
-- With loops `around` it, the vectors of all of them are counted in one loop, so that short rows fill a block too:
--
--   for h: for w
--     ->
--   for chunk: threads thread: unrolled step: vectorized lane
--                                          -- number of the vector in all h = (chunk * unroll + step) * threads + thread
function grid.over_threads(stage, loop, o)
  if o.around then
    stage:split(loop, o.vector, "guard", "vector", "lane")
    loop = grid.fuse(stage, { "vector", table.unpack(o.around) })
    stage:split(loop, o.threads * o.unroll, "guard", "chunk", "in_chunk")
    stage:split("in_chunk", o.threads, "guard", "step", "thread")
    return
  end
  stage:split(loop, o.threads * o.vector * o.unroll, "guard", "chunk", "in_chunk")
  stage:split("in_chunk", o.threads * o.vector, "guard", "step", "in_step")
  stage:split("in_step", o.vector, "guard", "thread", "lane")
end

-- Has a thread hold the vectors that over_threads() gave it in registers.
function grid.in_registers(stage)
  stage:vectorize("lane"):unroll("step")
  stage:never_partition("chunk", "step", "lane")
end

-- Has every thread compute and keep a value of the row in its registers: no thread waits for another's.
function grid.each_thread(func, o)
  func:compute_at(o.at[1], o.at[2]):store_in "register"
end

return grid
