"""An independent reader of workbooks with charts, and what Excel insists on.

Reads the parts with zipfile and ElementTree only. `problems_of` returns everything that Excel would repair or refuse, and
every chart whose copies of values differ from the cells that it refers to.
"""
import posixpath
import re
import xml.etree.ElementTree as ElementTree
import zipfile

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
SPOT = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
CONTENT = "{http://schemas.openxmlformats.org/package/2006/content-types}"
PACKAGE = "{http://schemas.openxmlformats.org/package/2006/relationships}"

# Children in the order of the schema (ECMA-376 part 1, 18.3 and 21.2), as far as charts of bars may have them.
AXIS = ["axId", "scaling", "delete", "axPos", "majorGridlines", "minorGridlines", "title", "numFmt", "majorTickMark", "minorTickMark",
        "tickLblPos", "spPr", "txPr", "crossAx", "crosses"]
ORDER = {
    "chartSpace": ["date1904", "lang", "roundedCorners", "style", "clrMapOvr", "protection", "chart", "spPr", "txPr", "externalData",
                   "printSettings", "userShapes"],
    "chart": ["title", "autoTitleDeleted", "pivotFmts", "view3D", "floor", "sideWall", "backWall", "plotArea", "legend", "plotVisOnly",
              "dispBlanksAs"],
    "title": ["tx", "layout", "overlay", "spPr", "txPr"],
    "plotArea": ["layout", "barChart", "catAx", "valAx", "dTable", "spPr"],
    "manualLayout": ["layoutTarget", "xMode", "yMode", "wMode", "hMode", "x", "y", "w", "h"],
    "barChart": ["barDir", "grouping", "varyColors", "ser", "dLbls", "gapWidth", "overlap", "serLines", "axId"],
    "ser": ["idx", "order", "tx", "spPr", "invertIfNegative", "pictureOptions", "dPt", "dLbls", "trendline", "errBars", "cat", "val"],
    "dPt": ["idx", "invertIfNegative", "marker", "bubble3D", "explosion", "spPr"],
    "dLbls": ["dLbl", "delete", "numFmt", "spPr", "txPr", "dLblPos", "showLegendKey", "showVal", "showCatName", "showSerName",
              "showPercent", "showBubbleSize", "separator", "showLeaderLines"],
    "catAx": AXIS + ["auto", "lblAlgn", "lblOffset", "tickLblSkip", "tickMarkSkip", "noMultiLvlLbl"],
    "valAx": AXIS + ["crossBetween", "majorUnit", "minorUnit", "dispUnits"],
    "scaling": ["logBase", "orientation", "max", "min"],
    "legend": ["legendPos", "legendEntry", "layout", "overlay", "spPr", "txPr"],
    "numRef": ["f", "numCache"],
    "strRef": ["f", "strCache"],
    "numCache": ["formatCode", "ptCount", "pt"],
    "strCache": ["ptCount", "pt"],
    "worksheet": ["sheetPr", "dimension", "sheetViews", "sheetFormatPr", "cols", "sheetData", "autoFilter", "mergeCells", "pageMargins",
                  "pageSetup", "drawing"],
}
REPEATED = {"ser", "dPt", "pt", "axId", "legendEntry", "dLbl"}
TYPES = {"xl/charts/": "application/vnd.openxmlformats-officedocument.drawingml.chart+xml",
         "xl/drawings/": "application/vnd.openxmlformats-officedocument.drawing+xml"}


def name_of(element):
    return element.tag.rpartition("}")[2]


def unescape(text):
    """Excel's own escapes: _x001B_."""
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda m: chr(int(m[1], 16)), text)


def place_of(reference):
    """(row, column), from 1, of "$AB$12"."""
    letters, digits = re.fullmatch(r"\$?([A-Z]+)\$?(\d+)", reference).groups()
    column = 0
    for letter in letters:
        column = 26 * column + ord(letter) - ord("A") + 1
    return int(digits), column


class Chart:
    def __init__(self, root, anchor):
        self.root = root
        self.anchor = anchor  # (first row, first column, row after, column after), from 0
        self.title = "".join(t.text for t in root.find(f"{CHART}chart/{CHART}title").iter(f"{TEXT}t"))
        self.stacked = root.find(f".//{CHART}grouping").get("val") == "stacked"
        self.series = root.findall(f".//{CHART}ser")

    def names(self):
        return [series.find(f"{CHART}tx/{CHART}v").text for series in self.series]

    def values(self):
        """One list per series."""
        return [[float(v.text) for v in series.findall(f"{CHART}val//{CHART}pt/{CHART}v")] for series in self.series]

    def labels(self):
        """Of the first series."""
        return [unescape(v.text) for v in self.series[0].findall(f"{CHART}cat//{CHART}pt/{CHART}v")]

    def axis_titles(self):
        return ["".join(t.text for t in title.iter(f"{TEXT}t")) for title in self.root.findall(f".//{CHART}valAx/{CHART}title")]


