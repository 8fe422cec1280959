-- What the schedules of attention share.

local attention = {}

-- Makes the head dimension a constant, so that loops over it have a known length.
--
--   for d in 0..q.extent[0]
--     ->
--   for d in 0..head_dim        -- checked when the library is called
--
-- k         the Funcs of the generator        head_dim    0 leaves it a run-time value
function attention.fix_head_dim(k, head_dim)
  if head_dim > 0 then
    for _, buffer in ipairs { k.q, k.k, k.v, k.out } do
      buffer:dim(0):set_bounds(0, head_dim)
    end
  end
end

-- Orders the loops of a product for sums in registers, in pairs where one instruction multiplies and adds them.
--
--   for i, j: for r: acc += a * b
--     ->
--   for pair of r: for j, i: acc += a * b + a' * b'
--
-- update    the update that sums        inner    the loops of a tile, innermost first
-- over      the loop of the sum         around   loops around that        dot    in pairs
function attention.multiply(update, o)
  local i, j = table.unpack(o.inner)
  local around = o.around or {}
  if not o.dot then return update:reorder(i, j, o.over, table.unpack(around)) end
  local pairs, member = update:split(o.over, 2, "guard", "pairs", "member")
  return update:reorder(member, i, j, pairs, table.unpack(around)):atomic():vectorize(member)
end

-- Turns what lies in memory by rows, one a query, so that queries are in the lanes: 8 by 8 in registers.
--
--   for j: for i: use of func(j, i)
--     ->
--   for tile of j: for tile of i
--     for i: rows in registers = func(j..., i)
--     for j: turned(i..., j) = columns of the rows
--   for j: for i: use of turned(i, j)
--
-- func      a Func over `col` and "i", 8 or a multiple of it each, and over `others`
-- reader    who uses it      size    of `col`, all of which are read
-- Returns the turned Func, for compute_at.
function attention.turn(func, reader, col, size, others)
  local turned = func:in_(reader)
  turned:reorder_storage("i", col, table.unpack(others)):bound(col, 0, size)
  local cols, line = turned:split(col, 8, "auto", "cols", "line")
  local rows, lane = turned:split("i", 8, "auto", "rows", "lane")
  turned:reorder(lane, line, cols, rows):vectorize(lane):unroll(line)
  func:compute_at(turned, "cols"):store_in "stack":bound_extent(col, 8):bound_extent("i", 8):reorder(col, "i"):vectorize(col, 8):unroll "i"
  return turned
end

return attention
