"""What public models look like. Sizes are those of the configuration or paper that `source` names."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Transformer:
    name: str
    kind: str           # language, encoder, vision, speech or diffusion
    source: str         # a configuration on the Hugging Face hub, or a paper
    hidden: int
    heads: int
    key_heads: int
    head_dim: int
    ffn: int
    vocab: int = 0      # 0: no words come out
    norm: str = "rms"   # rms or layer
    activation: str = "silu"  # of the feed-forward block
    gated: bool = True  # SwiGLU, GeGLU
    bias: bool = False  # of the projections to q, k and v
    lengths: tuple = () # of its sequences, where they are fixed
    experts: int = 0
    top_k: int = 0
    window: int = 0
    alibi: bool = False
    keys: int = 0       # of its cross attention


@dataclasses.dataclass(frozen=True)
class Images:
    name: str
    source: str
    layers: tuple       # of (channels in a group, channels out of a group, kernel, stride, height and width, groups)
    normed: tuple = ()  # (channels, height and width) that are normalised
    groups: int = 0     # of its GroupNorm; 0: BatchNorm


def decoder(*fields, **more):
    return Transformer(fields[0], "language", *fields[1:], **more)


PLAIN = dict(norm="layer", activation="gelu_tanh", gated=False, bias=True)
BERT = dict(norm="layer", activation="gelu_erf", gated=False, bias=True)

TRANSFORMERS = (
    # Language. name, source, hidden, heads, key heads, head dim, feed-forward, vocabulary
    decoder("GPT-2", "openai-community/gpt2", 768, 12, 12, 64, 3072, 50257, **PLAIN),
    decoder("GPT-2 XL", "openai-community/gpt2-xl", 1600, 25, 25, 64, 6400, 50257, **PLAIN),
    decoder("OPT-1.3B", "facebook/opt-1.3b", 2048, 32, 32, 64, 8192, 50272, **{**PLAIN, "activation": "relu"}),
    decoder("Pythia-410M", "EleutherAI/pythia-410m", 1024, 16, 16, 64, 4096, 50304, **BERT),
    decoder("Pythia-1B", "EleutherAI/pythia-1b", 2048, 8, 8, 256, 8192, 50304, **BERT),
    decoder("BLOOM-560M", "bigscience/bloom-560m", 1024, 16, 16, 64, 4096, 250880, alibi=True, **PLAIN),
    decoder("Phi-2", "microsoft/phi-2", 2560, 32, 32, 80, 10240, 51200, **PLAIN),
    decoder("Falcon-7B", "tiiuae/falcon-7b", 4544, 71, 1, 64, 18176, 65024, **{**BERT, "bias": False}),
    decoder("StarCoder2-3B", "bigcode/starcoder2-3b", 3072, 24, 2, 128, 12288, 49152, window=4096, **PLAIN),
    decoder("TinyLlama-1.1B", "TinyLlama/TinyLlama-1.1B-Chat-v1.0", 2048, 32, 4, 64, 5632, 32000),
    decoder("Llama-2-7B", "meta-llama/Llama-2-7b-hf", 4096, 32, 32, 128, 11008, 32000),
    decoder("Llama-2-13B", "meta-llama/Llama-2-13b-hf", 5120, 40, 40, 128, 13824, 32000),
    decoder("Llama-3.1-8B", "meta-llama/Llama-3.1-8B", 4096, 32, 8, 128, 14336, 128256),
    decoder("Llama-3.1-70B", "meta-llama/Llama-3.1-70B", 8192, 64, 8, 128, 28672, 128256),
    decoder("Llama-3.2-1B", "meta-llama/Llama-3.2-1B", 2048, 32, 8, 64, 8192, 128256),
    decoder("Llama-3.2-3B", "meta-llama/Llama-3.2-3B", 3072, 24, 8, 128, 8192, 128256),
    decoder("Mistral-7B", "mistralai/Mistral-7B-v0.1", 4096, 32, 8, 128, 14336, 32000, window=4096),
    decoder("Mistral-Nemo-12B", "mistralai/Mistral-Nemo-Base-2407", 5120, 32, 8, 128, 14336, 131072),
    decoder("Mixtral-8x7B", "mistralai/Mixtral-8x7B-v0.1", 4096, 32, 8, 128, 14336, 32000, experts=8, top_k=2),
    decoder("Qwen2-0.5B", "Qwen/Qwen2-0.5B", 896, 14, 2, 64, 4864, 151936, bias=True),
    decoder("Qwen2.5-1.5B", "Qwen/Qwen2.5-1.5B", 1536, 12, 2, 128, 8960, 151936, bias=True),
    decoder("Qwen2.5-7B", "Qwen/Qwen2.5-7B", 3584, 28, 4, 128, 18944, 152064, bias=True),
    decoder("Qwen3-0.6B", "Qwen/Qwen3-0.6B", 1024, 16, 8, 128, 3072, 151936),
    decoder("Qwen3-8B", "Qwen/Qwen3-8B", 4096, 32, 8, 128, 12288, 151936),
    decoder("Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B", 2048, 32, 4, 128, 768, 151936, experts=128, top_k=8),
    decoder("DeepSeek-V3", "deepseek-ai/DeepSeek-V3", 7168, 128, 128, 128, 2048, 129280, experts=256, top_k=8),
    decoder("gpt-oss-20b", "openai/gpt-oss-20b", 2880, 64, 8, 64, 2880, 201088, bias=True, experts=32, top_k=4, window=128),
    decoder("OLMoE-1B-7B", "allenai/OLMoE-1B-7B-0924", 2048, 16, 16, 128, 1024, 50304, experts=64, top_k=8),
    decoder("Gemma-2B", "google/gemma-2b", 2048, 8, 1, 256, 16384, 256000, activation="gelu_tanh"),
    decoder("Gemma-2-9B", "google/gemma-2-9b", 3584, 16, 8, 256, 14336, 256000, activation="gelu_tanh", window=4096),
    decoder("Gemma-3-1B", "google/gemma-3-1b-pt", 1152, 4, 1, 256, 6912, 262144, activation="gelu_tanh", window=512),
    decoder("Gemma-3-27B", "google/gemma-3-27b-pt", 5376, 32, 16, 128, 21504, 262208, activation="gelu_tanh", window=1024),
    decoder("Phi-3-mini", "microsoft/Phi-3-mini-4k-instruct", 3072, 32, 32, 96, 8192, 32064, window=2047),
    decoder("SmolLM2-135M", "HuggingFaceTB/SmolLM2-135M", 576, 9, 3, 64, 1536, 49152),
    decoder("StableLM-2-1.6B", "stabilityai/stablelm-2-1_6b", 2048, 32, 32, 64, 5632, 100352, norm="layer", bias=True),
    decoder("OLMo-2-7B", "allenai/OLMo-2-1124-7B", 4096, 32, 32, 128, 11008, 100352),
    decoder("Granite-3.1-8B", "ibm-granite/granite-3.1-8b-base", 4096, 32, 8, 128, 12800, 49155),
    decoder("MiniCPM-2B", "openbmb/MiniCPM-2B-sft-bf16", 2304, 36, 36, 64, 5760, 122753),
    decoder("Yi-6B", "01-ai/Yi-6B", 4096, 32, 4, 128, 11008, 64000),
    # Encoders: embeddings, ranking, translation.
    Transformer("BERT-base", "encoder", "google-bert/bert-base-uncased", 768, 12, 12, 64, 3072, 30522, **BERT),
    Transformer("BERT-large", "encoder", "google-bert/bert-large-uncased", 1024, 16, 16, 64, 4096, 30522, **BERT),
    Transformer("XLM-R-base", "encoder", "FacebookAI/xlm-roberta-base", 768, 12, 12, 64, 3072, 250002, **BERT),
    Transformer("BGE-M3", "encoder", "BAAI/bge-m3", 1024, 16, 16, 64, 4096, 250002, **BERT),
    Transformer("all-MiniLM-L6-v2", "encoder", "sentence-transformers/all-MiniLM-L6-v2", 384, 12, 12, 32, 1536, 30522, **BERT),
    Transformer("ModernBERT-base", "encoder", "answerdotai/ModernBERT-base", 768, 12, 12, 64, 1152, 50368, norm="layer",
                activation="gelu_erf", window=64),
    Transformer("nomic-embed-text", "encoder", "nomic-ai/nomic-embed-text-v1.5", 768, 12, 12, 64, 3072, 30528, norm="layer"),
    Transformer("T5-base", "encoder", "google-t5/t5-base", 768, 12, 12, 64, 3072, 32128, activation="relu", gated=False),
    Transformer("Flan-T5-large", "encoder", "google/flan-t5-large", 1024, 16, 16, 64, 2816, 32128, activation="gelu_tanh"),
    Transformer("CLIP text", "encoder", "openai/clip-vit-large-patch14", 768, 12, 12, 64, 3072, 49408, lengths=(77,), **BERT),
    # Vision. A class token makes lengths odd.
    Transformer("DeiT-tiny", "vision", "arXiv 2012.12877", 192, 3, 3, 64, 768, 1000, lengths=(197, 198), **BERT),
    Transformer("ViT-B/16", "vision", "arXiv 2010.11929", 768, 12, 12, 64, 3072, 1000, lengths=(197, 577), **BERT),
    Transformer("CLIP ViT-L/14", "vision", "openai/clip-vit-large-patch14-336", 1024, 16, 16, 64, 4096, lengths=(257, 577), **BERT),
    Transformer("ViT-H/14", "vision", "laion/CLIP-ViT-H-14-laion2B-s32B-b79K", 1280, 16, 16, 80, 5120, lengths=(257,), **BERT),
    Transformer("SigLIP so400m", "vision", "google/siglip-so400m-patch14-384", 1152, 16, 16, 72, 4304, lengths=(729,), **PLAIN),
    Transformer("DINOv2-S", "vision", "arXiv 2304.07193", 384, 6, 6, 64, 1536, lengths=(257, 1370), **BERT),
    Transformer("DINOv2-g", "vision", "arXiv 2304.07193", 1536, 24, 24, 64, 4096, norm="layer", bias=True, lengths=(257, 1370)),
    Transformer("Swin-T", "vision", "arXiv 2103.14030", 96, 3, 3, 32, 384, 1000, lengths=(49,), **BERT),
    Transformer("SAM ViT-H", "vision", "arXiv 2304.02643", 1280, 16, 16, 80, 5120, lengths=(196, 4096), **BERT),
    # Speech.
    Transformer("Whisper-tiny", "speech", "openai/whisper-tiny", 384, 6, 6, 64, 1536, 51865, lengths=(1500, 448), **BERT),
    Transformer("Whisper-large-v3", "speech", "openai/whisper-large-v3", 1280, 20, 20, 64, 5120, 51866, lengths=(1500, 448), **BERT),
    Transformer("wav2vec2-base", "speech", "facebook/wav2vec2-base-960h", 768, 12, 12, 64, 3072, 32, lengths=(249, 499, 999), **BERT),
    Transformer("HuBERT-large", "speech", "facebook/hubert-large-ls960-ft", 1024, 16, 16, 64, 4096, 32, lengths=(249, 749), **BERT),
    Transformer("Parakeet-CTC-1.1B", "speech", "nvidia/parakeet-ctc-1.1b", 1024, 8, 8, 128, 4096, 1025, norm="layer", gated=False,
                lengths=(125, 375), bias=True),
    # Diffusion.
    Transformer("Stable Diffusion 1.5, 64 x 64", "diffusion", "stable-diffusion-v1-5 unet", 320, 8, 8, 40, 1280, norm="layer",
                activation="gelu_erf", lengths=(4096,), keys=77),
    Transformer("Stable Diffusion 1.5, 32 x 32", "diffusion", "stable-diffusion-v1-5 unet", 640, 8, 8, 80, 2560, norm="layer",
                activation="gelu_erf", lengths=(1024,), keys=77),
    Transformer("SDXL, 64 x 64", "diffusion", "arXiv 2307.01952", 640, 10, 10, 64, 2560, norm="layer", activation="gelu_erf",
                lengths=(4096,), keys=77),
    Transformer("SDXL, 32 x 32", "diffusion", "arXiv 2307.01952", 1280, 20, 20, 64, 5120, norm="layer", activation="gelu_erf",
                lengths=(1024,), keys=77),
    Transformer("SD3 medium", "diffusion", "stabilityai/stable-diffusion-3-medium", 1536, 24, 24, 64, 6144, lengths=(4096 + 333, 1024 + 154), **PLAIN),
    Transformer("FLUX.1", "diffusion", "black-forest-labs/FLUX.1-dev", 3072, 24, 24, 128, 12288, lengths=(4096 + 512, 1024 + 512), **PLAIN),
    Transformer("DiT-XL/2", "diffusion", "arXiv 2212.09748", 1152, 16, 16, 72, 4608, lengths=(256, 1024), **PLAIN),
    Transformer("PixArt-alpha", "diffusion", "arXiv 2310.00426", 1152, 16, 16, 72, 4608, lengths=(1024, 4096), keys=120, **PLAIN),
    Transformer("Wan2.1-1.3B", "diffusion", "Wan-AI/Wan2.1-T2V-1.3B", 1536, 12, 12, 128, 8960, lengths=(32760, 8190), keys=512, **PLAIN),
)

CONVOLUTIONAL = (
    Images("ResNet-18", "arXiv 1512.03385",
           ((3, 64, 7, 2, 224, 1), (64, 64, 3, 1, 56, 1), (64, 128, 3, 2, 56, 1), (128, 128, 3, 1, 28, 1), (256, 256, 3, 1, 14, 1),
            (512, 512, 3, 1, 7, 1)), ((64, 112), (64, 56), (128, 28), (256, 14), (512, 7))),
    Images("ResNet-50", "arXiv 1512.03385",
           ((3, 64, 7, 2, 224, 1), (64, 64, 1, 1, 56, 1), (64, 256, 1, 1, 56, 1), (256, 128, 1, 1, 56, 1), (128, 128, 3, 2, 56, 1),
            (256, 512, 1, 2, 56, 1), (512, 2048, 1, 1, 7, 1), (256, 1024, 1, 1, 14, 1), (512, 512, 3, 1, 7, 1)),
           ((64, 112), (256, 56), (512, 28), (1024, 14), (2048, 7))),
    Images("ResNeXt-50 32x4d", "arXiv 1611.05431", ((4, 4, 3, 1, 56, 32), (8, 8, 3, 1, 28, 32), (16, 16, 3, 1, 14, 32)), ((128, 56), (256, 28))),
    Images("VGG-16", "arXiv 1409.1556", ((3, 64, 3, 1, 224, 1), (64, 128, 3, 1, 112, 1), (256, 256, 3, 1, 56, 1), (512, 512, 3, 1, 28, 1))),
    Images("MobileNetV2", "arXiv 1801.04381",
           ((3, 32, 3, 2, 224, 1), (32, 16, 1, 1, 112, 1), (96, 24, 1, 1, 56, 1), (144, 32, 1, 1, 28, 1), (960, 320, 1, 1, 7, 1),
            (1, 1, 3, 1, 112, 32), (1, 1, 3, 2, 112, 96), (1, 1, 3, 1, 56, 144), (1, 1, 3, 1, 14, 384), (1, 1, 3, 1, 7, 960)),
           ((32, 112), (96, 56), (144, 56), (960, 7))),
    Images("MobileNetV3-large", "arXiv 1905.02244",
           ((16, 64, 1, 1, 112, 1), (24, 72, 1, 1, 56, 1), (80, 200, 1, 1, 14, 1), (160, 960, 1, 1, 7, 1), (1, 1, 3, 2, 112, 64),
            (1, 1, 5, 2, 56, 72), (1, 1, 5, 1, 28, 120), (1, 1, 3, 1, 14, 184), (1, 1, 5, 1, 7, 960)), ((64, 112), (72, 56), (960, 7))),
    Images("EfficientNet-B0", "arXiv 1905.11946",
           ((32, 16, 1, 1, 112, 1), (40, 240, 1, 1, 28, 1), (112, 672, 1, 1, 14, 1), (1, 1, 3, 1, 112, 32), (1, 1, 5, 2, 56, 144),
            (1, 1, 5, 1, 28, 240), (1, 1, 5, 1, 14, 672), (1, 1, 5, 1, 7, 1152)), ((240, 28), (672, 14), (1152, 7))),
    Images("ConvNeXt-T", "arXiv 2201.03545",
           ((3, 96, 4, 4, 224, 1), (96, 192, 2, 2, 56, 1), (1, 1, 7, 1, 56, 96), (1, 1, 7, 1, 28, 192), (1, 1, 7, 1, 14, 384), (1, 1, 7, 1, 7, 768))),
    Images("DenseNet-121", "arXiv 1608.06993", ((128, 32, 3, 1, 56, 1), (256, 128, 1, 1, 28, 1), (128, 32, 3, 1, 14, 1)), ((256, 56), (512, 28), (1024, 14))),
    Images("YOLOv8n", "ultralytics yolov8n.yaml",
           ((3, 16, 3, 2, 640, 1), (16, 32, 3, 2, 320, 1), (32, 64, 3, 2, 160, 1), (64, 64, 3, 1, 40, 1), (128, 128, 3, 1, 20, 1), (384, 128, 1, 1, 40, 1)),
           ((16, 320), (32, 160), (64, 80), (128, 40))),
    Images("U-Net", "arXiv 1505.04597", ((64, 64, 3, 1, 256, 1), (128, 256, 3, 1, 64, 1), (512, 512, 3, 1, 32, 1))),
    Images("Swin-T patches", "arXiv 2103.14030", ((3, 96, 4, 4, 224, 1),)),
    Images("ViT-B/16 patches", "arXiv 2010.11929", ((3, 768, 16, 16, 224, 1), (3, 768, 16, 16, 384, 1))),
    Images("Stable Diffusion 1.5 UNet", "stable-diffusion-v1-5 unet",
           ((4, 320, 3, 1, 64, 1), (320, 320, 3, 1, 64, 1), (320, 640, 3, 1, 32, 1), (640, 640, 3, 1, 32, 1), (1280, 1280, 3, 1, 16, 1),
            (1280, 1280, 3, 1, 8, 1), (320, 320, 3, 2, 64, 1), (640, 640, 1, 1, 32, 1)),
           ((320, 64), (640, 32), (640, 64), (960, 64), (1280, 16), (1280, 8), (2560, 8), (1920, 32)), groups=32),
    Images("SDXL UNet", "arXiv 2307.01952", ((320, 320, 3, 1, 128, 1), (640, 640, 3, 1, 64, 1), (1280, 1280, 3, 1, 32, 1)),
           ((320, 128), (640, 64), (1280, 32), (1920, 32), (2560, 32)), groups=32),
    Images("Stable Diffusion VAE", "stabilityai/sd-vae-ft-mse",
           ((512, 512, 3, 1, 64, 1), (512, 256, 3, 1, 256, 1), (128, 128, 3, 1, 512, 1), (128, 3, 3, 1, 512, 1)),
           ((512, 64), (512, 128), (256, 256), (128, 512)), groups=32),
)

# Kinds by use.
DECODERS = tuple(a for a in TRANSFORMERS if a.kind == "language")
WITH_WORDS = tuple(a for a in TRANSFORMERS if a.vocab > 1100)
GATED = tuple(a for a in TRANSFORMERS if a.gated)
ROUTED = tuple(a for a in TRANSFORMERS if a.experts)