class Workbook:
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path)
        self.parts = {name: self.zip.read(name) for name in self.zip.namelist()}
        self.roots = {name: ElementTree.fromstring(data) for name, data in self.parts.items()}
        relations = {r.get("Id"): r.get("Target") for r in self.roots["xl/_rels/workbook.xml.rels"]}
        self.sheets = {sheet.get("name"): "xl/" + relations[sheet.get(f"{RELATION}id")]
                       for sheet in self.roots["xl/workbook.xml"].iter(f"{MAIN}sheet")}
        self.cells = {name: self.read_cells(self.roots[part]) for name, part in self.sheets.items()}
        self.charts = self.read_charts()

    @staticmethod
    def read_cells(root):
        """{(row, column): value}, from 1."""
        cells = {}
        for cell in root.iter(f"{MAIN}c"):
            value = cell.find(f"{MAIN}v")
            if cell.get("t") == "inlineStr":
                cells[place_of(cell.get("r"))] = unescape("".join(t.text or "" for t in cell.iter(f"{MAIN}t")))
            elif value is not None:
                cells[place_of(cell.get("r"))] = float(value.text)
        return cells

    def relations_of(self, part):
        folder, name = posixpath.split(part)
        root = self.roots.get(f"{folder}/_rels/{name}.rels")
        return {} if root is None else {r.get("Id"): posixpath.normpath(posixpath.join(folder, r.get("Target"))) for r in root}

    def read_charts(self):
        charts = []
        for drawing in [part for part in self.parts if re.fullmatch(r"xl/drawings/\w+\.xml", part)]:
            relations = self.relations_of(drawing)
            for anchor in self.roots[drawing]:
                corner = [int(anchor.find(f"{SPOT}{end}/{SPOT}{axis}").text) for end in ("from", "to") for axis in ("row", "col")]
                charts.append(Chart(self.roots[relations[anchor.find(f".//{CHART}chart").get(f"{RELATION}id")]], corner))
        return charts

    def table(self, sheet, columns):
        """The rows below the header as tuples, up to the first that is empty in the first column. Empty text is None."""
        rows, row = [], 2
        while (row, 1) in self.cells[sheet]:
            values = [self.cells[sheet].get((row, column)) for column in range(1, columns + 1)]
            rows.append(tuple(None if value == "" else value for value in values))
            row += 1
        return rows

    def range_of(self, formula):
        """(sheet, [(row, column)]) of 'sheet'!$A$2:$A$9."""
        sheet, cells = re.fullmatch(r"'([^']+)'!(\$[A-Z]+\$\d+(?::\$[A-Z]+\$\d+)?)", formula).groups()
        first, _, last = cells.partition(":")
        (top, left), (bottom, right) = place_of(first), place_of(last or first)
        return sheet, [(row, column) for row in range(top, bottom + 1) for column in range(left, right + 1)]


# ---- what Excel insists on ----


def check_order(element, problems):
    order = ORDER.get(name_of(element))
    if order:
        names = [name_of(child) for child in element]
        unknown = [name for name in names if name not in order]
        if unknown or names != sorted(names, key=lambda name: order.index(name)):
            problems.append(f"order of {name_of(element)}: {names}")
        twice = {name for name in names if names.count(name) > 1} - REPEATED
        if twice:
            problems.append(f"{name_of(element)} has several {twice}")
    if not (element.tag.startswith(MAIN) and name_of(element) != "worksheet"):
        for child in element:
            check_order(child, problems)


def check_parts(book, problems):
    """Every part has a content type, every relationship a part."""
    types = {o.get("PartName").lstrip("/"): o.get("ContentType") for o in book.roots["[Content_Types].xml"].iter(f"{CONTENT}Override")}
    for part in book.parts:
        if part.endswith(".rels"):
            source = part.replace("_rels/", "").removesuffix(".rels")
            targets = [target for target in book.relations_of(source).values()] if part != "_rels/.rels" else ["xl/workbook.xml"]
            problems += [f"{part}: no part {target}" for target in targets if target not in book.parts]
        elif part != "[Content_Types].xml" and part not in types:
            problems.append(f"{part} has no content type")
        for folder, kind in TYPES.items():
            if part.startswith(folder) and not part.endswith(".rels") and types.get(part) != kind:
                problems.append(f"{part}: {types.get(part)}")
    problems += [f"content type of {part}, which is not there" for part in types if part not in book.parts]


