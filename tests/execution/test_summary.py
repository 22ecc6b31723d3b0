"""Every sentence of the tour's page says what the results say, also where they turn out otherwise."""

import pytest

from workbench.execution.summary import describe_leader, summary


def compared(sums, truth):
    names = ("A", "B", "C")
    metrics = {f"{name}: rsum": value for name, value in zip(names, sums, strict=True)}
    metrics |= {f"{name}: exact:i2t/map_at_r": value for name, value in zip(names, truth, strict=True)}
    contracts = {name: {"low": value - 0.01, "high": value + 0.01} for name, value in metrics.items()}
    return {"models": list(names), "metrics": metrics, "contracts": contracts, "differences": {}}


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        ((0.223, 0.293, 0.698), " By the truth C is the best."),
        ((0.293, 0.223, 0.698), " By the truth C is the best."),
        ((0.693, 0.223, 0.698), " By the truth no model is significantly better."),
    ],
)
def test_the_first_sentence_says_what_the_favourite_of_the_labels_finds(truth, said):
    assert describe_leader(compared((4.168, 3.819, 2.0), truth)) == f"By RSUM A leads.{said}"


def test_models_that_do_not_differ_significantly_share_the_lead():
    near = compared((4.168, 4.15, 2.0), (0.22, 0.26, 0.7))
    assert describe_leader(near) == "By RSUM two models tie. By the truth C is the best."
    best = compared((4.168, 4.15, 2.0), (0.22, 0.71, 0.7))
    assert describe_leader(best).endswith("no model is significantly better than B.")
    below = near | {"same_list": {"exact:i2t/map_at_r": 0.3}}
    assert describe_leader(below).endswith("By the truth both lose to a list that never looks at the image.")
    # the paired comparison goes before intervals, which may overlap all the same
    near["differences"] = {"": {"key": "rsum", "run": "B", "verdict": "worse"}}
    assert describe_leader(near).startswith("By RSUM A leads. By the truth C")


def test_a_formula_that_orders_against_the_levels_is_said_to():
    metrics = {"tau/printed": -0.728, "tau/l2_sum": 0.993}
    said = summary("01_descriptiveness", {"scorer": "l2_sum", "metrics": metrics})
    assert "as printed scores generic captions higher than specific ones." in said
    assert "is -0.728; that of the reading l2_sum is 0.993." in said
    metrics["tau/printed"] = 0.2
    assert "specific captions higher than generic" in summary(
        "01_descriptiveness", {"scorer": "l2_sum", "metrics": metrics}
    )


def test_training_says_where_it_began_and_what_the_kept_weights_have():
    history = [{"val/rsum": 0.31}, {"val/rsum": 3.9}, {"val/rsum": 3.7}]
    metrics = {"exact:i2t/map_at_r": 0.293, "exact:t2i/map_at_r": 0.453}
    said = summary("03_train", {"history": history, "metrics": metrics, "kept": [1]})
    assert "of the model from 31.0 to 390.0 on validation images" in said
    assert "its mAP@R is 29.3 from image to text and 45.3 from text to image." in said
    # another number chose the epoch
    said = summary("03_train", {"history": history, "metrics": metrics, "kept": [2]})
    assert "from 31.0 to 370.0" in said


def test_differences_are_counted_by_model():
    verdicts = {"rsum": "worse", "i2t/R@1": "undecided"}
    verdicts |= {"exact:i2t/map_at_r": "better", "exact:t2i/map_at_r": "worse"}
    differences = {key: {"key": key, "run": "B", "verdict": verdict} for key, verdict in verdicts.items()}
    differences["C"] = {"key": "rsum", "run": "C", "verdict": "better"}
    said = summary("07_compare", {"models": ["A", "B", "C"], "differences": differences})
    assert said == (
        "B is significantly better than A in 1 of 4 metrics, and worse in 2. "
        "C is significantly better than A in 1 of 1 metric, and worse in 0."
    )


def test_metrics_are_counted_by_the_order_that_they_give():
    taus = {"i2t/R@1": -1.0, "t2i/R@1": 1.0, "t2i/R@5": 0.3, "truth:t2i/map_at_r": 1.0}
    key = "truth:i2t/map_at_r"
    pairs = [{"key": key, "better": "C", "worse": "A"}, {"key": key, "better": "A", "worse": "B"}]
    orders = {key: {"tau": tau} for key, tau in taus.items()}
    said = summary("08_relevance", {"orders": orders, "differences": pairs})
    assert said.startswith("From image to text, the order of the reference is C, A, B.")
    assert said.endswith(
        "The other metrics give 3 orders, one for each metric and direction. 1 is the order of the "
        "reference. 1 is its reverse, such as R@1, image to text."
    )


@pytest.mark.parametrize(("last", "said"), [(0.9, "both are 90.0"), (0.8, "these are 90.0 and 80.0")])
def test_texts_that_find_an_image_are_counted_by_both_judges(last, said):
    answered = {"exact": [1.0, 0.9], "own": [0.1, last]}
    told = summary("05_hierarchy", {"models": ["A"], "texts_answered@5": answered})
    assert told.startswith(
        "A true image is among the first five of A for 100.0 percent of the most generic captions, the "
        "annotated image for 10.0 percent."
    )
    assert told.endswith(f"For the most specific captions, {said} percent.")


def test_the_explorer_gives_each_model_its_own_rank_whatever_the_order_of_the_file():
    ranks = {
        "InfoNCE: t2i rank of the annotated image": 2,
        "VSE++: t2i rank of the annotated image": 47,
    }
    results = {"models": ["VSE++", "InfoNCE"], "metrics": ranks, "question": "some food"}
    said = summary("06_retrieval_explorer", results)
    assert said.endswith("has rank 47 in VSE++ and 2 in InfoNCE.")


@pytest.mark.parametrize("notebook", ["01_descriptiveness", "03_train", "07_compare", "99_other"])
def test_results_that_are_not_there_give_no_sentence(notebook):
    assert summary(notebook, {"metrics": {}}) == ""
