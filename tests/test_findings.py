"""Every sentence of the tour's page says what the results say, also where they turn out otherwise."""

import pytest

from workbench.execution.findings import finding
from workbench.tour.headline import headline


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


def test_the_headline_names_both_winners_where_the_labels_mislead():
    said = headline(compared((4.168, 3.819, 2.0), (0.293, 0.223, 0.698)), TITLES)
    assert "A is best (416.8 for A, 381.9 for B, 200.0 for C)" in said
    assert "C is best with 69.8 percent, where A has 29.3: RSUM would have misled." in said
    assert "Caption to image, C is best with 69.8 percent, where A has 29.3." in said


def test_the_headline_says_from_whom_the_best_is_not_told_apart():
    sums, truth = (4.168, 3.819, 2.0), (0.293, 0.223, 0.698)
    assert "not told apart" not in headline(compared(sums, truth), TITLES)
    said = headline(compared(sums, truth, undecided=("rsum",)), TITLES)
    assert "200.0 for C), not told apart from B or C. Asked" in said
    said = headline(compared(sums, truth, undecided=("exact:i2t/map_at_r",)), TITLES)
    assert "where A has 29.3, not told apart from A. Caption" in said
    assert "misled" not in said
    # the second and the third were compared with the first alone: their intervals are held against each other
    said = headline(compared(sums, (0.293, 0.69, 0.698)), TITLES)
    assert "where A has 29.3, not told apart from B. Caption" in said


def test_the_headline_says_who_is_below_one_list_for_all_images():
    results = compared((4.168, 3.819, 2.0), (0.293, 0.223, 0.698))
    said = headline(
        results | {"same_list": {"exact:i2t/map_at_r": 0.338, "exact:t2i/map_at_r": 0.04}}, TITLES
    )
    assert said.endswith(
        "One list of captions for every image, the most often true first, has 33.8 percent mAP@R without "
        "reading a query; below it are A and B. Each is one run from one seed."
    )


def test_the_headline_says_so_where_both_choose_the_same_model():
    said = headline(compared((4.168, 3.819, 2.0), (0.8, 0.223, 0.698)), TITLES)
    assert said.endswith("chooses the same model.")
    assert "misled" not in said


def test_a_formula_that_orders_against_the_levels_is_said_to():
    metrics = {"tau/printed": -0.728, "tau/l2_sum": 0.993}
    said = finding("01_descriptiveness", {"scorer": "l2_sum", "metrics": metrics})
    assert "printed orders a chain of captions against how much they say (Kendall's tau -0.728)" in said
    assert "l2_sum orders a chain of captions by how much they say" in said


def test_training_says_where_it_began_and_what_the_kept_weights_have():
    history = [{"val/rsum": 0.31}, {"val/rsum": 3.9}, {"val/rsum": 3.7}]
    metrics = {"exact:i2t/map_at_r": 0.293, "exact:t2i/map_at_r": 0.453}
    said = finding("03_train", {"history": history, "metrics": metrics, "kept": [1]})
    assert "went from 31.0 to 390.0" in said
    assert "29.3 percent from images to captions and 45.3 percent from captions to images" in said
    # another number chose the epoch
    said = finding("03_train", {"history": history, "metrics": metrics, "kept": [2]})
    assert "went from 31.0 to 370.0" in said


def test_differences_are_counted_by_who_judges():
    verdicts = {"rsum": "worse", "i2t/R@1": "undecided"}
    verdicts |= {"exact:i2t/map_at_r": "better", "exact:t2i/map_at_r": "worse"}
    differences = {key: {"key": key, "verdict": verdict} for key, verdict in verdicts.items()}
    said = finding("07_compare", {"models": ["a", "b"], "differences": differences}, TITLES)
    assert (
        "Of the differences from A, by binary labels 1 of 2 are for the worse and 0 for the better;" in said
    )
    assert "by the exact truth 1 of 2 are for the worse and 1 for the better." in said


def test_metrics_are_counted_by_the_order_that_they_give():
    taus = {"i2t/R@1": -1.0, "t2i/R@1": 1.0, "t2i/R@5": 0.3, "truth:t2i/map_at_r": 1.0}
    said = finding("08_relevance", {"orders": {key: {"tau": tau} for key, tau in taus.items()}})
    assert "Of 3 metrics" in said
    assert "1 put the models in the truth's order and 1 in the reverse (i2t/R@1)" in said


def test_the_explorer_gives_each_model_its_own_rank_whatever_the_order_of_the_file():
    ranks = {
        "infonce: t2i rank of the caption's own image": 2,
        "vsepp: t2i rank of the caption's own image": 47,
    }
    results = {"models": ["vsepp", "infonce"], "metrics": ranks, "question": "some food"}
    said = finding("06_retrieval_explorer", results, ["VSE++", "InfoNCE"])
    assert said.endswith("the rank of its own image is 47 for VSE++, 2 for InfoNCE.")


@pytest.mark.parametrize("notebook", ["01_descriptiveness", "03_train", "07_compare", "99_other"])
def test_results_that_are_not_there_give_no_sentence(notebook):
    assert finding(notebook, {"metrics": {}}) == ""
