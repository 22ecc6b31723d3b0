import numpy as np
import pytest
from numpy.testing import assert_allclose
from relevance_audit import Labels, candidates, corrected_judgements, judgement_labels, recompute_metrics

from tests.metrics.families import ranking, recall
from workbench.records import Judgements

LABELS = {("a", "b0"): "valid", ("b", "c1"): "invalid", ("c", "a0"): "unsure"}


def test_valid_pairs_become_relevant_and_unsure_ones_stay_as_they_were(split):
    own = split.judgements["own"]
    after = corrected_judgements(own, LABELS, split)
    expected = own.relevant()
    expected[0, 2] = True
    np.testing.assert_array_equal(after.relevant(), expected)
    # the pair found invalid is listed with grade 0, so that qrels say that somebody looked at it
    assert (1, 5) in set(zip(after.images.tolist(), after.captions.tolist(), strict=True))
    assert "1 pairs valid, 1 invalid" in after.rule


def test_a_pair_that_a_judgement_called_relevant_can_be_taken_back(split):
    exact = split.judgements["exact"]
    after = corrected_judgements(exact, {("a", "b0"): "invalid", ("a", "a0"): "valid"}, split)
    expected = exact.relevant()
    expected[0, 2] = False
    np.testing.assert_array_equal(after.relevant(), expected)


def test_graded_judgements_keep_grades_that_the_labels_agree_with(split):
    grades = np.array([5.0, 2.0, 4.0], dtype=np.float32)
    rated = Judgements(
        "human",
        "0-5",
        (3, 6),
        np.array([0, 0, 1]),
        np.array([0, 1, 2]),
        grades,
        relevant_from=3.0,
        unlisted=None,
    )
    labels = {("a", "a0"): "valid", ("a", "a1"): "valid", ("b", "b0"): "invalid", ("c", "c0"): "invalid"}
    after = corrected_judgements(rated, labels, split).dense()
    # kept, raised to the least relevant grade, taken back, judged for the first time
    assert [after[0, 0], after[0, 1], after[1, 2], after[2, 4]] == [5.0, 3.0, 0.0, 0.0]
    assert np.isnan(after[2, 5])


def test_when_the_truth_labels_every_pair_the_corrected_labels_are_the_truth(split, scores, tmp_path):
    labels = Labels(tmp_path / "labels.json", "exact")
    labels.add_all(
        judgement_labels(candidates(scores, split, {"exact": split.judgements["exact"]}, k=6), "exact")
    )
    after = corrected_judgements(split.judgements["own"], labels.settled_labels(), split)
    np.testing.assert_array_equal(after.relevant(), split.judgements["exact"].relevant())


def test_ids_of_another_split_are_refused(split):
    with pytest.raises(ValueError, match=r"1 image ids are not in the split of 3, e.g. 'z'"):
        corrected_judgements(split.judgements["own"], {("z", "a0"): "valid"}, split)


def test_every_metric_by_corrected_judgements_equals_that_of_judgements_made_by_hand(split, scores):
    own = split.judgements["own"]
    by_hand = own.relevant()
    by_hand[0, 2] = True
    images, captions = np.nonzero(by_hand)
    judged_by_hand = Judgements(
        "made", "by hand", own.shape, images, captions, np.ones(len(images), dtype=np.float32)
    )
    both = {"before": own, "after": corrected_judgements(own, LABELS, split)}
    table = recompute_metrics({"toy": scores}, both, split.own, rounds=50)
    for measure, options in ((recall, {}), (ranking, {"graded": False})):
        for name, judgements in (("before", own), ("after", judged_by_hand)):
            for measurement in measure(scores, judgements, own=split.own, rounds=50, **options):
                row = table.loc[("toy", measurement.key.local), name]
                # a number without an interval has NaN for its ends
                ends = np.array([measurement.low, measurement.high], dtype=float)
                assert_allclose([row["value"], row["low"], row["high"]], [measurement.value, *ends])
    # by hand: caption b0 finds image a first; by its own label that is an error, of 6 captions 4 hit, then 5
    assert_allclose(table.loc[("toy", "t2i/R@1"), ("before", "value")], 4 / 6)
    assert_allclose(table.loc[("toy", "t2i/R@1"), ("after", "value")], 5 / 6)
    assert table.index.get_level_values("key").is_unique


def test_several_runs_stand_in_one_table_in_their_order(split, scores):
    table = recompute_metrics(
        {"z": scores, "a": -scores}, {"own": split.judgements["own"]}, split.own, rounds=0
    )
    assert table.index.get_level_values("run").unique().tolist() == ["z", "a"]
    assert table[("own", "low")].isna().all()
