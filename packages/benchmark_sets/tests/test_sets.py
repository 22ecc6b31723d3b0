"""Every benchmark in its official layout, the rows that are misshapen, and the number that comes out."""

from __future__ import annotations

import json
import re
from importlib.metadata import entry_points

import numpy as np
import pytest
from benchmark_sets.declaration import FOLDER, declaration, names
from benchmark_sets.orders import shuffled, shuffles
from benchmark_sets.tests.layouts import LAYOUTS, draw, write_lines
from typer.testing import CliRunner

import workbench as wb
from workbench import data
from workbench.cli import app
from workbench.metrics.declared import declared_numbers

COMPARISONS = [name for name in names() if declaration(name).task == "comparisons"]
RETRIEVAL = [name for name in names() if declaration(name).task == "retrieval"]
# column that is taken away -> what the message names
NO_ROWS = {"colorswap": None, "mmvp_vlm": None, "flickr30k_cn": None, "urban1k": None}


def load(name, place, **options):
    LAYOUTS[name](place)
    if declaration(name).languages:
        options.setdefault("language", "de")
    return data.load(f"benchmark_sets.sets:{name}", root=str(place), **options)


def test_every_benchmark_has_a_fixture_and_an_entry_point():
    assert sorted(LAYOUTS) == names()
    offered = {
        entry.name for entry in entry_points(group="workbench.data") if "benchmark_sets" in entry.value
    }
    assert offered == set(names())
    assert len(names()) >= 18


@pytest.mark.parametrize("name", names())
def test_each_official_layout_is_read(name, tmp_path):
    split = load(name, tmp_path)
    assert len(split.image_ids) >= 2
    assert split.open_image(0).mode == "RGB"
    assert (split.benchmark is None) == (name in RETRIEVAL)
    assert all(split.stamps())


def scores_of(split, right):
    """Scores by which every image fits its own captions and no false one, or the other way round."""
    scores = np.zeros((len(split.image_ids), len(split.captions)))
    for comparisons in split.benchmark.scores:
        if comparisons.direction != "t2t":
            for pairs, value in ((comparisons.above, right), (comparisons.below, 1 - right)):
                scores[pairs[:, 0], pairs[:, 1]] = value
    return scores


@pytest.mark.parametrize("name", COMPARISONS)
def test_what_fits_has_every_score_and_what_does_not_has_none(name, tmp_path):
    split = load(name, tmp_path)
    for right in (0.0, 1.0):
        scores = scores_of(split, right)
        result = wb.evaluate(scores=scores, data=split, rounds=50)
        assert not [m for m in result.measurements if m.key.metric in ("R", "rsum", "recall")]
        assert {m.key.metric for m in result.measurements} == {
            score for score in declaration(name).scores if score != "TOT"
        }
        assert {m.value for m in result.measurements} == {right}


@pytest.mark.parametrize("name", COMPARISONS)
def test_chance_is_the_printed_one(name, tmp_path):
    split, declared = load(name, tmp_path), declaration(name)
    score = lambda pairs, _: np.zeros(len(pairs))  # noqa: E731
    printed = declared.chance
    numbers = [m for m, _ in declared_numbers(score, split.benchmark, rounds=0) if not m.key.subset]
    assert [m.key.metric for m in numbers] == list(printed)
    for number in numbers:
        # a caption of few words may have fewer than four shuffles
        assert 100 * number.chance == pytest.approx(
            printed[number.key.metric], abs=6 if "order" in name else 0.01
        )
        assert number.value == 0


@pytest.mark.parametrize("name", ["winoground", "colorswap", "eqben", "cola", "mmvp_vlm", "aro_relation"])
def test_a_bag_of_words_is_at_its_floor(name, tmp_path):
    split = load(name, tmp_path)
    result = wb.evaluate(scores=scores_of(split, 1.0), data=split, rounds=0)
    assert {m.beside["a bag of words at most"] for m in result.measurements} == {0.0}


def test_examples_of_one_photograph_are_drawn_together(tmp_path):
    split = load("sugarcrepe", tmp_path)
    assert split.benchmark.unit == "photographs"
    assert split.benchmark.drawn_with.tolist() == [0, 1, 2, 0, 1, 2]
    assert load("winoground", tmp_path / "w").benchmark.drawn_with.tolist() == list(range(6))


def test_rows_that_people_did_not_confirm_are_left_out_and_counted(tmp_path):
    split = load("valse", tmp_path)
    assert len(split.benchmark.drawn_with) == 4
    assert "2 rows left out, since they do not count in VALSE" in split.notes


