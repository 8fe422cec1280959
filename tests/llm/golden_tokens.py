#!/usr/bin/env python3
"""Writes golden_tokens.inc: what Hugging Face `tokenizers` makes of hard texts with the vocabulary of SmolLM2.

    pip install tokenizers==0.23.3 numpy
    python3 golden_tokens.py .halyard/smollm2.gguf > golden_tokens.inc
"""

import sys

from gguf_file import read
from tokenizers import Tokenizer, models, pre_tokenizers

TEXTS = [
    "Hello, world!", "I'm 25 years old; you'll see 3.14159 and 1,000,000.", "  leading and   trailing  ", "tabs\tand\nnew\n\n  lines \r\n",
    "Grüße aus Köln, naïve café", "日本語のテキスト 漢字", "👩\u200d👩\u200d👧 emoji 🚀🚀", "don't DON'T I'VE we're o'clock",
    "x = foo(bar[1], 2)  # comment\n    return x\n", "ß e\u0301 Å", "١٢٣ Ⅷ ½ ²", "a'b 's '' 'll'", "   ", "\n\n\n", "... !!! ???", "中文 abc 123def456 ",
    "a\u00a0b\u2003c\u3000d", " \u00a0 x", " 1 2  3   4", "supercalifragilisticexpialidocious", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "Привет, мир! שלום नमस्ते ไทย 한국어", "The quick brown fox jumps over the lazy dog.", "https://example.org/a?b=c&d=%20#e",
    "#include <stdio.h>\nint main(void) { return 0; }\n", "E = mc^2 \u2260 \u221e", "\ufeffBOM zero\u200bwidth",
]

keys, _ = read(sys.argv[1], with_tensors=False)
tokens = [t.decode() for t in keys["tokenizer.ggml.tokens"]]
merges = [tuple(m.decode().split(" ")) for m in keys["tokenizer.ggml.merges"]]
model = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
model.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
print("// Written by golden_tokens.py; do not edit.")
for text in TEXTS:
    # Octal escapes end after three digits; hex ones would swallow what follows.
    literal = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode())
    print(f'{{"{literal}",\n {{{", ".join(map(str, model.encode(text).ids))}}}}},')
