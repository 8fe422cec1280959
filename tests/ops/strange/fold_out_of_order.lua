-- A fold whose rows come again for the next column: that was found when a part of the output had been written.
-- params: add_bias=true
-- shape: rows=4,cols=40
-- call: The folded storage dimension row of biased was accessed out of order by loop y.s0.row.ro.
return schedule "bias_activation" {
  target = "cpu",
  apply = function(k, p, target)
    k.y:split("row", 4, "shift_inwards", "ro", "ri")
    k.y:reorder("ri", "col", "ro")
    k.biased:store_root():compute_at(k.y, "ri"):fold_storage("row", 2)
  end,
}
