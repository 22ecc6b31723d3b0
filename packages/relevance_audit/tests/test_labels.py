import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from relevance_audit import Labels, candidates, judgement_labels


def test_labels_are_on_disk_at_once_and_go_on_where_they_stopped(tmp_path):
    path = tmp_path / "labels.json"
    first = Labels(path, "ann")
    first.add("a", "b0", "valid")
    first.add("b", "c1", "invalid")
    again = Labels(path, "ann")
    again.add("c", "a0", "unsure")
    rows = Labels(path, "bob").table()[["image", "caption", "label", "annotator"]].values.tolist()
    assert rows[:2] == [["a", "b0", "valid", "ann"], ["b", "c1", "invalid", "ann"]]
    assert rows[2:] == [["c", "a0", "unsure", "ann"]]
    assert again.label_of("a", "b0") == "valid"
    assert Labels(path, "bob").label_of("a", "b0") == ""


def test_a_later_label_holds_and_undo_brings_the_earlier_one_back(tmp_path):
    labels = Labels(tmp_path / "labels.json", "ann")
    labels.add("a", "b0", "valid")
    labels.add("a", "b0", "invalid")
    assert (labels.label_of("a", "b0"), len(labels)) == ("invalid", 1)
    assert labels.undo().label == "invalid"
    assert labels.label_of("a", "b0") == "valid"
    assert labels.undo().label == "valid"
    assert labels.undo() is None
    assert len(Labels(tmp_path / "labels.json", "ann")) == 0


def test_undo_takes_back_ones_own_label_only(tmp_path):
    ann, bob = Labels(tmp_path / "labels.json", "ann"), Labels(tmp_path / "labels.json", "bob")
    ann.add("a", "b0", "valid")
    bob.add("a", "b0", "invalid")
    ann.undo()
    assert [decision.annotator for decision in ann.labels_in_force()] == ["bob"]


def test_two_annotators_share_a_file_and_the_majority_settles(tmp_path):
    people = [Labels(tmp_path / "labels.json", name) for name in ("ann", "bob", "cy")]
    for person, label in zip(people, ("valid", "invalid", "valid"), strict=True):
        person.add("a", "b0", label)
    people[0].add("b", "c1", "valid")
    people[1].add("b", "c1", "invalid")
    people[2].add("c", "a0", "unsure")
    assert Labels(tmp_path / "labels.json", "dee").settled_labels() == {
        ("a", "b0"): "valid",
        ("b", "c1"): "unsure",
        ("c", "a0"): "unsure",
    }


KILLED = """
import sys
from relevance_audit.labels import Labels
labels = Labels(sys.argv[1], "ann")
for number in range(100_000):
    labels.add("a", f"c{number}", "valid")
    sys.stdout.write(f"{number}\\n"); sys.stdout.flush()
"""


def test_a_killed_process_loses_no_label(tmp_path):
    path = tmp_path / "labels.json"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(20):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    printed = 20 + len(process.stdout.read().splitlines())
    process.stdout.close()
    process.wait()
    labels = Labels(path, "ann")
    # the last one may lie on the disk though its process died before it said so
    assert printed <= len(labels) <= printed + 1
    labels.add("b", "next", "invalid")
    assert json.loads(path.read_text())["decisions"][0]["caption"] == "c0"
    assert len(Labels(path, "ann")) == len(labels)


def test_two_people_who_label_at_the_same_time_lose_nothing(tmp_path):
    path = tmp_path / "labels.json"

    def label(name):
        labels = Labels(path, name)
        for number in range(25):
            labels.add("a", f"c{number}", "valid")

    with ThreadPoolExecutor(2) as people:
        list(people.map(label, ["ann", "bob"]))
    assert Labels(path, "cy").table()["annotator"].value_counts().to_dict() == {"ann": 25, "bob": 25}


def test_a_judgement_can_take_the_place_of_a_person(split, scores, tmp_path):
    table = candidates(scores, split, {"exact": split.judgements["exact"]}, k=3)
    labels = Labels(tmp_path / "labels.json", "exact")
    labels.add_all(judgement_labels(table, "exact"))
    assert labels.settled_labels()["a", "b0"] == "valid"
    assert set(labels.settled_labels().values()) == {"valid", "invalid"}
    assert len(labels) == len(table.drop_duplicates(["image", "caption"]))


def test_what_is_no_label_is_refused(tmp_path):
    labels = Labels(tmp_path / "labels.json", "ann")
    with pytest.raises(ValueError, match="'right' is none of valid, invalid, unsure"):
        labels.add("a", "b0", "right")
    with pytest.raises(ValueError, match="the annotator has no name"):
        Labels(tmp_path / "labels.json", " ")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match=r"other.json is not a file of labels"):
        Labels(tmp_path / "other.json", "ann")
    spoilt = '{"format": "workbench labels 1", "decisions": [{"image": "a"}]}'
    (tmp_path / "spoilt.json").write_text(spoilt)
    with pytest.raises(ValueError, match=r"spoilt.json holds a label that cannot be read"):
        Labels(tmp_path / "spoilt.json", "ann")
    (tmp_path / "half.json").write_text('{"format": ')
    with pytest.raises(ValueError, match=r"half.json is not a file of labels"):
        Labels(tmp_path / "half.json", "ann")
