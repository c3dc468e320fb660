"""Numbers and dates in text: what a column can mean, and what is assumed where it can mean two things."""

from datetime import datetime

import numpy as np
import pytest

from polymargin.files.dialects import (
    DATE_FORMATS,
    codes,
    date_format,
    no_dates,
    number_format,
    readable,
    reader,
    several_formats,
)

NUMBERS = {
    "German": (["-1.396,58", "12,5", "7"], [-1396.58, 12.5, 7], "decimal comma"),
    "dollars": (["$1,234.00", "($5.50)", "-$3"], [1234, -5.5, -3], "thousands marks left out, currency signs left out"),
    "percent": (["12.5%", "3 %"], [12.5, 3], "percent signs left out"),
    "French": (["1\u202f234,5 €", "−5,0 €"], [1234.5, -5], "decimal comma, currency signs left out"),
    "Swiss": (["1’234.50", "CHF 3"], [1234.5, 3], "thousands marks left out, currency signs left out"),
    "Indian prices": (["₹12", "INR 7.25"], [12, 7.25], "currency signs left out"),
    "groups of two": (
        ["12,34,567", "₹ 1,00,000.50"],
        [1234567, 100000.5],
        "thousands marks left out, currency signs left out",
    ),
    "accounts": (["1.250,00-", "12,5"], [-1250, 12.5], "decimal comma"),
    "powers": (["1e5", "2.5E-1"], [1e5, 0.25], ""),
    "weights": (["80 kg", "7.5kg"], [80, 7.5], "unit 'kg' left out"),
    "years": (["1 year", "12 years"], [1, 12], "unit 'year' left out"),
    "degrees": (["20.5°C", "-3.0°C"], [20.5, -3], "unit '°C' left out"),
    "points": (["7/10", "10/10"], [7, 10], "unit '/10' left out"),
    "meters": (["1,5 m", "-2,25 m"], [1.5, -2.25], "decimal comma, unit 'm' left out"),
    "sizes": (["950", "1.2k", "3M"], [950, 1200, 3e6], "k, M and B read as thousands, millions and billions"),
    "clock": (["13:45", "0:30:36"], [13.75, 0.51], "times read as hours"),
    "halves of a day": (["12:15 AM", "7:45 pm", "9am"], [0.25, 19.75, 9], "times read as hours"),
    "lengths of time": (["2h 30m", "19h", "1 day 3 hours"], [2.5, 19, 27], "times read as hours"),
    "minutes": (["90 min", "105 min"], [90, 105], "unit 'min' left out"),
    "gaps": (["5", "-", "Missing"], [5, np.nan, np.nan], "'-' counts as empty"),
    "either": (["1,234", "2,345"], [1234, 2345], "',' assumed to be the thousands mark"),
}


def cells(*text):
    return np.array(text, dtype=object)


@pytest.mark.parametrize("text, values, said", NUMBERS.values(), ids=NUMBERS)
def test_numbers(text, values, said):
    found = number_format(cells(*text))
    assert found.doubt == said
    assert readable(found.name)
    np.testing.assert_allclose(reader(found.name)(cells(*text)), values)


def test_a_unit_may_be_left_out_but_not_changed():
    read = reader("number: 1,234.5 kg")
    np.testing.assert_array_equal(read(cells("80 kg", "80", "80 kgs", "80 lb", "kg")), [80, 80, 80, np.nan, np.nan])
    read = reader("number: 1,234.5 k/M/B")
    np.testing.assert_array_equal(read(cells("2K", "2bn", "2", "2 kg")), [2000, 2e9, 2, np.nan])


@pytest.mark.parametrize("text, answer", [
    (["01234", "99501"], True), (["01234", "-"], True), (["1234", "9950"], False), (["01", "12"], False),
    (["0123", "99501"], False), (["0.25", "0.50"], False),
])  # fmt: skip
def test_zeros_in_front_are_of_codes(text, answer):
    assert codes(cells(*text)) == answer


