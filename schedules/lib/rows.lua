-- Schedules over rows of a matrix.

local rows = {}

-- Computes Funcs one after the other, each over all its rows: no fusion. What every
-- stage writes goes through memory, which is what a chain of library calls does.
--
--   for row: f(row); g(row) = f(row)
--     ->
--   parallel row: vectorized f(row)
--   parallel row: vectorized g(row) = f(row)
--
-- funcs    in any order        row     the loop made parallel
-- inner    the loop made SIMD, where a Func has it
function rows.materialise(funcs, o)
  for _, func in ipairs(funcs) do
    func:compute_root()
    func:parallel(o.row, o.task or 1, "guard")
    if o.inner then func:vectorize(o.inner, o.lanes, "guard") end
  end
end

return rows