def test_a_language_is_chosen_and_a_wrong_one_is_named(tmp_path):
    assert load("xm3600", tmp_path).captions[0].startswith("ein Bild")
    english = data.load("benchmark_sets.sets:xm3600", root=str(tmp_path), language="en")
    assert len(english.captions) == 12
    assert set(english.fields["language"].values) == {"en"}
    with pytest.raises(ValueError, match=r"xm3600: choose a language by language=\.\.\., one of ar, bn"):
        data.load("benchmark_sets.sets:xm3600", root=str(tmp_path))
    with pytest.raises(ValueError, match="xm3600: no language 'dee'; did you mean de"):
        data.load("benchmark_sets.sets:xm3600", root=str(tmp_path), language="dee")


def broken(place, name):
    """Take the last caption's column or text from the first row of a layout, and name the file."""
    declared = declaration(name)
    patterns = [f"{above}{name}" for name in declared.rows.files for above in ("", "*/")]
    file = next(file for pattern in patterns for file in sorted(place.glob(pattern)))
    last = re.findall(r"{([^}\[]+)", declared.rows.captions[-1])[0].replace("<language>", "de")
    text = file.read_text()
    if declared.rows.form == "orders":
        last = "caption"
    if name == "cola":
        rows = json.loads(text)
        rows[0].pop()
        file.write_text(json.dumps(rows))
    elif file.suffix == ".json":
        rows = json.loads(text)
        if declared.rows.form == "objects":
            row = rows
        else:
            row = next(iter(rows.values() if isinstance(rows, dict) else rows))
        del row[last]
        file.write_text(json.dumps(rows))
    else:
        lines = text.splitlines()
        number = 1 if name == "docci" else 0
        row = json.loads(lines[number])
        del row[last]
        lines[number] = json.dumps(row)
        file.write_text("\n".join(lines))
    return file.name


@pytest.mark.parametrize(
    "name", [name for name in names() if name not in NO_ROWS and declaration(name).rows.form != "lines"]
)
def test_a_row_without_a_column_is_named_by_file_and_row(name, tmp_path):
    LAYOUTS[name](tmp_path)
    file = broken(tmp_path, name)
    options = {"language": "de"} if declaration(name).languages else {}
    with pytest.raises(ValueError, match=rf"{re.escape(file)}.* is malformed: "):
        data.load(f"benchmark_sets.sets:{name}", root=str(tmp_path), **options)


@pytest.mark.parametrize(
    ("name", "file", "content", "message"),
    [
        ("mmvp_vlm", "Questions.csv", "ID,Type,Statement\n1,a,b\n", "holds 1 rows, and two are an example"),
        ("mmvp_vlm", "Questions.csv", "ID,Type,Statement\n1,a\n", "row 1: 2 fields, not 3"),
        ("flickr30k_cn", "test/flickr30k_cn_test.txt", "1.jpg 一张\n", "test.txt row 1: expected 'image#k"),
        ("xtd10", "MIC/test_1kcaptions_de.txt", "ein Bild\n", "has 1 lines, and test_image_names.txt has 6"),
        ("urban1k", "caption/0.txt", "\n", "0.txt is malformed: line is"),
        ("winoground", "data/examples.jsonl", "{\n", "examples.jsonl row 1: is not JSON"),
        ("aro_relation", "visual_genome_relation.json", '[{"image_path": "1.jpg", "bbox_x": "a"}]', "is 'a'"),
        ("eqben", "eqben_subset_10percent_final.json", "7", "expected a list of rows"),
    ],
)  # fmt: skip
def test_a_file_of_another_form_is_refused_in_a_line(name, file, content, message, tmp_path):
    LAYOUTS[name](tmp_path)
    (tmp_path / file).write_text(content, encoding="utf-8")
    options = {"language": "de"} if declaration(name).languages else {}
    with pytest.raises(ValueError, match=re.escape(message)):
        data.load(f"benchmark_sets.sets:{name}", root=str(tmp_path), **options)


def test_a_false_caption_that_is_the_caption_itself_counts_against_every_model_and_is_told(tmp_path):
    LAYOUTS["sugarcrepe_pp"](tmp_path)
    file = tmp_path / "data" / "swap_obj.json"
    rows = json.loads(file.read_text())
    rows[0]["negative_caption"] = rows[0]["caption"]
    file.write_text(json.dumps(rows))
    split = data.load("benchmark_sets.sets:sugarcrepe_pp", root=str(tmp_path))
    note = "a false caption is the caption itself in 1 example, which counts against every model"
    assert note in split.notes
    texts = np.random.default_rng(0).normal(size=(len(split.captions), 8))
    same = {caption: row for row, caption in enumerate(split.captions)}
    texts = texts[[same[caption] for caption in split.captions]]
    (itt, *_) = wb.evaluate(
        images=texts[split.own.argsort()[:3]], texts=texts, data=split, rounds=0
    ).measurements
    assert "ties in 1 example" in itt.ties


