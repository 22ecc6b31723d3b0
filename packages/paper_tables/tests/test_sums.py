import pandas as pd
import pytest
from paper_tables import published
from paper_tables.published import PARTS, REASONS, TOLERANCE

# METHODS 13: what does not add up, and by how much; MV-VSE's row stands in two papers
WRONG = {
    ("SAM", "3", "Flickr30K", "CVSE + SAM"): (387.9, 369.0),
    ("AAHR", "2", "MS-COCO 5K", "VSE++"): (409.8, 355.7),
    ("DIAS", "1", "Flickr30K", "NUIF-d"): (509.3, 510.2),
    ("CORA", "1", "Flickr30K", "CORA"): (520.1, 520.6),
    ("CORA", "1", "Flickr30K", "MV-VSE [†]"): (517.5, 517.9),
    ("DIAS", "1", "Flickr30K", "MV"): (517.5, 517.9),
    ("AAHR", "1", "MS-COCO 1K", "VSRN++"): (523.6, 523.0),
}


def rows_of(values):
    names = ("paper", "table", "dataset", "protocol", "group", "method")
    return pd.DataFrame(
        [{**dict.fromkeys(names, "x"), "metric": m, "printed": str(v), "value": v} for m, v in values.items()]
    )


def test_exactly_the_known_sums_do_not_add_up():
    checked = published.printed_sums()
    wrong = checked[~checked["adds_up"]].set_index(["paper", "table", "dataset", "method"])
    assert set(wrong.index) == set(WRONG) == set(REASONS)
    for key, (printed, parts) in WRONG.items():
        assert (wrong.loc[key, "printed"], round(wrong.loc[key, "parts"], 1)) == (printed, parts)
    assert wrong["reason"].all()


def test_every_printed_sum_with_all_its_parts_is_checked():
    rows, checked = published.load(), published.printed_sums()
    # 321 RSUMs, of which two stand beside dashes, 34 sums of Semantic Recall, 12 of ECCV Caption
    assert checked["metric"].value_counts().to_dict() == {"rsum": 319, "nsum": 34, "sum": 12}
    assert (rows["metric"] == "rsum").sum() == 321


def test_the_sums_equal_a_loop_over_the_rows():
    checked = published.printed_sums(published.load(paper="SAM", table="3"))
    for line in checked.to_dict("records"):
        cells = published.load(paper="SAM", table="3", dataset=line["dataset"], method=line["method"])
        value = dict(zip(cells["metric"], cells["printed"]))
        assert line["printed"] == float(value[line["metric"]])
        assert line["parts"] == pytest.approx(sum(float(value[part]) for part in PARTS[line["metric"]]))


def test_what_rounding_can_do_is_no_error():
    parts = dict.fromkeys(PARTS["rsum"], 50.0)
    good, bad = (
        published.printed_sums(rows_of(parts | {"rsum": 300 + off})) for off in (TOLERANCE, TOLERANCE + 0.05)
    )
    assert good["adds_up"].tolist() == [True]
    assert bad["adds_up"].tolist() == [False]
    assert bad["reason"].tolist() == [""]


def test_rows_without_a_sum_have_nothing_to_check():
    assert published.printed_sums(published.load(paper="DITM", table="III")).empty
    assert published.sum_warnings(published.load(paper="DITM")) == {}


def test_a_warning_names_the_printed_sum_and_that_of_its_parts():
    remarks = published.sum_warnings(published.load(paper="SAM", table="3"))
    assert list(remarks) == [("SAM", "3", "Flickr30K", "full data", "", "CVSE + SAM")]
    assert list(remarks.values()) == [
        "prints nsum 387.9, its parts add up to 369.0: a typing error: the paper's Table 4 shows about 370"
    ]
