-- The statistics of a norm whose factor is applied after a product.

local norm = {}

-- Computes 1 / rms of every row before the product: one float a row, from a read of x that leaves it
-- in cache.
--
--   for row: for col: y = acc / sqrt(mean(x^2))
--     ->
--   parallel row: inv_rms
--   for row: for col: y = acc * inv_rms
function norm.statistics(k, lanes)
  k.inv_rms:compute_root():parallel("row", 8, "guard")
  k.sum_sq:compute_at(k.inv_rms, "row"):update(0):atomic():vectorize("k", 4 * lanes, "guard")
end

return norm
