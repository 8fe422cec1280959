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

return attention
