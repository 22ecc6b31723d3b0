"""Every sentence of the tour's page says what the results say, also where they turn out otherwise."""

import pytest

from workbench.execution.summary import summary
from workbench.tour import headline


def compared(sums, truth, undecided=()):
    names = ("vsepp", "infonce", "infonce, positives=exact")
    metrics = {f"{name}: rsum": value for name, value in zip(names, sums, strict=True)}
    for way in ("i2t", "t2i"):
        metrics |= {f"{name}: exact:{way}/map_at_r": value for name, value in zip(names, truth, strict=True)}
    differences = {
        f"{name}, {key}": {"run": name, "key": key, "verdict": "undecided" if key in undecided else "worse"}
        for name in names[1:]
        for key in ("rsum", *(f"exact:{way}/map_at_r" for way in ("i2t", "t2i")))
    }
    contracts = {name: {"low": value - 0.01, "high": value + 0.01} for name, value in metrics.items()}
    return {"models": list(names), "metrics": metrics, "differences": differences, "contracts": contracts}


TITLES = ("A", "B", "C")


def test_the_headline_names_the_best_by_labels_and_by_the_truth():
    said = headline(compared((4.168, 3.819, 2.0), (0.293, 0.223, 0.698)), TITLES)
    others = "mAP@R 69.8 (A 29.3; B 22.3)."
    assert said == (
        "By RSUM over binary labels, A is best: 416.8 (B 381.9; C 200.0). By the exact truth, C finds the "
        f"most true captions of an image: {others} C finds the most true images of a caption: {others} Each "
        "is one run from one seed."
    )


def test_the_headline_says_from_whom_the_best_does_not_differ():
    sums, truth = (4.168, 3.819, 2.0), (0.293, 0.223, 0.698)
    said = headline(compared(sums, truth, undecided=("rsum",)), TITLES)
    assert "C 200.0), no significant difference from B or C. By the exact truth" in said
    said = headline(compared(sums, truth, undecided=("exact:i2t/map_at_r",)), TITLES)
    assert "B 22.3), no significant difference from A. C finds" in said
    # the second and the third were compared with the first alone: their intervals are held against each other
    said = headline(compared(sums, (0.293, 0.69, 0.698)), TITLES)
    assert "B 69.0), no significant difference from B. C finds" in said


def test_the_headline_says_who_is_below_one_list_for_all_images():
    same = {"exact:i2t/map_at_r": 0.338, "exact:t2i/map_at_r": 0.04}
    said = headline(compared((4.168, 3.819, 2.0), (0.293, 0.223, 0.698)) | {"same_list": same}, TITLES)
    assert "has 33.8 percent mAP@R without reading a query; below it are A and B." in said


def test_a_formula_that_orders_against_the_levels_is_said_to():
    metrics = {"tau/printed": -0.728, "tau/l2_sum": 0.993}
    said = summary("01_descriptiveness", {"scorer": "l2_sum", "metrics": metrics})
    assert "-0.728 for DITM's formula as printed and 0.993 for its reading l2_sum" in said


def test_training_says_where_it_began_and_what_the_kept_weights_have():
    history = [{"val/rsum": 0.31}, {"val/rsum": 3.9}, {"val/rsum": 3.7}]
    metrics = {"exact:i2t/map_at_r": 0.293, "exact:t2i/map_at_r": 0.453}
    said = summary("03_train", {"history": history, "metrics": metrics, "kept": [1]})
    assert "went from 31.0 to 390.0" in said
    assert "29.3 percent from images to captions and 45.3 percent from captions to images" in said
    # another number chose the epoch
    said = summary("03_train", {"history": history, "metrics": metrics, "kept": [2]})
    assert "went from 31.0 to 370.0" in said


def test_differences_are_counted_by_who_judges():
    verdicts = {"rsum": "worse", "i2t/R@1": "undecided"}
    verdicts |= {"exact:i2t/map_at_r": "better", "exact:t2i/map_at_r": "worse"}
    differences = {key: {"key": key, "verdict": verdict} for key, verdict in verdicts.items()}
    said = summary("07_compare", {"models": ["a", "b"], "differences": differences}, TITLES)
    assert "Of the differences from A, by binary labels 1 of 2 are worse and 0 better;" in said
    assert "by the exact truth 1 of 2 are worse and 1 better." in said


def test_metrics_are_counted_by_the_order_that_they_give():
    taus = {"i2t/R@1": -1.0, "t2i/R@1": 1.0, "t2i/R@5": 0.3, "truth:t2i/map_at_r": 1.0}
    said = summary("08_relevance", {"orders": {key: {"tau": tau} for key, tau in taus.items()}})
    assert "Of 3 metrics" in said
    assert "1 order the models as the truth does and 1 in reverse (i2t/R@1)" in said


def test_the_explorer_gives_each_model_its_own_rank_whatever_the_order_of_the_file():
    ranks = {
        "infonce: t2i rank of the caption's own image": 2,
        "vsepp: t2i rank of the caption's own image": 47,
    }
    results = {"models": ["vsepp", "infonce"], "metrics": ranks, "question": "some food"}
    said = summary("06_retrieval_explorer", results, ["VSE++", "InfoNCE"])
    assert said.endswith("has rank 47 for VSE++, 2 for InfoNCE.")


@pytest.mark.parametrize("notebook", ["01_descriptiveness", "03_train", "07_compare", "99_other"])
def test_results_that_are_not_there_give_no_sentence(notebook):
    assert summary(notebook, {"metrics": {}}) == ""
