"""What is true of every signal."""

from __future__ import annotations

import inspect

import pytest

from workbench import text
from workbench.text.signal import Maker, RelevanceMaker, SignalMaker


@pytest.mark.parametrize("name", text.names())
def test_a_member_makes_signals_or_relevance_under_the_name_of_its_file(name):
    member = text.member(name)
    assert issubclass(member, SignalMaker) != issubclass(member, RelevanceMaker)
    assert member.name == name


@pytest.mark.parametrize("name", text.names())
def test_a_member_takes_its_options_by_keyword_and_refuses_unknown_ones(name):
    options = list(inspect.signature(text.member(name)).parameters.values())
    assert all(
        option.kind is option.KEYWORD_ONLY and option.default is not option.empty for option in options
    )
    with pytest.raises(TypeError, match="has no option 'pool_of_nothing'"):
        text.load(name, pool_of_nothing=1)


def test_a_maker_without_anything_to_learn_has_an_empty_state():
    maker = Maker()
    assert maker.state() == {}
    assert maker.restore({}) is maker