def check_reference(book, chart, reference, problems):
    where = f"{chart.title}: {reference.find(f'{CHART}f').text}"
    sheet, places = book.range_of(reference.find(f"{CHART}f").text)
    cells = [book.cells.get(sheet, {}).get(place) for place in places]
    kind = "num" if name_of(reference) == "numRef" else "str"
    cache = reference.find(f"{CHART}{kind}Cache")
    if sheet not in book.cells or int(cache.find(f"{CHART}ptCount").get("val")) != len(places):
        problems.append(f"{where}: no such cells")
        return
    points = {int(pt.get("idx")): pt.find(f"{CHART}v").text for pt in cache.findall(f"{CHART}pt")}
    for index, cell in enumerate(cells):
        copy = points.get(index)
        if copy is not None:
            copy = float(copy) if kind == "num" else unescape(copy)
        expected = cell if kind == "str" or isinstance(cell, float) else None
        if copy != expected:
            problems.append(f"{where}: {copy!r:.80} instead of {expected!r:.80}")
    if not points:
        problems.append(f"{where}: a series without values")


def check_chart(book, chart, problems):
    check_order(chart.root, problems)
    indexes = [series.find(f"{CHART}idx").get("val") for series in chart.series]
    if not indexes or len(set(indexes)) != len(indexes):
        problems.append(f"{chart.title}: series {indexes}")
    for reference in [*chart.root.iter(f"{CHART}numRef"), *chart.root.iter(f"{CHART}strRef")]:
        check_reference(book, chart, reference, problems)
    axes = [axis.get("val") for axis in chart.root.findall(f".//{CHART}barChart/{CHART}axId")]
    declared = [axis.get("val") for name in ("catAx", "valAx") for axis in chart.root.findall(f".//{CHART}{name}/{CHART}axId")]
    if axes != declared or len(set(axes)) != 2:
        problems.append(f"{chart.title}: axes {axes}, {declared}")
    positions = {p.get("val") for p in chart.root.iter(f"{CHART}dLblPos")}
    if positions - ({"ctr", "inEnd", "inBase"} if chart.stacked else {"ctr", "inEnd", "inBase", "outEnd"}):
        problems.append(f"{chart.title}: labels at {positions}")
    top, left, bottom, right = chart.anchor
    if not (top < bottom and left < right):
        problems.append(f"{chart.title}: anchor {chart.anchor}")


def overlapping(rectangles):
    """Pairs of (top, left, bottom, right), ends exclusive, that overlap."""
    return [(a, b) for i, a in enumerate(rectangles) for b in rectangles[:i]
            if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]]


def check_sheet(name, root, problems):
    """Rows and cells in ascending order, merged cells apart from each other, all text as text."""
    check_order(root, problems)
    rows = [int(row.get("r")) for row in root.iter(f"{MAIN}row")]
    if rows != sorted(set(rows)):
        problems.append(f"{name}: rows {rows}")
    for row in root.iter(f"{MAIN}row"):
        places = [place_of(cell.get("r")) for cell in row]
        if places != sorted(set(places)) or any(place[0] != int(row.get("r")) for place in places):
            problems.append(f"{name}: cells of row {row.get('r')}: {places}")
    merged = []
    for cell in root.iter(f"{MAIN}mergeCell"):
        (top, left), (bottom, right) = map(place_of, cell.get("ref").split(":"))
        merged.append((top, left, bottom + 1, right + 1))
    problems += [f"{name}: merged cells {pair} overlap" for pair in overlapping(merged)]
    if root.find(f".//{MAIN}f") is not None:
        problems.append(f"{name} has a formula")


def problems_of(book):
    problems = []
    check_parts(book, problems)
    for name, part in book.sheets.items():
        check_sheet(name, book.roots[part], problems)
    for chart in book.charts:
        check_chart(book, chart, problems)
    problems += [f"charts {pair} overlap" for pair in overlapping([chart.anchor for chart in book.charts])]
    for part in book.parts:
        if re.fullmatch(r"xl/drawings/\w+\.xml", part):
            ids = [p.get("id") for p in book.roots[part].iter(f"{SPOT}cNvPr")]
            if len(set(ids)) != len(ids):
                problems.append(f"{part}: ids {ids}")
    return problems
