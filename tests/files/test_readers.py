"""Files, good and bad: every message says where the fault is."""

import gzip
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris

from polymargin.auto.tables import ColumnEncoder
from polymargin.files.readers import ReadError, read

GOOD = "a,b,color,y\n1,2.5,red,one\n,3,blue,two\n4,?,red,one\n"


@pytest.fixture
def write(tmp_path):
    def to(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return to


def test_csv(write):
    X, y = read(write(GOOD), "y")
    assert list(X.columns) == ["a", "b", "color"]
    np.testing.assert_array_equal(y, ["one", "two", "one"])
    assert X["a"].isna().tolist() == [False, True, False]
    assert X["b"].isna().tolist() == [False, False, True]
    assert X["color"].tolist() == ["red", "blue", "red"]
    assert read(write(GOOD)).y is None


@pytest.mark.parametrize("name", ["data.tsv", "data.txt", "data.csv"])
@pytest.mark.parametrize("separator", "\t;|")
def test_other_separators(write, name, separator):
    X, y = read(write(GOOD.replace(",", separator), name), "y")
    assert X.shape == (3, 3)


def test_compressed_and_byte_order_mark(write, tmp_path):
    path = tmp_path / "data.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"\xef\xbb\xbf" + GOOD.encode())
    X, y = read(path, "y")
    assert X.columns[0] == "a"


def test_quotes_and_blank_lines(write):
    X, y = read(write('a,y\n"1","x, y"\n\n2,"two\nlines"\n'), "y")
    assert y.tolist() == ["x, y", "two\nlines"]
    assert X["a"].tolist() == [1, 2]


def test_row_numbers_decimal_commas_and_dates(write):
    """As a spreadsheet or pandas writes a table: without a name for the row numbers."""
    text = "\ufeff;size;day;at;word;y\n0;1,5;2021-04-28;2021-04-28 10:30;1,5 m;1.0\n"
    text += "1;;2021-04-29;;2,0 m;2.0\n2;-3;;;x;1.0\n"
    with pytest.warns(UserWarning, match="first column has no name"):
        X, y = read(write(text), "y")
    assert list(X.columns) == ["size", "day", "at", "word"]
    np.testing.assert_array_equal(X["size"], [1.5, np.nan, -3.0])
    assert X["day"].dt.day.tolist()[:2] == [28, 29] and X["day"].isna().tolist() == [False, False, True]
    assert X["at"].dt.minute[0] == 30 and X["word"].tolist() == ["1,5 m", "2,0 m", "x"]
    assert y.dtype == np.int64 and y.tolist() == [1, 2, 1]
    X, y = read(write("a,day,y\n1,2021-13-28,0.5\n2,2021-01-01,1.5\n"), "y")  # no such month; labels with decimals
    assert X["day"].tolist() == ["2021-13-28", "2021-01-01"] and y.tolist() == [0.5, 1.5]
    assert read(write('a,b,y\n"1,5",2,u\n"2,5",3,v\n'), "y").X["a"].tolist() == ["1,5", "2,5"]  # thousands, perhaps


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_encodings(write, encoding):
    """Excel writes UTF-16 as "Unicode text", with tabs, and Latin-1 as "CSV"."""
    text = "größe\tPreis\ty\n1\t5 €\tschön\n2\t\tFaß\n"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        X, y = read(write(text.encode(encoding), "data.txt"), "y")
    assert list(X) == ["größe", "Preis"] and y.tolist() == ["schön", "Faß"] and X["Preis"][0] == "5 €"
    assert ["Windows-1252" in str(w.message) for w in said] == [True] * (encoding == "cp1252")


def test_blanks_around_labels_and_cells_that_stay_text(write):
    path = write("mark,a,y\n1.396, 1, u\n2.500,2,u \n,3,v\n")
    X, y = read(path, "y", text=["mark"])
    assert y.tolist() == ["u", "u", "v"] and X["mark"].tolist()[:2] == ["1.396", "2.500"] and X["mark"].isna()[2]
    assert X["a"].tolist() == [1, 2, 3] and read(path, "y").X["mark"][1] == 2.5


def test_cells_of_blanks_are_empty(write):
    text = "size , color , y\n" + "1.5 , red , a\n" * 20 + "  ,  , b\n NA , #N/A , b\n"
    X, _ = read(write(text), "y")
    assert X["size"].isna().sum() == X["color"].isna().sum() == 2
    assert [c["used_as"] for c in ColumnEncoder().fit(X).columns_] == ["number", "category"]


def test_zeros_in_front_of_numbers_stay(write):
    X, y = read(write("zip;a;class\n01234;1;007\n99501;2;008\n;3;007\n"), "class")
    assert X["zip"].tolist()[:2] == ["01234", "99501"] and X["zip"].isna()[2] and X["a"].tolist() == [1, 2, 3]
    assert y.tolist() == ["007", "008", "007"]


def test_errors_of_spreadsheets_are_empty_cells(write):
    X, _ = read(write("a,b,class\n1,#N/A,u\n#DIV/0!,2,v\n"), "class")
    assert X["a"].isna().tolist() == [False, True] and X["b"].isna().tolist() == [True, False]


def test_what_spreadsheets_write_around_a_table(write):
    """The separator in the first line, separators behind the last column, empty rows between blocks and below."""
    path = write("sep=;\na;b;y;;\n1,5;u;p;;\n;;;;\n2,5;v;q;;\n;;;;\n;;;;\n")
    with pytest.warns(UserWarning, match="3 empty rows left out"):
        X, y = read(path, "y")
    assert X["a"].tolist() == [1.5, 2.5] and list(X) == ["a", "b"] and y.tolist() == ["p", "q"]
    with pytest.warns(UserWarning, match="2 empty rows left out"):  # predictions are in the order of the rows
        assert len(read(path).X) == 3


def test_lines_are_counted_as_an_editor_does(write):
    """Line breaks in quotes, blank lines and rows that are left out count as well."""
    path = write('note,x,y\n"two\nlines",1,p\n\n   \none,inf,q\n')
    with pytest.raises(ReadError, match=r"line 6: expected a finite number in column 'x', got inf \(1 such row\)"):
        read(path, "y")
    with (
        pytest.warns(UserWarning, match="1 empty row left out"),
        pytest.raises(ReadError, match="line 4: expected a l"),
    ):
        read(write("x,y\n1,p\n,\n2,\n"), "y")


@pytest.mark.parametrize("cells", (["31.02.2024"], ["03/04/24", "soon"], ["3. Mai 2023"]))
def test_a_few_cells_that_are_no_dates_are_typos(write, cells):
    days = [f"{1 + k % 28:02}.{1 + k % 12:02}.2024" for k in range(30)]
    path = write("\n".join(["day,y", *(f"{day},{k % 2}" for k, day in enumerate([*days, *cells]))]) + "\n")
    with pytest.raises(
        ReadError, match=f"line 32: expected a date in column 'day' as in 30 other rows, got '{cells[0]}'"
    ):
        read(path, "y")


def test_all_formats_give_the_same_rows(tmp_path):
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame.to_csv(tmp_path / "iris.csv", index=False)
    frame.to_parquet(tmp_path / "iris.parquet")
    np.savez(tmp_path / "iris.npz", X=X, y=y)
    dump_svmlight_file(X, y, str(tmp_path / "iris.svm"), zero_based=False)
    for name in ("iris.csv", "iris.parquet", "iris.npz", "iris.svm"):
        rows = read(tmp_path / name, "y")
        found = rows.X.toarray() if name.endswith("svm") else np.asarray(rows.X)
        np.testing.assert_allclose(found, X)
        np.testing.assert_array_equal(rows.y, y)


BAD = {
    "ragged, short": ("a,b,y\n1,2,u\n3,v\n", "line 3: expected 3 fields.*got 2.*comma"),
    "ragged, long": ("a,b,y\n1,2,u\n3,4,5,v\n", "line 3: expected 3 fields.*got 4"),
    "ragged after a blank line": ("a,b,y\n1,2,u\n\n\n3,v\n", "line 5: expected 3 fields"),
    "no such column": ("a,b,Y\n1,2,u\n", "expected the target column 'y', got the columns 'a', 'b', 'Y'"),
    "empty label": ("a,y\n1,u\n2,\n", "line 3: expected a label in column 'y', got an empty cell"),
    "only a header": ("a,y\n", "expected rows below the header line, got none"),
    "nothing": ("", "got an empty file"),
    "blank": ("\n\n", "got only blank lines"),
    "no header": ("1,2,3\n4,5,6\n", "got only numbers"),
    "the same name twice": ("a,a,y\n1,2,u\n", "got 'a' twice"),
    "no name": ("a,,y\n1,2,u\n", "got none for column 2"),
    "no name at all": ('""\nu\nv\n', "got none for column 1"),
    "only the target": ("y\nu\nv\n", "expected columns beside the target"),
    "text where numbers belong": (
        "a,y\n" + "1,u\n" * 20 + "1o,v\n" + "2,u\n" * 9,
        "line 22: expected a number in column 'a' as in 29 other rows, got '1o'",
    ),
    "open quote": ('a,y\n1,"u\n2,v\n', "line 2: expected fields, got a quote"),
    "no text": (b"a,y\n1,\x81\xfe\n", "expected text in UTF-8, UTF-16 or Windows-1252"),
    "odd bytes of UTF-16": ("a,y\n1,u\n".encode("utf-16")[:-1], "expected text in UTF-8, UTF-16 or Windows-1252"),
    "a zero byte": (b"a,y\n1,u\n2,v\x00\n", "line 3: expected text, got a zero byte .1 of them in the file.; save"),
    "zero bytes far below": (
        b"a,y\n" + b"1,u\n" * 2000 + b"\x00" * 9,
        "line 2002: expected text, got a zero byte .9 of",
    ),
    "zero bytes among Latin-1": (b"a,y\n1,\xe9\n2,v" + b"\x00" * 9, "line 3: expected text, got a zero byte .9 of"),
    "zero bytes only": (b"\x00" * 5000, "line 1: expected text, got a zero byte .5000 of"),
    "a spreadsheet": (
        b"PK\x03\x04" + b"\x00abc" * 300,
        "expected text, got a spreadsheet or an archive; save the sheet",
    ),
    "Parquet": (b"PAR1" + bytes(range(256)), "got a Parquet file; let its name end in .parquet"),
    "infinity": ("a,b,y\n1,2,u\n3,4,v\n5,-inf,v\n", "line 4: expected a finite number in column 'b', got -inf"),
    "a typo among prices": (
        "a,y\n" + '"$1,200.50",u\n' * 20 + "$12o0,v\n" + "$3,u\n" * 9,
        "line 22: expected a number in column 'a' as in 29 other rows, got '\\$12o0'",
    ),
    "a word for none": ("a,y\n1,u\n2,None\n", "an empty cell or a word for one, such as NA or None .1 such row.; fill"),
    "a blank label": ("a,y\n1,u\n2,  \n", "line 3: expected a label in column 'y', got an empty cell"),
}


@pytest.mark.parametrize("text,message", BAD.values(), ids=BAD)
def test_bad_tables(write, text, message):
    with pytest.raises(ReadError, match=message):
        read(write(text), "y")


def test_bad_paths(write, tmp_path):
    write(GOOD)
    with pytest.raises(ReadError, match='expected a file at .*, got none; did you mean "data.csv"'):
        read(tmp_path / "date.csv")
    with pytest.raises(ReadError, match="got a folder"):
        read(tmp_path)
    with pytest.raises(ReadError, match=r"expected a name that ends in .*\.parquet.*, got '.xlsx'"):
        read(write(GOOD, "data.xlsx"))


def test_files_of_other_programs(write, tmp_path):
    for name, advice in (("a.xlsx", "save the sheet as CSV"), ("a.json", "rename or convert the file")):
        with pytest.raises(ReadError, match=advice):
            read(write("x", name))
    (tmp_path / "b.csv").write_bytes(b"PK\3\4" + bytes(range(256)) * 20)
    with pytest.raises(ReadError, match="got a spreadsheet or an archive; save the sheet as CSV"):
        read(tmp_path / "b.csv")
    with pytest.raises(ReadError, match="semicolons, tabs or vertical bars, got the one column 'a b y'"):
        read(write("a b y\n1 2 p\n3 4 q\n"), "y")
    with pytest.raises(
        ReadError, match="line 2: expected 1 field as in the header, got 3; if the first line is a title"
    ):
        read(write("Sales of 2023,,\na,b,y\n1,2,p\n"), "y")


def test_other_bad_files(write, tmp_path):
    with pytest.raises(ReadError, match="expected a Parquet file"):
        read(write(GOOD, "a.parquet"))
    with pytest.raises(ReadError, match="expected an NPZ archive"):
        read(write(GOOD, "a.npz"))
    with pytest.raises(ReadError, match="line 2: expected svmlight rows"):
        read(write("1 1:2\n1 x:2\n", "a.svm"))
    np.savez(tmp_path / "b.npz", Z=np.zeros(3))
    with pytest.raises(ReadError, match="expected an array X with 2 dimensions, got the arrays Z"):
        read(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", X=np.zeros((3, 2)), y=np.zeros(2))
    with pytest.raises(ReadError, match=r"expected y of shape \(3,\), got shape \(2,\)"):
        read(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", X=np.array([["a", object()]], dtype=object))
    with pytest.raises(ReadError, match="plain arrays"):
        read(tmp_path / "d.npz")


def test_an_open_quote_is_found(write):
    with pytest.raises(ReadError, match=r"line 3: expected fields, got a quote .* never closed"):
        read(write('a,b,y\n1,2,x\n3,"4,y\n5,6,y\n'), "y")


def test_the_last_columns_are_named_too(write):
    names = [f"feature_{k}" for k in range(30)] + ["verdict"]
    with pytest.raises(ReadError, match=r"'feature_0'.*\.\.\..*'verdict'; name the one with the labels"):
        read(write(",".join(names) + "\n" + ",".join(["1"] * 31) + "\n"), "y")


def test_archives_of_objects(tmp_path):
    np.savez(tmp_path / "objects.npz", X=np.array([[{}, 1]], dtype=object))
    with pytest.raises(ReadError, match="Python objects in it; write it with numpy.savez"):
        read(tmp_path / "objects.npz")
