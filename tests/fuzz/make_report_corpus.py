#!/usr/bin/env python3
"""Writes the seeds of the CSV and workbook fuzz targets: small, one feature each.

    python3 -m tests.fuzz.make_report_corpus        writes tests/fuzz/corpus/{csv,xlsx}/

The first byte of a workbook seed chooses what the rest is; see fuzz_xlsx.c.
"""
import io
import os
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def write(target, name, data):
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def archive(parts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, text in parts.items():
            z.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return out.getvalue()


SHEET = ('<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>n</t></is></c></row>'
         '<row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" t="b"><v>1</v></c><c r="C2"><v>1.5e-3</v></c></row></sheetData></worksheet>')
SHARED = "<sst><si><t>name</t></si><si><r><t>a_x000A_</t></r><r><t>b</t></r><rPh><t>no</t></rPh></si></sst>"
PARTS = {
    "xl/workbook.xml": '<workbook><sheets><sheet name="s" r:id="a"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<Relationships><Relationship Id="a" Target="/xl/worksheets/s.xml"/></Relationships>',
    "xl/worksheets/s.xml": SHEET,
    "xl/sharedStrings.xml": SHARED,
}

write("csv", "types", "i,f,b,t\n1,1.5,True,x\n-2,,False,nan\n")
write("csv", "samples", "time,GPU 0,GPU 1\n2025-01-31 12:00:00.5,100.5,N/A\n2025-01-31 12:00:01,99,3\nx,,1\n")
write("csv", "pivot_float", "i,c,v\n1,1.5,3\n1,2.5,\n2,1.5,4\n3,,4\n")
write("csv", "pivot_bool", "i,c,v\na,True,3\na,False,7\nb,True,4\n")
write("csv", "pivot_twice", "i,c,v\na,b,3\na,b,7\n")
write("csv", "quotes", '"a,b","c""d"\r\n"line\nbreak",inf\n')
write("csv", "odd", "\ufeffa,a,\n1\n\n2,3,4\r")
write("csv", "numbers", "v\n9223372036854775808\n5e-324\n+.5\n-Infinity\n")
write("xlsx", "archive", b"\0" + archive(PARTS))
write("xlsx", "sheet", "\1" + SHEET)
write("xlsx", "shared", "\2" + SHARED)
write("xlsx", "doctype", '\1<!DOCTYPE a [<!ENTITY e "e">]><a>&e;</a>')
