#!/usr/bin/env python3
"""Writes golden_tokens.inc: what Hugging Face `tokenizers` makes of hard texts.

    pip install tokenizers==0.23.3
    python3 golden_tokens.py MODEL_DIRECTORY > golden_tokens.inc
"""
import sys

from tokenizers import Tokenizer

TEXTS = [
    b"", b"   \t ", b"The cat sits outside.", b"don't can't U.S.A. $3.50 a_b e-mail @x #y",
    b"unaffable supercalifragilisticexpialidocious",
    "İstanbul'da ĞÜNEŞ, naïve café, Ångström".encode(),
    "ǅ ß ẞ ΣΑΣ Ά ᾳ".encode(),
    "e\u0301 o\u0308\u0323 q\u0307\u0323 \u1e9b\u0323".encode(),
    "日本語テキスト 漢字かな交じり文 \u30ac\u30ab\u3099".encode(),
    "한국어 \u1112\u1161\u11ab \ud55c".encode(),
    "\U00020000\U0002f800\uf900 \u3400 \U0002b820".encode(),
    "नमस्ते दुनिया ไทยภาษา".encode(), "مرحبا بالعالم שָׁלוֹם".encode(), "Привет, мир! Ёлка й".encode(),
    "👩\u200d👩\u200d👧 🫠 🇩🇪 ❤\ufe0f".encode(), "ﬁ ﬃ ① ½ ™ ＦＵＬＬ　ｗｉｄｔｈ，。".encode(),
    "«quote» „x“ – — … ‹›¿¡".encode(), "\ufeffBOM soft\u00adhyphen zero\u200bwidth\u2060x".encode(),
    b"\x00nul\x01\x7f bell\x07\x0bvt\x0cff", "a\u0085b\u00a0c\u2028d\u3000e\u1680f".encode(),
    "\u166d a\U000111c9b a\u2e43b \u0890c \u08e2d".encode(),
    "\u1734x \U00011938 a\u1ac1\u302e \u1c89".encode(),
    "\u302e\u1b44 \u1b44\u302e \U0001d165\U0001d16d".encode(),
    b"[CLS] a [SEP][MASK]b [UNK] [PAD] [cls] [CL [[SEP]] ##ing",
    b"a" * 100, b"a" * 101, ("é" * 100).encode(), ("é" * 101).encode(), ("e\u0301" * 100).encode(),
    b"bad \xff\xfe utf8 \xc3\x28 \xe2\x82 \xf0\x9f\x98", b"\xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80x",
    b"caf\xe9 latin1 \xe2\x28\xa1", b"\xf0\x80\x80\x41",
]

model = Tokenizer.from_file(sys.argv[1] + "/tokenizer.json")
model.no_padding()
model.no_truncation()
print("// Written by golden_tokens.py; do not edit.")
for text in TEXTS:
    # Octal escapes end after three digits; hex ones would swallow what follows.
    literal = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}"
                      for b in text)
    ids = model.encode(text.decode(errors="replace")).ids
    print(f'{{std::string("{literal}", {len(text)}),\n {{{", ".join(map(str, ids))}}}}},')
