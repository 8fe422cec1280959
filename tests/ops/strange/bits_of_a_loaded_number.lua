-- The bits of a number that is loaded from memory.
-- params: weights=nk
return schedule "splade" {
  target = "cuda",
  apply = function(k) k.y:gpu_blocks { "col" } end,
}
