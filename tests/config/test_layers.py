"""Two axes: the more specific scope wins, and within a scope the nearer source."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from overspill.config.layers import Layer, Scope, Source, settle
from overspill.config.settings import BUDGET, LIMIT, SETTINGS

NAMES = [setting.name for setting in SETTINGS]
SINGLE = [name for name in NAMES if name not in (*BUDGET, *LIMIT)]

layers = st.lists(
    st.builds(
        Layer,
        st.sampled_from(Scope),
        st.sampled_from(Source),
        st.uuids().map(str),
        st.dictionaries(st.sampled_from(NAMES), st.integers(1, 1000), max_size=5),
        st.integers(0, 3),
    ),
    max_size=12,
    unique_by=lambda layer: (layer.scope, layer.source, layer.nearness),
)


@given(layers)
def test_the_weightiest_layer_that_names_a_setting_wins(given_layers: list[Layer]) -> None:
    settled = settle(given_layers)
    for name in SINGLE:
        naming = [layer for layer in given_layers if name in layer.values]
        if not naming:
            assert name not in settled
            continue
        winner = max(naming, key=lambda layer: (layer.scope, layer.source, layer.nearness))
        assert settled[name] == (winner.values[name], winner.origin)


@given(layers)
def test_whoever_names_one_size_names_the_budget(given_layers: list[Layer]) -> None:
    settled = settle(given_layers)
    for group in (BUDGET, LIMIT):
        naming = [layer for layer in given_layers if set(group) & set(layer.values)]
        expected = {}
        if naming:
            winner = max(naming, key=lambda layer: (layer.scope, layer.source, layer.nearness))
            expected = {name: (winner.values[name], winner.origin) for name in group if name in winner.values}
        assert {name: settled[name] for name in group if name in settled} == expected


@given(st.permutations(list(Scope)), st.data())
def test_the_order_in_which_layers_come_means_nothing(scopes: list[Scope], data: st.DataObject) -> None:
    made = [Layer(scope, data.draw(st.sampled_from(Source)), scope.name, {"keep": scope.name}) for scope in scopes]
    assert settle(made) == settle(reversed(made))
    assert settle(made)["keep"].value == "CALL"
