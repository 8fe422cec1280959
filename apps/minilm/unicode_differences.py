#!/usr/bin/env python3
"""Writes unicode_differences.inc: where Debian 12's utf8proc (Unicode 15) and the
tables inside Hugging Face `tokenizers` (Unicode 8 to 17, by table) disagree.

Needs `pip install tokenizers==0.23.3` and libutf8proc. Run it as
    python3 unicode_differences.py > unicode_differences.inc
when either of the two is renewed.
"""
import ctypes

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

utf8proc = ctypes.CDLL("libutf8proc.so.2")
utf8proc.utf8proc_category_string.restype = ctypes.c_char_p
utf8proc.utf8proc_get_property.restype = ctypes.POINTER(ctypes.c_int16)


def normalizer(**on):
    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    return BertNormalizer(**{name: name in on for name in names})


clean = normalizer(clean_text=True).normalize_str
strip = normalizer(strip_accents=True).normalize_str
lower = normalizer(lowercase=True).normalize_str
split = BertPreTokenizer().pre_tokenize_str

code_points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
category = {c: utf8proc.utf8proc_category_string(c).decode() for c in code_points}


def decompose(c):
    buffer, boundary = (ctypes.c_int32 * 32)(), ctypes.c_int(0)
    count = utf8proc.utf8proc_decompose_char(c, buffer, 32, 1 << 4, ctypes.byref(boundary))
    return list(buffer[:count])


def combining_class(c):
    return utf8proc.utf8proc_get_property(c)[1]


def is_punctuation(c):
    return chr(c).isascii() and chr(c).isprintable() and not chr(c).isalnum() and c != 32 \
        or category[c].startswith("P")


def reorders(c):
    """Whether `tokenizers` knows that c has a combining class other than 0.
    The partners are spacing marks, so that they survive the stripping: U+1B44
    (class 9) goes before a higher class, U+302E (class 224) behind a lower one."""
    return strip(chr(c) + "\u1b44") != chr(c) + "\u1b44" \
        or strip("\u302e" + chr(c)) != "\u302e" + chr(c)


def report(name, why, members):
    ranges = []
    for c in members:
        if ranges and ranges[-1][1] == c - 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    print(f"\n// {why}\nconstexpr CodePointRange {name}[] = {{")
    cells = [f"{{0x{a:X}, 0x{b:X}}}," for a, b in ranges]
    for i in range(0, len(cells), 4):
        print("    " + " ".join(cells[i:i + 4]))
    print("};")


print("// Written by unicode_differences.py; do not edit.")
report("kept_controls", "Category Cf here, yet clean_text keeps them.",
       [c for c in code_points if category[c] in ("Cc", "Cf", "Co") and c not in (0, 9, 10, 13)
        and clean(chr(c))])
report("kept_marks", "Category Mn here, yet strip_accents keeps them.",
       [c for c in code_points if category[c] == "Mn" and decompose(c) == [c] and strip(chr(c))])
report("stripped_others", "Not category Mn here, yet strip_accents drops them.",
       [c for c in code_points if category[c] != "Mn" and decompose(c) == [c]
        and not strip(chr(c))])
report("kept_composed", "Has a canonical decomposition here only.",
       [c for c in code_points if decompose(c) != [c] and strip(chr(c)) == chr(c)])
report("kept_in_place", "Kept by strip_accents, and has a combining class here only.",
       [c for c in code_points if combining_class(c) and strip(chr(c)) == chr(c)
        and not reorders(c)])
report("not_punctuation", "Category P here only.",
       [c for c in code_points if is_punctuation(c) and len(split(f"a{chr(c)}b")) != 3])
report("also_punctuation", "Category P in `tokenizers` only.",
       [c for c in code_points if not is_punctuation(c) and len(split(f"a{chr(c)}b")) == 3])

print("\n// Another lower case, or one that is known in `tokenizers` only.")
print("constexpr CodePointPair lowercase_differences[] = {")
for c in code_points:
    if len(lower(chr(c))) == 1 and ord(lower(chr(c))) != utf8proc.utf8proc_tolower(c):
        print(f"    {{0x{c:X}, 0x{ord(lower(chr(c))):X}}},")
print("};")
