#!/usr/bin/env python3
"""Writes regex_cases.txt: what CPython's re module (3.11 or later) returns for many expressions and texts.

    tests/compat/generate_regex_cases.py >tests/compat/regex_cases.txt

Each line is a JSON array: expression, text, and the outcome of re.search. The outcome is a list of the byte ranges of
all groups ([-1, -1] for a group that took no part), null for no match, or the message for an expression that Python
refuses (the text is then empty). test_python_regex.c compares our outcomes with these.
"""
import json
import re
import sys
import warnings

RANKS = ["rank12", "rank1/trace_rank7.json", "RANK3", "rank", "rank-5", "xrank007y", "node0_rank10_of_16.json", "r12",
         "trace.12.json", "rank１２", ""]
WORDS = ["abc", "aabbcc", "abcabc", "ABC", "aAbB", "the cat sat", "foo.bar(baz)", "x=1, y=22", "__init__", "a\nb\nc\n",
         "tab\there", "line\r\nend", "", " ", "aaa", "ab" * 6]
UNICODE = ["été", "naïve café", "Straße", "\u212a\u017f", "١٢٣", "½²³", "a\u0301b", "a\u200bb", "\u00a0x\u2003y\u3000",
           "\x1cx\x1f", "\u180e", "日本語テキスト", "😀 smile", "ǅ", "_\u203f_"]