def test_an_image_that_is_kept_as_an_array_has_its_colours(tmp_path):
    split = load("eqben", tmp_path)
    # blue first in the file: 200, 90, 40
    assert split.open_image(split.image_ids.index("eqbenyoucook2/frame1.npy")).getpixel((3, 3)) == (
        40,
        90,
        200,
    )
    np.save(tmp_path / "image_subset" / "eqbenyoucook2" / "frame0.npy", np.zeros((4, 4)))
    again = data.load("benchmark_sets.sets:eqben", root=str(tmp_path))
    with pytest.raises(ValueError, match=r"row 1: frame0.npy is no image: float64 of shape \(4, 4\)"):
        again.open_image(0)


def test_rows_without_a_caption_in_a_language_are_left_out_and_counted(tmp_path):
    LAYOUTS["xm3600"](tmp_path)
    file = tmp_path / "captions.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[0]["de"]["caption"] = [""]
    write_lines(file, [json.dumps(row) for row in rows])
    split = data.load("benchmark_sets.sets:xm3600", root=str(tmp_path), language="de")
    assert len(split.image_ids) == 5
    assert "1 row left out, since they have no caption" in split.notes


def test_the_mean_of_kinds_of_aro_leaves_out_rare_attributes(tmp_path):
    assert set(load("aro_attribution", tmp_path).benchmark.kinds) <= {""}
    assert declaration("aro_attribution").least_of_kind == 25


@pytest.mark.parametrize("name", names())
def test_a_declaration_says_where_its_columns_and_its_metric_were_checked(name):
    assert declaration(name).checked.startswith("https://")


@pytest.mark.parametrize("name", names())
def test_a_place_without_the_files_says_where_to_get_them(name, tmp_path):
    declared = declaration(name)
    (tmp_path / declared.images).mkdir(parents=True)
    options = {"language": "de"} if declared.languages else {}
    with pytest.raises(FileNotFoundError, match=re.escape(declared.url)):
        data.load(f"benchmark_sets.sets:{name}", root=str(tmp_path), **options)


@pytest.mark.parametrize("name", ["winoground", "sugarcrepe_pp", "multi30k", "docci", "urban1k"])
def test_the_path_of_an_official_layout_says_by_which_name_it_is_read(name, tmp_path):
    LAYOUTS[name](tmp_path)
    with pytest.raises((ValueError, FileNotFoundError), match=f"it holds the files of .*{name}.*with root="):
        data.load(str(tmp_path))
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="holds no data that can be read: nothing"):
        data.load(str(tmp_path / "empty"))


def test_an_image_that_is_missing_is_named_by_its_row(tmp_path):
    LAYOUTS["winoground"](tmp_path)
    (tmp_path / "data" / "images" / "ex_1_img_0.png").unlink()
    url = re.escape(declaration("winoground").url)
    with pytest.raises(FileNotFoundError, match=rf"examples\.jsonl row 2: there is no .*; Get .*{url}"):
        data.load("benchmark_sets.sets:winoground", root=str(tmp_path))


def test_an_image_that_lies_in_two_folders_is_named_with_both(tmp_path):
    LAYOUTS["valse"](tmp_path)
    draw(tmp_path / "images", "val2014/1.jpg")
    with pytest.raises(ValueError, match=r"1\.jpg is not there.*: val2014/1\.jpg, visual7w/1\.jpg; keep one"):
        data.load("benchmark_sets.sets:valse", root=str(tmp_path))


@pytest.mark.parametrize("name", ["sugarcrepe", "sugarcrepe_pp", "valse"])
def test_files_of_kinds_that_are_missing_are_named_with_the_address(name, tmp_path):
    split, declared = load(name, tmp_path), declaration(name)
    kinds = len(set(split.benchmark.kinds))
    (note,) = [note for note in split.notes if declared.url in note]
    assert note.count(".json") == len(declared.rows.files) - kinds


