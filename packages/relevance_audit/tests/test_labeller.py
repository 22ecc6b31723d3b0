"""The labelling view without a browser: what keys and buttons ask for, and what is on the screen and on the
disk after it."""

from dataclasses import replace

import pytest
from relevance_audit import Labeller, Labels, candidates

HOSTILE = "a <script>alert(1)</script> dog"


@pytest.fixture
def table(split, scores):
    return candidates(scores, split, {"exact": split.judgements["exact"]}, k=3)


@pytest.fixture
def widget(split, table, tmp_path):
    return Labeller(split, table, Labels(tmp_path / "labels.json", "ann"))


def test_a_pair_is_asked_once_and_shown_with_what_is_known_of_it(widget, table):
    assert len(widget.pairs) == len(table.drop_duplicates(["image", "caption"])) < len(table)
    view = widget.view
    assert (view["at"], view["total"], view["annotator"]) == (0, len(widget.pairs), "ann")
    assert (view["image_id"], view["caption"], view["own_captions"]) == (
        "b",
        "one dog",
        ["a dog", "two dogs"],
    )
    assert dict(view["facts"])["exact"] == "0.00, wrong"
    assert (
        dict(view["facts"])["found"]
        == "the caption is the query, this image has rank 2; its own image has rank 1"
    )
    assert view["image"].startswith("data:image/png;base64,")


def test_a_label_is_saved_before_the_next_candidate_is_shown(widget):
    widget.answer({"do": "label", "label": "invalid", "at": 0})
    assert widget.view["at"] == 1
    assert widget.view["status"] == "saved: invalid"
    assert widget.view["counts"] == {"valid": 0, "invalid": 1, "unsure": 0, "open": len(widget.pairs) - 1}
    assert Labels(widget.labels.path, "ann").label_of(*widget.pairs[0]) == "invalid"


def test_a_key_pressed_twice_labels_what_was_on_the_screen_and_nothing_unseen(widget):
    for _ in range(2):
        widget.answer({"do": "label", "label": "valid", "at": 0})
    assert len(widget.labels) == 1
    assert widget.position == 1


def test_undo_goes_back_to_the_candidate_and_moves_stay_inside(widget):
    assert (widget.answer({"do": "undo", "at": 0}), widget.view["status"]) == (None, "nothing to undo")
    widget.answer({"do": "label", "label": "valid", "at": 0})
    widget.answer({"do": "undo", "at": 1})
    assert (widget.position, widget.view["status"], len(widget.labels)) == (0, "undone: valid", 0)
    widget.answer({"do": "move", "by": -1, "at": 0})
    assert widget.position == 0
    widget.answer({"do": "move", "by": 100, "at": 0})
    assert widget.position == len(widget.pairs) - 1


def test_who_opens_the_file_again_goes_on_at_the_first_open_candidate(widget, split, table):
    widget.answer({"do": "label", "label": "valid", "at": 0})
    widget.answer({"do": "label", "label": "unsure", "at": 2})
    again = Labeller(split, table, Labels(widget.labels.path, "ann"))
    assert again.position == 1
    again.answer({"do": "open", "at": 1})
    assert again.position == 3 % len(again.pairs)
    for at in range(len(again.pairs)):
        again.answer({"do": "label", "label": "valid", "at": at})
    assert again.view["counts"]["open"] == 0
    assert again.view["status"].endswith("every candidate has a label")


def test_what_cannot_be_saved_is_said(widget, monkeypatch):
    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(widget.labels, "add", full)
    widget.answer({"do": "label", "label": "valid", "at": 0})
    assert (widget.position, widget.view["status"]) == (0, "not saved: no space left")


def test_the_static_page_escapes_texts_and_takes_the_place_of_the_view_in_a_batch_run(
    split, table, tmp_path, monkeypatch
):
    nasty = replace(split, captions=(HOSTILE, *split.captions[1:]), judgements={})
    widget = Labeller(nasty, table, Labels(tmp_path / "labels.json", "<b>ann</b>"))
    live, _ = widget._repr_mimebundle_()
    assert {"application/vnd.jupyter.widget-view+json", "text/html"} <= set(live)
    monkeypatch.setenv("WORKBENCH_BATCH", "1")
    still, _ = widget._repr_mimebundle_()
    assert set(still) == {"text/html", "text/plain"}
    assert "<script>" not in still["text/html"]
    assert "&lt;script&gt;" in still["text/html"]
    assert still["text/html"].count("<img alt=") == 2 * min(len(widget.pairs), 12)


def test_the_sheet_of_candidates_escapes_all_texts_and_says_how_many_there_are(split, table, tmp_path):
    captions = tuple(f"<i>{caption}</i>" for caption in split.captions)
    hostile = table.rename(columns={"exact": "<u>exact"})
    widget = Labeller(replace(split, captions=captions), hostile, Labels(tmp_path / "labels.json", "ann"))
    widget.answer({"do": "label", "label": "valid", "at": 0})
    html = widget.sheet(1)
    assert f"Candidates for false negatives, 1 of {len(widget.pairs)}<" in html
    assert not any(tag in html for tag in ("<i>", "<u>"))
    assert "&lt;u&gt;exact: " in html
    assert "label: valid" in html
    assert html.count("data:image/png;base64,") == 2
    assert "Candidates for false negatives<" in widget.sheet(len(widget.pairs))


def test_grades_can_be_kept_from_the_annotator(split, table, tmp_path):
    widget = Labeller(split, table, Labels(tmp_path / "labels.json", "ann"), grades=False)
    assert [name for name, _ in widget.view["facts"]] == ["found", "score"]


def test_an_image_that_cannot_be_read_is_grey_and_says_why(split, table, tmp_path):
    def missing(row):
        raise FileNotFoundError(f"no file {row}.jpg")

    widget = Labeller(replace(split, open_image=missing), table, Labels(tmp_path / "labels.json", "ann"))
    assert dict(widget.view["facts"])["image b"] == "cannot be read: no file 1.jpg"
    assert widget.view["image"].startswith("data:image/png;base64,")


def test_no_candidate_is_refused_with_a_remedy(split, table, tmp_path):
    with pytest.raises(ValueError, match="loosen the filters"):
        Labeller(split, table[:0], Labels(tmp_path / "labels.json", "ann"))