KERNELS = ["void at::native::vectorized_elementwise_kernel<4, float>(int, float*)", "Cijk_Ailk_Bljk_BBS_BH_MT128x128x64",
           "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "triton_poi_fused_add_0", "__amd_rocclr_copyBuffer"]

TABLE = [
    (RANKS, [r"rank(\d|\d\d)", r"rank(\d+)", r"rank(\d+?)", r"rank(\d+?)$", r"rank(?P<rank>\d+)", r"(?i)rank(\d+)",
             r"rank[-_]?(\d+)", r"(?:rank|r)(\d+)", r"(\d+)\.json", r"(?<=rank)\d+", r"(?<!rank)\d+", r"rank(?!1)\d+",
             r"rank(?=\d)(.)", r".*rank(\d+)", r".*?rank(\d+)", r"(\d+)(?!.*\d)", r"\d{2,}", r"\d{,2}", r"\d{2}", r"\d{1,2}?",
             r"(?:rank(\d+)|(\d+)\.json)", r"rank0*(\d+)", r"(?a)rank(\d+)", r"rank([0-9]+)", r"rank_*(?P<rank>\d+)_of",
             r"(?P<a>rank)(?P<b>\d)", r"\brank", r"rank\b", r"[^/]*$", r"^.*/", r"(\d)(\d)?", r"(rank)?(\d+)"]),
    (WORDS, [r"a", r"a*", r"a+", r"a?", r"a*?", r"a+?", r"a??", r"(a)(b)?", r"(a)|(b)", r"(a|ab)(c|bcd)?", r"(a|ab)*", r"(ab)*",
             r"(a*)*", r"(a*)+", r"(a*?)*", r"(a|b*)*", r"()*", r"(?:)*b", r"^", r"$", r"^$", r"^b", r"(?m)^b", r"(?m)^", r"(?m)$",
             r"(?m)^$", r"c$", r"c\Z", r"\Aa", r"\n\Z", r"$\n", r".", r"..", r".*", r"(?s).*", r"(?s)b.c", r"b.c", r"[^\n]+",
             r"a{2}", r"a{,2}", r"a{2,}", r"a{,}", r"a{", r"a{}", r"a{x}", r"a{1,x}", r"a{0}", r"a{1}{", r"(ab){2,3}", r"(ab){2,3}?",
             r"(ab){2}+", r"a++b", r"a*+a", r"(?>a+)b", r"(?>a|ab)c", r"(a)(?(1)b|c)", r"(a)?(?(1)b|c)", r"(?P<q>a)?(?(q)b)",
             r"(a)?b(?(1)c)", r"(.)\1", r"(.)(.)\2\1", r"(?P<x>.)(?P=x)", r"(a)(?i:\1)", r"(?i)(a)\1", r"(?i)abc", r"(?i:a)b",
             r"(?i)a(?-i:b)", r"(?-i:a)", r"(?x) a b # comment", r"(?x)a\ b", r"(?x)[ ]", r"(?x) a + b", r"a(?#comment)b",
             r"a(?#comment)*", r"[abc]+", r"[^abc]+", r"[a-c]", r"[]a]", r"[^]a]", r"[a\]]", r"[-a]", r"[a-]", r"[\w.]+", r"[\d-]+",
             r"[\s]", r"[\S]+", r"[^\S]", r"[^\W]+", r"[\W]", r"[\D]+", r"[.]", r"[(]", r"[[a]", r"[a|b]", r"[\-]", r"[\^]", r"[\b]",
             r"\w+", r"\W+", r"\s+", r"\S+", r"\d+", r"\D+", r"\bcat\b", r"\Bb", r"b\B", r"\b", r"\B", r"(?=.*b)a", r"a(?=b)",
             r"a(?!b)", r"(?<=a)b", r"(?<!a)b", r"(?<=a|b)c", r"(?<=ab)c", r"(?<=(a))b", r"(?<=^)a", r"(?!)", r"(?=)",
             r"\.", r"\(", r"\)", r"\{", r"\/", r"\-", r"\ ", r"\#", r"\x61", r"\u0061", r"\U00000061", r"\141", r"\0", r"\n", r"\t",
             r"\r\n", r"[\x61-\x63]", r"[\141]", r"[\n]", r"a|b|", r"|a", r"(|a)+", r"(?:a|b)|c", r"a.c|b", r"x=(\d+).*y=(\d+)",
             r"(\w+)\((\w+)\)", r"__(\w+?)__", r"(\w)(\w)(\w)(\w)?(\w)?(\w)?(\w)?(\w)?(\w)?(\w)?(\w)?\2", r"(?s:.)b", r"(?m:^b)",
             r"(?s-i:.)", r"(?im)^B", r"(?i)(?m)^B", r"a(?:b(?:c))", r"((a)(b))", r"((a)|(b))+", r"(?:(a)|b)*", r"(?:(a)|(b))*\Z",
             r"(a(?=b))+", r"(?=(a))", r"(?=(a+?)b)\1", r"(?!(a))b", r"\Z", r"\A", r"\A\Z", r"(?:^a|b$)", r"^*"[:1] + "a",
             r"\v", r"[\v-\r]", r"a{ 1}", r"a{01}", r"a{1,2}{", r"(?x)a{1 }", r"(?x)[#a] # (", "(?x)a # [(\nb", r"(?x)a\#", r"[[:alpha:]]",
             r"[[.a.]b]*", r"(?P<R>a)(?(R)b|c)", r"(?P<DEFINE>a)?(?(DEFINE)b|c)", r"(?P<a>a)|(?(a)b|c)", r"(?im-s:A.B)", r"(?i-m:^B)"]),
    (UNICODE, [r"\w+", r"\W+", r"(?a)\w+", r"(?a)\W+", r"\d+", r"(?a)\d+", r"\s", r"\S+", r"(?a)\s", r"(?a)\S+", r".", r"..",
               r"[^a]", r"[\w]+", r"[\W]+", r"[^\w]+", r"[^\W]+", r"[\s]+", r"[^\s]+", r"[\S]+", r"[\d]+", r"[\D]+", r"(?a)[\w]+",
               r"(?a)[\W]+", r"(?a)[^\s]+", r"(?a)[\D]+", r"\b", r"\B", r"(?a)\b", r"(?a)\B", r"\b.\b", r"(?i)ÉTÉ", r"(?i)STRASSE",
               r"(?i)straße", r"(?i)ks", r"(?u)\w", r"é", r"[à-ÿ]+", r"\u00e9", r"[\u00e0-\u00ff]+", r"\U0001f600", r"😀",
               r"[😀-😂]", r"(?<=é)t", r"(?P<é>t)", r"日(.)", r"(?a:\w)\w", r"(?a)(?u:\w+)", r"\w\Z", r"^\s", r"x\s", r"(.)\1"]),
    (KERNELS, [r"elementwise", r"(?i)nccl.*reduce", r"^void\s+(\w+(?:::\w+)*)", r"<([^<>]*)>", r"MT(\d+)x(\d+)x(\d+)",
               r"^(?!void).*", r"^__", r"(?P<lib>nccl|rccl)DevKernel_(?P<op>[A-Z][a-z]+(?:[A-Z][a-z]+)?)", r"_(\d+)$", r"\((.*)\)$",
               r"(?:copy|fill)Buffer", r"fused_(\w+?)_", r"[A-Z]{3,}", r"(?<=_)[A-Z]+(?=_)", r"at::native::(?!vector)", r"f(?:32|64)"]),
    ([""], ["(", ")", "a)", "(a", "(?", "(?P", "(?P<", "(?P<a", "(?P<a>", "(?P<>a)", "(?P<1a>b)", "(?P<a b>c)", "(?P<a>b)(?P<a>c)",
            "(?P=", "(?P=a", "(?P=a)", "(?P>a)", "(?Pa)", "(?<a>b)", "(?<", "(?'a'b)", "(?|a)", "(?R)", "(?1)", "(?&a)", "(*ACCEPT)",
            "(*UTF8)a", "*", "+", "?", "{1}", "a**", "a*{2}", "a+*", "a???", "a{2}{3}", "a|*", "(*)", "^*", "$+", r"\b*", r"\A?", "(?i)*",
            "a{3,2}", "[", "[]", "[^]", "[a", "[a-", "[z-a]", r"[\d-a]", r"[a-\d]", r"[\q]", r"[\8]", r"[\777]", r"[\A]", r"[\Z]", r"[\B]",
            "\\", "[\\", r"\q", r"\K", r"\R", r"\X", r"\p{L}", r"\h", r"\G", r"\Q", r"\e", r"\c", r"\o", r"\g{1}", r"\k<a>", r"\x1",
            r"\xg1", r"\u12", r"\U0001", r"\U00110000", r"[\x1]", r"\1", r"(a)\2", r"(a\1)", r"(?P<a>b(?P=a))", r"\12", r"\400", r"\8",
            "(?#", "(?#a", "(?=", "(?=a", "(?<=a", "(?<=a*)b", "(?<=a+)b", "(?<=a|bc)d", "(?<!a?)b", r"(?<=(a)\1)b", "(?(", "(?(1",
            "(?(1)a)", "(?(a)b)", "(?(0)a)", "(a)(?(1)b|c|d)", "(?(1)a)(b)", "(?i", "(?i-", "(?i-)", "(?-i)", "(?-", "(?iz)", "(?z)", "(?L)",
            "(?a-a:b)", "(?-a:b)", "(?au:b)", "(?i-i:a)", "a(?i)b", "(?:(?i)b)", "b|(?i)c", "((?i)a)", "(?:a", "(?>a", "a(?#b",
            "(?<=(?:ab){2})c", "(?<=a{2,3})c", "(?<=a{2})c", "[[:alpha:]]", "(?C)", "(?^i)", "(?+1)", "\\u", "\\"]),
]


def outcome(pattern, text):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern)
    except re.error as error:
        return str(error)
    match = compiled.search(text)
    if not match:
        return None
    spans = [match.span(i) for i in range(compiled.groups + 1)]
    return [[len(text[:place].encode()) if place >= 0 else -1 for place in span] for span in spans]


def main():
    if sys.version_info < (3, 11):
        sys.exit("Python 3.11 or later is needed: earlier ones have no possessive quantifiers")
    seen = set()
    for texts, patterns in TABLE:
        for pattern in patterns:
            for text in texts:
                result = outcome(pattern, text)
                if isinstance(result, str):
                    text = ""
                if (pattern, text) not in seen:
                    seen.add((pattern, text))
                    print(json.dumps([pattern, text, result], ensure_ascii=False))


if __name__ == "__main__":
    main()