def test_shuffles_keep_the_words_and_move_those_that_they_say():
    words = ["a", "small", "white", "dog", "runs", "behind", "two", "cars"]
    tags = ["DT", "JJ", "JJ", "NN", "VBZ", "IN", "CD", "NNS"]
    nouns, others, within, among = shuffles(words, tags, 3)
    assert all(sorted(text.split()) == sorted(words) for text in (nouns, others, within, among))
    assert [nouns.split()[n] for n in (0, 4, 5, 6)] == ["a", "runs", "behind", "two"]
    assert [others.split()[n] for n in (1, 2, 3, 7)] == ["small", "white", "dog", "cars"]
    assert set(within.split()[:3]) == {"a", "small", "white"}
    assert "a small white" in among
    assert shuffles(words, tags, 3) == [nouns, others, within, among]


def test_the_true_caption_of_an_order_is_cleaned_alone_and_its_shuffles_after_they_are_drawn():
    text = "A man's red T-shirt, near (two) dogs. They run!"
    ((where, row),) = shuffled([("row 1", {"image": "1.jpg", "caption": [text]})])
    assert where == "row 1, caption 0"
    assert row["caption"] == "a man's red t-shirt, near two dogs they run"
    assert 1 <= len(row["shuffles"]) <= 4
    letters = sorted("".join(row["caption"].split()))
    for false in row["shuffles"]:
        assert false != row["caption"]
        assert sorted("".join(false.split())) == letters


def test_text_against_text_is_measured_where_there_are_vectors(tmp_path):
    split = load("sugarcrepe_pp", tmp_path)
    rng = np.random.default_rng(0)
    image, text = rng.normal(size=(len(split.image_ids), 8)), np.zeros((len(split.captions), 8))
    # both positives in one direction, the false caption in another
    text[:, 0], text[2::3, 0], text[2::3, 1] = 1, 0, 1
    result = wb.evaluate(images=image, texts=text, data=split, rounds=0)
    assert result["t2t/TOT"] == 1
    assert "the captions alone" in result.measurements[0].beside


def test_two_models_are_compared_by_examples_and_by_what_runs_keep(tmp_path):
    split = load("winoground", tmp_path / "data")
    results = []
    for right, name in ((1.0, "good"), (0.0, "bad")):
        results.append(wb.evaluate(scores=scores_of(split, right), data=split, name=name))
    table = wb.compare(*results).differences
    text = table[table["key"] == "i2t/text_score"].iloc[0]
    assert text["value"] == -1
    folders = [str(result.save(tmp_path / result.name).parent) for result in results]
    assert wb.compare(*folders).differences["value"].tolist() == table["value"].tolist()


def test_runs_on_a_benchmark_have_a_table_on_the_leaderboard_ordered_by_its_first_score(tmp_path):
    from workbench.views.pages.leaderboard import build

    LAYOUTS["winoground"](tmp_path / "data")
    where = {"name": "benchmark_sets.sets:winoground", "root": str(tmp_path / "data")}
    split = data.load(where)
    for right, name in ((0.0, "worse"), (1.0, "better")):
        result = wb.evaluate(scores=scores_of(split, right), data=where, name=name, rounds=50)
        result.save(tmp_path / "runs" / "evaluate" / name)
    made = build(tmp_path / "runs")
    assert made.left_out == {}
    page = made.html.read_text()
    assert "text score" in page
    assert page.index("better") < page.index("worse")


def test_a_declaration_of_ones_own_is_loaded_by_its_path_and_can_be_frozen(tmp_path):
    LAYOUTS["winoground"](tmp_path / "data")
    file = tmp_path / "data" / "mine.yaml"
    text = (FOLDER / "winoground.yaml").read_text()
    file.write_text(text.replace("name: winoground", "name: mine"))
    split = data.load(str(file))
    assert split.name == "mine/test"
    done = CliRunner().invoke(app, ["data", str(file), "--card"])
    assert done.exit_code == 0, done.output
    frozen = tmp_path / "data" / "mine.frozen.yaml"
    assert "as mine.frozen.yaml froze it: 12 images, 12 captions" in data.load(str(frozen)).notes
    # an example that came later is left out with all its comparisons
    examples = tmp_path / "data" / "data" / "examples.jsonl"
    lines = examples.read_text().splitlines()
    later = json.loads(lines[0]) | {"image_0": "later_0", "image_1": "later_1"}
    draw(tmp_path / "data" / "data" / "images", "later_0.png", "later_1.png")
    write_lines(examples, [*lines, json.dumps(later)])
    again = data.load(str(frozen))
    assert again.benchmark.drawn_with.tolist() == list(range(6))
    assert "2 images that mine.frozen.yaml does not have, left out: later_0.png, later_1.png" in again.notes
    assert len(data.load(str(file)).benchmark.drawn_with) == 7
