import pytest
from paper_tables import published

ROWS = published.load()


def test_all_printed_values_are_there_with_their_text():
    assert len(ROWS) == 2940
    assert tuple(ROWS.columns) == published.COLUMNS
    assert set(ROWS["paper"]) == {"DITM", "CORA", "DIAS", "SAM", "AAHR"}
    assert not ROWS.duplicated(["paper", "table", "dataset", "protocol", "group", "method", "metric"]).any()
    # what a paper leaves empty: three cells of one row and a whole row of CORA's Table 2
    assert ROWS["value"].isna().sum() == (ROWS["printed"] == "-").sum() == 10


# paper, table, data set, method and group: RSUM as printed, None where it is not
KNOWN = {
    ("DITM", "I", "MS-COCO 5K", "DITM", "ViT-B/32 (151M)"): "460.3",
    ("CORA", "1", "Flickr30K", "CORA", "BUTD + BERT"): "520.1",
    ("DIAS", "1", "MS-COCO 1K", "NAAF*", "BUTD+BiGRU"): "527.2",
    ("AAHR", "2", "MS-COCO 5K", "AAHR", "independent"): "463.4",
    ("SAM", "3", "Flickr30K", "SGR†", ""): None,
}


def test_a_known_number_of_each_paper_is_found():
    for (paper, table, dataset, method, group), expected in KNOWN.items():
        rows = published.load(
            paper=paper, table=table, dataset=dataset, method=method, group=group, metric="rsum"
        )
        assert len(rows) == 1
        assert expected in (None, rows["printed"][0])


def test_several_values_of_one_column_are_taken_together():
    rows = published.load(paper=["DITM", "SAM"], dataset="Flickr30K")
    assert dict(rows["paper"].value_counts()) == {"SAM": 84, "DITM": 63}


def test_an_unknown_value_names_the_near_ones_and_an_empty_choice_says_so():
    with pytest.raises(KeyError, match="no dataset 'MS-COCO 2K'; did you mean MS-COCO"):
        published.load(dataset="MS-COCO 2K")
    with pytest.raises(KeyError, match="AAHR, CORA, DIAS, DITM, SAM"):
        published.load(paper="zzz")
    with pytest.raises(ValueError, match="no printed value has all of"):
        published.load(paper="CORA", dataset="CxC")


def test_a_row_of_a_table_is_one_line_in_the_order_of_the_paper():
    rows = published.load(paper="DITM", table="II", dataset="Flickr30K")
    table = published.wide_table(rows)
    assert list(table.index.get_level_values("method"))[0::7] == ["CLIP ZS", "DITM"]
    assert list(table.columns) == ["i2t_r1", "i2t_r5", "i2t_r10", "t2i_r1", "t2i_r5", "t2i_r10", "rsum"]
    assert table.loc[("DITM", "II", "Flickr30K", "1K test", "ViT-B/32", "DITM"), "rsum"] == 548.7
    assert published.wide_table(ROWS).notna().sum().sum() == 2930


def test_changing_a_loaded_table_changes_nothing_for_the_next():
    rows = published.load(paper="DITM")
    rows["value"] = 0.0
    assert published.load(paper="DITM")["value"].max() > 0


def test_labels_are_those_of_our_measurements():
    assert published.LABELS["t2i_r10"] == "t2i/R@10"
    assert set(published.LABELS) <= set(ROWS["metric"])
