import re

import pytest
from paper_tables import published

COCO = {"data": "coco", "images": 5000, "captions": 25000}


def test_numbers_measured_alike_compare():
    assert published.explain_mismatch("MS-COCO 5K", "full", **COCO) == ""
    assert published.explain_mismatch("MS-COCO 1K", "5-fold mean", **COCO, folds=5) == ""
    assert (
        published.explain_mismatch("Flickr30K", "1K test", data="flickr30k", images=1000, captions=5000) == ""
    )


@pytest.mark.parametrize(
    ("own", "says"),
    [
        (
            {**COCO},
            "the mean of 5 galleries of 1,000 images; yours on coco, 5,000 test images with 25,000 captions",
        ),
        ({**COCO, "folds": 5, "captions": 25010}, "yours on coco, 5,000 test images with 25,010 captions"),
        ({"data": "scenes", "images": 5000, "captions": 25000, "folds": 5}, "yours on scenes"),
    ],
)
def test_other_folds_counts_or_data_do_not_compare_and_the_sentence_says_why(own, says):
    reason = published.explain_mismatch("MS-COCO 1K", "5-fold mean", **own)
    assert reason.startswith("the printed rows are measured on coco")
    assert says in reason


def test_rows_of_transfer_compare_with_a_run_trained_where_they_were():
    own = {"data": "flickr30k", "images": 1000, "captions": 5000}
    rows = ("COCO->Flickr30K", "zero-shot")
    assert published.explain_mismatch(*rows, **own, training="coco") == ""
    for training in ("", "flickr30k"):
        reason = published.explain_mismatch(*rows, **own, training=training)
        assert "trained on coco; yours on flickr30k" in reason
        assert "trained on" not in reason.partition("yours")[2]
    assert (
        "yours on flickr30k, 1,000 test images with 5,000 captions, trained on coco"
        in published.explain_mismatch("Flickr30K", "1K test", **own, training="coco")
    )
    assert published.explain_mismatch("CxC", "", **COCO | {"data": "cxc"}, training="coco") == ""
    assert published.explain_mismatch("CxC", "", **COCO | {"data": "cxc"}, training="flickr30k") != ""


def test_a_protocol_that_the_papers_do_not_spell_out_is_never_called_comparable():
    reason = published.explain_mismatch("Flickr30K", "ablation", data="flickr30k", images=1000, captions=5000)
    assert "do not say enough" in reason


def test_a_protocol_that_is_nowhere_printed_is_refused():
    with pytest.raises(KeyError, match="no dataset 'Flickr8k'"):
        published.explain_mismatch("Flickr8k", "full", **COCO)
    with pytest.raises(ValueError, match="no printed value"):
        published.explain_mismatch("CxC", "1K test", **COCO)


def test_every_protocol_occurs_in_the_printed_tables():
    printed = set(map(tuple, published.load()[["dataset", "protocol"]].drop_duplicates().to_numpy()))
    assert set(published.PROTOCOLS) <= printed


def test_marks_mean_what_their_paper_says():
    assert published.mark_meaning("DITM", "PCME++*") == "extra augmentation"
    assert (
        published.mark_meaning("CORA", "HREM [†]")
        == published.mark_meaning("AAHR", "HREM*")
        == "mean of two models"
    )
    assert published.mark_meaning("SAM", "SGR†") == "the authors' re-run"
    assert published.mark_meaning("AAHR", "HREM") == ""


def test_each_paper_says_which_of_its_rows_compare():
    assert set(published.COMPARABLE) == set(published.load(dataset="Flickr30K")["paper"])
    assert "rows of one backbone" in published.COMPARABLE["DITM"]


def test_contradictions_stand_at_rows_that_are_printed():
    for paper, table, dataset, method in published.CONTRADICTED:
        assert len(published.load(paper=paper, table=table, dataset=dataset, method=method))


def test_contradictions_hold_in_the_printed_values():
    fell = re.compile(r"(\w\w\w) ([RN])@(\d+) falls from ([\d.]+) to ([\d.]+)")
    for (paper, table, dataset, method), text in published.CONTRADICTED.items():
        for way, kind, k, before, after in fell.findall(text):
            rows = published.load(
                paper=paper, table=table, dataset=dataset, metric=f"{way}_{kind.lower()}{k}"
            )
            assert float(after) < float(before)
            assert {before} < set(rows.printed)
            assert after in set(rows.printed[rows.method == method])
    assert sum(len(fell.findall(text)) for text in published.CONTRADICTED.values()) == 11
    dias = published.load(paper="DIAS", table=["1", "2"], metric="rsum")
    gains = []
    for _, block in dias.groupby(["table", "dataset", "protocol", "group"]):
        ours = block.value[block.method == "DIAS"].item()
        gains.append(ours - block.value[block.method != "DIAS"].max())
    text = published.CONTRADICTED["DIAS", "1", "Flickr30K", "DIAS"]
    assert f"{min(gains):.1f} to {max(gains):.1f} points" in text

    def sam(table, dataset, *methods):
        rows = published.load(paper="SAM", table=table, dataset=dataset, metric="rsum").set_index("method")
        return [rows.value[method] for method in methods]

    small, whole = sam("2", "F30K 10%", "CVSE†", "CVSE+SAM")
    assert f"{whole / small:.1f} times" in published.CONTRADICTED["SAM", "2", "F30K 10%", "CVSE+SAM"]
    here, there = sam("3", "MS-COCO 1K", "CVSE†", "CVSE+SAM"), sam("3", "Flickr30K", "CVSE†", "CVSE + SAM")
    text = published.CONTRADICTED["SAM", "3", "MS-COCO 1K", "CVSE+SAM"]
    assert f"gains {here[1] - here[0]:.1f} here, {there[1] - there[0]:.1f} there" in text


def test_bank_size_2048_is_the_row_that_aahr_prints_as_its_own():
    for dataset, table in (("MS-COCO 1K", "1"), ("MS-COCO 5K", "2")):
        row = published.load(paper="AAHR", table=table, dataset=dataset, method="AAHR")
        bank = published.load(paper="AAHR", table="5", dataset=dataset, method="2048")
        assert row["printed"].tolist() == bank["printed"].tolist()


def test_each_row_has_what_is_to_be_said_beside_it():
    reason = published.remarks_by_row(
        published.load(paper="AAHR", dataset="MS-COCO 1K", protocol="5-fold mean")
    )
    by_method = {key[-1]: text for key, text in reason.items()}
    assert len(reason) == 27
    assert by_method["VSRN++"].startswith("\N{WARNING SIGN} prints rsum 523.6, its parts add up to 523.0")
    assert by_method["NAAF*"] == "CORA and DIAS print 80.5 ... 527.2 for this row; mean of two models"
    assert by_method["HREM*"] == "mean of two models"
    assert by_method["GPO"] == ""
