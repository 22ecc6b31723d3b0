from __future__ import annotations

import html
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import traitlets
from PIL import Image

from tests.views.explorer.toys import hand_space, toy_spaces
from workbench.runs.models import own_model
from workbench.runs.own import SavedVectors
from workbench.runs.preview import preview_model
from workbench.runs.result import Result
from workbench.views.explorer.explorer import Explorer
from workbench.views.explorer.questions import Question, Term
from workbench.views.explorer.thumbnails import SIDE
from workbench.views.maps import EmbeddingMap, coordinates, map_runs

QUESTION = {
    "terms": [{"kind": "text", "value": "a red bus", "sign": 1, "name": ""}],
    "seeks": "images", "k": 4, "pins": [], "watched": None, "settings": {}, "shown": [],
    "filters": {"text": "", "levels": [], "low": 0, "high": 1, "marks": []},
}  # fmt: skip


OUTSIDE = {"kind": "image", "value": 99, "sign": 1}


@pytest.fixture
def explorer(monkeypatch: pytest.MonkeyPatch):
    """An explorer whose messages to the browser are kept in ``sent``."""
    made = Explorer(toy_spaces(12), k=4)
    made.sent = []
    monkeypatch.setattr(
        made, "send", lambda content, buffers=None: made.sent.append((content, list(buffers or [])))
    )
    return made


def say(explorer, buffers=(), **message):
    """What the browser says, and what it is told."""
    explorer._on_message(explorer, message, list(buffers))
    return explorer.sent[-1]


def ask(explorer, page="p", number="v1-1", **changes):
    return say(explorer, kind="ask", page=page, number=number, question={**QUESTION, **changes})


def test_a_question_is_answered_under_its_number_with_the_images_that_it_shows(explorer):
    content, blobs = ask(explorer)
    assert (content["kind"], content["number"]) == ("answer", "v1-1")
    shown = {item["thumbnail"] for item in content["answer"]["items"]}
    assert set(content["keys"]) == shown
    assert all(Image.open(io.BytesIO(blob)).size[0] <= SIDE for blob in blobs)
    json.dumps(content, allow_nan=False)


def test_a_caption_opens_as_itself_with_the_rank_of_lists_and_pages():
    # captions 0 and 2 read the same, and image 2 is the nearest of neither: by hand cosines with (0.6, 0.8)
    space = hand_space([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], ["a dog", "a cat", "a dog"])
    made = Explorer([space], k=2, start=2)
    term = {"kind": "caption", "value": made.config["startRow"], "sign": 1, "name": made.config["start"]}
    asked = made._messages.answer({"page": "p", "question": {**QUESTION, "terms": [term]}})[0]["answer"]
    (page,), listed = made.static([Question((made._start,))]), space.ranks("t2i")
    for row, own in enumerate(space.split.own):
        (partner,) = made.ask(Question((Term("caption", row),))).partners
        assert (partner.row, partner.ranks[0]) == (own, listed[row])
    assert [one["row"] for one in asked["partners"]] == [one.row for one in page.partners] == [2]
    assert asked["partners"][0]["ranks"] == page.partners[0].ranks == (listed[2],)
    assert made.engine.gallery.item("images", 2)["rows"] == (2,)
    assert Explorer([space], start="a cat").config["startRow"] == 1
    assert Explorer([space], start="a tree").config["startRow"] is None


@pytest.mark.parametrize("server", [("JPY_SESSION_NAME", "looked at"), ("SERVER_SOFTWARE", "voila/0.5")])
def test_the_first_answer_stands_before_the_kernel_is_asked(monkeypatch: pytest.MonkeyPatch, server):
    monkeypatch.setenv(*server)
    monkeypatch.delenv("WORKBENCH_BATCH", raising=False)
    made = Explorer(toy_spaces(12), k=4)
    assert made.first == {}
    assert made.show() is made
    assert made.first["query"]["text"] == made.config["start"]
    shown = {item["thumbnail"] for item in made.first["items"]}
    assert shown <= made.first["thumbnails"].keys()
    json.dumps(made.first, allow_nan=False)


def test_a_page_takes_texts_as_questions(explorer, tmp_path: Path):
    assert "a dog" in explorer.to_html(tmp_path / "page.html", questions=["a dog"]).read_text(
        encoding="utf-8"
    )


