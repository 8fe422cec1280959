-- expect: 3: error: gpu_blocks: "nvidia" is no device; there are "default_gpu", "host", "cuda", "opencl", "metal", "hexagon", "hexagon_dma", "d3d12compute", "vulkan", "webgpu"
-- expect+   usage: gpu_blocks(loops, device?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:gpu_blocks("row", "nvidia")
  end,
}
