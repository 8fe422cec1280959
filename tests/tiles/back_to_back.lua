return schedule "back_to_back" {
  target = "cuda",
  generator = { block = tune { 64, 128, default = 64 } },
  params = {
    rows = tune { 16, 64, 128, default = 128 },
    k1   = tune { 64, 128, 256, default = 128 },
    n2   = tune { 64, 128, 256, default = 128 },
  },
  apply = function(k, p)
    k.a:dim(0):set_bounds(0, p.k1)
    k.b:dim(0):set_bounds(0, p.k1)
    k.y:dim(0):set_bounds(0, p.n2)
    k.c:dim(0):set_bounds(0, p.n2)
    k.y:split("row", p.rows, "guard", "strip", "in_strip")
    k.y:reorder("col", "in_strip", "strip"):gpu_blocks { "strip" }:never_partition_all()
    k.acc:compute_at(k.y, "strip"):store_in "register":bound_extent("col", p.n2):bound_extent("row", p.rows)
    k.acc:update(0):reorder("col", "row", "block"):never_partition_all()
    for _, func in ipairs { k.t, k.h, k.pv } do
      func:compute_at(k.acc, "block"):store_in "register":bound_extent("row", p.rows):bound_extent("kb", 1):never_partition_all()
    end
    for _, func in ipairs { k.t, k.h } do func:bound_extent("j", p.block) end
    k.pv:bound_extent("col", p.n2)
    for _, func in ipairs { k.t } do
      local sum = func:update(0)
      sum:reorder("k", "j", "row"):never_partition_all():mma():pipeline(2, 8, false)
    end
    k.pv:update(0):reorder("key", "col", "row"):never_partition_all():mma()
  end,
}
