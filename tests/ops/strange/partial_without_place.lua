-- What rfactor made has threads, but no place: the line of rfactor says so.
-- refused: partial_without_place.lua:10: error: rfactor: gives sum_sq_partial loops over threads
return schedule "rms_norm" {
  target = "cuda",
  apply = function(k)
    k.y:gpu_tile({ "col" }, { 8 }, "guard")
    k.sum_sq:gpu_threads {"row"}
    k.sum_sq:update(0):gpu_threads {"row"}
    k.sum_sq:in_():compute_root()
    k.sum_sq:update(0):rfactor({ "col" }, { "lane" })
  end,
}