def test_an_image_is_sent_once_to_a_page_and_again_to_another(explorer):
    first = ask(explorer)
    assert ask(explorer)[0]["keys"] == []
    assert ask(explorer, page="another")[0]["keys"] == first[0]["keys"]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"kind": "ask", "page": "p", "question": {**QUESTION, "terms": []}}, "the question is empty"),
        ({"kind": "ask", "page": "p", "question": {**QUESTION, "terms": [OUTSIDE]}}, "no image number 99"),
        ({"kind": "ask", "page": "p", "question": {**QUESTION, "seeks": "image"}}, "images"),
        ({"kind": "ask", "page": "p", "question": {**QUESTION, "settings": {"way": {"walk": 2}}}}, "walk"),
        ({"kind": "export", "path": "answers.txt"}, ".csv"),
        ({"kind": "open", "row": 99}, "no image number 99"),
        ({"kind": "dance"}, "dance"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_said_in_the_browser(explorer, message, said: str):
    content, _ = say(explorer, number="v1-1", **message)
    assert content["kind"] == "error"
    assert said in content["text"]


def test_an_image_that_is_handed_in_can_be_asked(explorer):
    file = io.BytesIO()
    Image.new("RGB", (20, 30), "red").save(file, format="PNG")
    content, _ = say(
        explorer, [memoryview(file.getvalue())], kind="upload", name="mine.png", number="v1-upload"
    )
    assert content == {"kind": "uploaded", "index": 0, "name": "mine.png", "number": "v1-upload"}
    answer = ask(
        explorer, terms=[{"kind": "upload", "value": 0, "sign": 1, "name": "mine.png"}], seeks="captions"
    )[0]["answer"]
    assert answer["query"]["label"] == "mine.png"


def test_a_vector_that_is_handed_in_finds_what_lies_there(explorer):
    file = io.BytesIO()
    np.save(file, explorer.engine.answerers[0].run.image.mean[7].numpy())
    say(explorer, [memoryview(file.getvalue())], kind="upload", name="seven.npy", number="v1-upload")
    answer = ask(explorer, terms=[{"kind": "upload", "value": 0, "sign": 1, "name": "seven.npy"}])[0][
        "answer"
    ]
    assert answer["columns"][0][0] == 7


@pytest.mark.parametrize(("name", "content"), [("a.png", b"no image"), ("a.npy", b"no array")])
def test_a_file_that_cannot_be_read_is_named(explorer, name: str, content: bytes):
    assert say(explorer, [memoryview(content)], kind="upload", name=name, number=None)[0]["kind"] == "error"


def test_suggestions_are_captions_that_hold_the_words_and_images_by_id(explorer):
    found = say(explorer, kind="suggest", text="bus", number=None)[0]["found"]
    assert found
    assert all("bus" in one["name"].lower() for one in found if one["kind"] == "caption")
    assert {"kind": "image", "value": 3, "name": "test-0-3"} in say(
        explorer, kind="suggest", text="test-0-3", number=None
    )[0]["found"]


def test_a_query_from_python_says_what_clip_clients_say(explorer):
    found = explorer.query(text="a red bus", k=3)
    assert len(found) == 3
    assert list(found[0]) == ["id", "caption", "image", "similarity", "grade"]
    assert found[0]["similarity"] >= found[1]["similarity"]
    assert found[0]["image"].size == (64, 64)
    assert explorer.query(image="test-0-3", k=1)[0]["id"] in explorer.engine.split.caption_ids
    vector = explorer.engine.answerers[1].run.image.mean[5].numpy()
    assert explorer.query(embedding=vector, k=1, run=1)[0]["id"] == "test-0-5"
    with pytest.raises(ValueError, match="no image 'test-0-99'"):
        explorer.query(image="test-0-99")


def test_the_selection_is_a_table_with_the_ranks_of_every_run(explorer):
    assert list(explorer.selection()) == ["row", "id", "captions"]
    content, _ = ask(explorer)
    explorer.selected_idx = [content["answer"]["columns"][0][0], 11]
    table = explorer.selection()
    assert table["id"][1] == "test-0-11"
    assert table["rank run 0"][0] == 1


def test_linked_widgets_select_the_same(explorer):
    class Other(traitlets.HasTraits):
        selected_idx = traitlets.List()

    other = Other()
    explorer.link(other)
    explorer.selected_idx = [3, 1]
    assert other.selected_idx == [3, 1]
    other.selected_idx = [2]
    assert explorer.selected_idx == [2]
    with pytest.raises(ValueError, match="selected_idx"):
        explorer.link(traitlets.HasTraits())


def test_a_map_of_the_same_runs_is_linked_and_shows_where_the_question_lies(explorer, monkeypatch):
    monkeypatch.setitem(coordinates.METHODS, "tsne", lambda vectors, settings, start: vectors[:, :2])
    runs = [answerer.run for answerer in explorer.engine.answerers]
    live = EmbeddingMap(map_runs(runs, k=4, clusters=3))
    explorer.link(live)
    live.selected_rows = [3, 5]
    assert explorer.selected_idx == [3, 5]
    ask(explorer)
    assert live.question["text"] == "a red bus"
    assert len(live.question["near"]) == 2
    assert live.selected_rows == [3, 5], "to ask selects nothing"


@pytest.mark.parametrize(
    ("name", "read"), [("a.csv", pd.read_csv), ("a.json", pd.read_json), ("a.parquet", pd.read_parquet)]
)
def test_the_exported_table_holds_every_run_and_the_pins(explorer, tmp_path: Path, name: str, read):
    ask(explorer, pins=[9])
    table = read(explorer.export(tmp_path / name))
    assert set(table["run"]) == {"run 0", "run 1"}
    assert table.loc[table["run"] == "run 0", "rank"].tolist()[:4] == [1, 2, 3, 4]
    assert table.loc[table["pinned"], "id"].unique().tolist() == ["test-0-9"]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_export_replaces_no_file_and_a_page_writes_below_its_folder_alone(explorer, tmp_path: Path):
    ask(explorer)
    explorer.folder = tmp_path / "runs"
    explorer.folder.mkdir()
    file = explorer.export(tmp_path / "runs" / "a.csv")
    with pytest.raises(
        FileExistsError, match=r"a.csv is there already; give another name, or overwrite=True"
    ):
        explorer.export(file)
    assert explorer.export(file, overwrite=True) == file
    (tmp_path / "runs" / "away").symlink_to(tmp_path)

    def said(path, **more):
        return say(explorer, kind="export", path=path, **more)[0]

    for path in ("../b.csv", str(tmp_path / "b.csv"), "away/b.csv"):
        assert re.search(r"b.csv lies outside of .*runs, and a page writes nowhere else", said(path)["text"])
    assert "a.csv is there already" in said("a.csv")["text"]
    assert said("a.csv", overwrite=True)["kind"] == said("deep/b.csv")["kind"] == "exported"
    assert not (tmp_path / "b.csv").exists()
    assert (tmp_path / "runs" / "deep" / "b.csv").is_file()


def test_the_static_page_holds_the_last_answer_and_its_images(explorer, tmp_path: Path):
    ask(explorer)
    page = explorer.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "a red bus" in page
    assert page.count("data:image/jpeg;base64,") >= 4
    assert set(explorer.answer.keys) == set(explorer.static()[0].thumbnails)


def test_more_of_a_column_follows_what_was_shown(explorer):
    first = ask(explorer)[0]["answer"]
    more = ask(explorer, skip=4, k=5)[0]["answer"]
    whole = ask(explorer, k=9)[0]["answer"]
    both = tuple((*a, *b) for a, b in zip(first["columns"], more["columns"], strict=True))
    assert both == whole["columns"]
    ask(explorer)
    ask(explorer, skip=4, k=5)
    assert explorer.answer.columns == whole["columns"]
    assert len(explorer.table()) == 2 * 9


def test_disagreements_come_with_their_images(explorer):
    content, blobs = say(explorer, kind="disagreements", by="rank", page="p", number="v1-disagreements")
    assert content["keys"] == list(dict.fromkeys(one["thumbnail"] for one in content["found"]))
    assert len(blobs) == len(content["keys"])
    json.dumps(content, allow_nan=False)
    assert say(explorer, kind="disagreements", by="taste", page="p", number="v")[0]["kind"] == "error"


def test_a_page_takes_questions_as_texts(explorer, tmp_path: Path):
    page = explorer.to_html(tmp_path / "answers.html", questions=["a dog", "a red kite"]).read_text()
    assert "a dog" in page
    assert "a red kite" in page


def test_a_page_without_a_question_answers_what_the_runs_disagree_on(tmp_path: Path):
    several = Explorer(toy_spaces(40, runs=2), k=3)
    questions = several.most_different()
    rows = [one["row"] for one in several.engine.disagreements("rank")[:10]]
    assert [question.terms[0].value for question in questions] == rows
    assert Explorer(toy_spaces(12, runs=1)).most_different() == ()
    page = several.to_html(tmp_path / "page.html", questions=questions).read_text("utf-8")
    assert all(several.engine.split.captions[row] in html.unescape(page) for row in rows)


def test_vectors_that_cannot_be_asked_are_refused_before_a_page_is_written(tmp_path: Path):
    run = toy_spaces(12, runs=1)[0]
    kept = Explorer([Result("mine", run.split, lambda: (SavedVectors(), run.image, run.text))])
    with pytest.raises(ValueError, match="a striped zebra"):
        kept.to_html(tmp_path / "page.html", questions=["a striped zebra"])
    assert list(tmp_path.iterdir()) == []
    (answer,) = kept.static([run.split.captions[5]])
    assert answer.columns[0]


def test_a_page_names_what_a_model_without_vectors_cannot_be_asked(tmp_path: Path):
    class ReadsPairs:
        def scores(self, images, texts):
            return [[1.0 for _ in texts] for _ in images]

    split = toy_spaces(6, runs=1)[0].split
    explorer = Explorer([preview_model(own_model(ReadsPairs(), "pairs"), split)])
    terms = (Term("text", "a dog"), Term("text", "a cat", -1))
    with pytest.raises(ValueError, match="without vectors"):
        explorer.to_html(tmp_path / "page.html", questions=[Question(terms)])
    assert list(tmp_path.iterdir()) == []
