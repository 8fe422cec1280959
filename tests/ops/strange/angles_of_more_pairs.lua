-- More pairs than the tables have: they were read.
-- shape: tokens=3,heads=2,d=32,width=32,length=4
-- call: beyond the max
return schedule "rope" {
  target = "cpu",
  apply = function(k)
    k.angle_turn:compute_root():align_bounds("block", 4096)
  end,
}
