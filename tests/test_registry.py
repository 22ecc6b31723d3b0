from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pytest

from workbench.registry import Checked, Count, Positive, check_options, require_row


class Member(Checked):
    def __init__(
        self,
        *,
        margin: Positive = 0.2,
        negatives: Literal["hardest", "sum"] = "sum",
        sizes: tuple[int, ...] = (),
        selection: str | Mapping[str, float | Literal["learned"]] = "p",
        rounds: Count = 0,
    ) -> None:
        self.margin = margin


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"margn": 1.0}, TypeError, "has no option 'margn'; did you mean margin?"),
        ({"margin": "a"}, TypeError, "margin is 'a'; it should be a valid number"),
        ({"margin": True}, TypeError, "margin is True; it should be a valid number"),
        ({"margin": -1}, ValueError, "margin is -1; it should be greater than 0"),
        ({"rounds": 1.5}, TypeError, "rounds is 1.5; it should be a valid integer"),
        (
            {"negatives": "hardst"},
            ValueError,
            "negatives is 'hardst'; did you mean hardest? choose one of hardest, sum",
        ),
        ({"sizes": [1, "b"]}, TypeError, "sizes.1 is 'b'; it should be a valid integer"),
        ({"selection": {"beta": "free"}}, ValueError, "selection.beta is 'free'; choose one of learned"),
    ],
)
def test_an_option_is_refused_with_its_path_and_the_remedy(options: dict[str, Any], error, message: str):
    for attempt in (lambda: check_options("it", Member, options), lambda: Member(**options)):
        with pytest.raises(error) as found:
            attempt()
        assert message in str(found.value)


def test_good_options_pass_and_a_list_stands_for_a_tuple():
    check_options("it", Member, {"margin": 1, "sizes": [1, 2], "selection": {"beta": "learned"}, "rounds": 0})
    assert Member(margin=1).margin == 1


@pytest.mark.parametrize("row", [-1, -7, 5, 1000, True, 2.0, "a", None])
def test_a_row_that_the_data_do_not_have_is_refused_by_name(row):
    require_row("shown", 4, 5)
    require_row("caption", -1, 5, least=-1)
    with pytest.raises((TypeError, ValueError), match=r"^shown is "):
        require_row("shown", row, 5)