def test_another_column_settles_what_a_comma_means():
    found = number_format(cells("1,234", "2,345"), prefer="number: 1.234,5")
    assert found.doubt == "',' assumed to be the decimal mark"
    np.testing.assert_allclose(reader(found.name)(cells("1,234")), [1.234])


@pytest.mark.parametrize(
    "text",
    [
        ["N27A2"],
        ["1.2.3"],
        ["12,34,5"],
        ["1,234.5", "1.234,5"],
        ["5%", "5"],
        ["-"],
        ["."],
        ["12 kg", "5 lb"],
        ["12 kg", "5"],
        ["2:1"],
        ["13:60"],
        ["13:00 pm"],
        ["(5"],
        ["5 " + "k" * 40],
        ["9" * 5000 + "h 1m"],
        ["1st", "2nd"],
        [],
    ],
)
def test_no_numbers(text):
    assert number_format(cells(*text)) is None


DATES = {
    "ISO": (["2013-09-29", "2014-01-01 10:30"], "2013-09-29", ""),
    "year first": (["2013/09/29", "2014/12/01"], "2013-09-29", "dates read as year/month/day"),
    "German": (["01.03.2024", "31.12.2023"], "2024-03-01", "dates read as day.month.year"),
    "English": (["13/01/2024", "05/06/2024"], "2024-01-13", "dates read as day/month/year"),
    "American": (["01/13/2024", "05/06/2024"], "2024-01-13", "dates read as month/day/year"),
    "short": (["3/31/24", "4/1/24"], "2024-03-31", "dates read as month/day/year"),
    "names": (["1-Mar-2024", "12-Oct-2023"], "2024-03-01", "dates read as day-month-year"),
    "long": (["March 1, 2024", "May 12, 2023"], "2024-03-01", "dates read as month day, year"),
    "full German": (["3. März 2024", "1. April 2023", "12. Dez. 2023"], "2024-03-03", "dates read as day month year"),
    "French": (["1er févr. 2024", "14 juil. 2023", "2 août 2023"], "2024-02-01", "dates read as day month year"),
    "Spanish": (["3 de mayo de 2024", "1 de enero de 2023"], "2024-05-03", "dates read as day month year"),
    "ordinals": (["March 3rd, 2024", "Sept. 21st, 2023"], "2024-03-03", "dates read as month day, year"),
    "months": (["2024-03", "2023-12"], "2024-03-01", "dates read as year-month"),
    "months first": (["03/2024", "12/2023"], "2024-03-01", "dates read as month/year"),
    "either": (["01/02/2024", "03/04/2024"], "2024-01-02", "dates assumed to be month/day/year"),
}


@pytest.mark.parametrize("text, first, said", DATES.values(), ids=DATES)
def test_dates(text, first, said):
    found = date_format(cells(*text))
    assert found.doubt == said
    assert reader(found.name)(cells(text[0]))[0] == np.datetime64(first, "s").astype(float)


def test_another_column_settles_which_comes_first():
    found = date_format(cells("01/02/2024", "03/04/2024"), prefer="%d.%m.%Y")
    assert found.name == "date: %d/%m/%Y" and found.doubt == "dates assumed to be day/month/year"


@pytest.mark.parametrize(
    "text", [["2021-13-28"], ["hello 3"], ["32.01.2024"], ["1.5"], ["May"], ["3 jui 2024"], ["13/2024"], []]
)
def test_no_dates(text):
    assert date_format(cells(*text)) is None


@pytest.mark.parametrize("name", DATE_FORMATS[1:])
def test_every_format_of_dates_is_found(name):
    days = (datetime(2023, 11, 28, 21, 45, 30), datetime(2024, 5, 13, 9, 5, 59))
    text = cells(*(day.strftime(name.removeprefix("date: ")) for day in days))
    found = date_format(text)
    np.testing.assert_array_equal(reader(found.name)(text), reader(name)(text))
    assert np.isfinite(reader(name)(text)).all()
    if "%d" in name or "%m" in name:  # a name and a year alone do not look like a date
        assert not no_dates(text).any() and several_formats(text)
