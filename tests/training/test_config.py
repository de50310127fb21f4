import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import own_parts
import pytest

import gemsnn
from gemsnn import ConfigError
from gemsnn.experiments.protocol import Protocol
from gemsnn.model.topologies import TOPOLOGIES
from gemsnn.rules import RULES
from gemsnn.rules.rule import own_fields
from gemsnn.training import PRESETS, TrainingConfig, read_config, trainer_of, write_config
from gemsnn.training.config import differences, parse_assignment


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("n_hidden", -1, ">= 0"),
        ("n_compartments", 0, ">= 1"),
        ("n_compartments", "many", "a whole number, >= 1"),
        ("rule.learning_rate", -1e-3, "a finite number of at least 0"),
        ("rule.learning_rate", float("nan"), "a finite number"),
        ("rule.learning_rate", "fast", "a finite number"),
        ("rule.kappa", -1, "must lie in [0, 1]"),
        ("rule.gamma", 1.5, "must lie in (0, 1]"),
        ("rule.gain", -1, "a finite number of at least 0"),
        ("rule.kind", "hebb", "'gem', 'mb', 'iw', 'feedback'"),
        ("topology.kind", "star", "'fully-connected', 'layers', 'random', 'file'"),
        ("readout", "softmax", "'bernoulli', 'winner-take-all'"),
        ("epochs", 0, ">= 1"),
        ("epochs", 1.5, "a whole number"),
        ("decoder", "guess", "'vote', 'likelihood', 'per-step'"),
        ("learning_rate_schedule", "steps", "'constant', 'linear', 'cosine'"),
        ("validation_fraction", 1.0, "< 1"),
        ("average_last", 2, "<= 1"),
        ("patience", -1, ">= 0"),
        ("dtype", "float16", "'float32', 'float64'"),
        ("seed", -1, ">= 0"),
        ("seed", True, "true or false is not a value for it"),
        ("epochs", False, "true or false is not a value for it"),
        ("inference_compartments", 0, "a whole number (or left out), >= 1"),
    ],
)
def test_an_impossible_value_is_refused_with_the_field_and_what_is_allowed(field, value, allowed):
    with pytest.raises(ConfigError) as refusal:
        TrainingConfig.make(**{field: value})
    assert field in str(refusal.value)
    assert allowed in str(refusal.value)


def test_every_problem_is_named_at_once():
    with pytest.raises(ConfigError, match=r"epochs = 0.*seed = -3"):
        TrainingConfig.make(epochs=0, seed=-3)
    with pytest.raises(ConfigError, match=r"epochs = 0.*rule\.kappa must lie in|rule\.kappa must lie in.*epochs = 0"):
        TrainingConfig.make(epochs=0, rule={"kappa": 2})


def test_an_unknown_setting_is_refused_with_the_one_that_was_meant():
    with pytest.raises(ConfigError, match=r"epocs: there is no such setting; did you mean epochs\?"):
        TrainingConfig.make(epocs=1)
    with pytest.raises(
        ConfigError, match=r"rule\.lerning_rate: there is no such setting; did you mean learning_rate\?"
    ):
        TrainingConfig.make(rule={"lerning_rate": 1})
    with pytest.raises(ConfigError, match=r"synaptic_filter\.time_constant: .*did you mean time_constants\?"):
        TrainingConfig.make(synaptic_filter={"time_constant": 2})


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (
            {"synaptic_filter": {"kind": "raised-cosine", "n_basis": 0}},
            r"synaptic_filter\.n_basis must be .*at least 1",
        ),
        (
            {"somatic_filter": {"kind": "sine"}},
            r"somatic_filter\.kind = 'sine': .*'raised-cosine', 'exponential', 'taps'",
        ),
        ({"somatic_filter": {"kind": "exponential", "time_constants": [0.0]}}, r"somatic_filter.*time_constants"),
        ({"extra_decoders": [{"kind": "vote", "compartments": 0}]}, r"extra_decoders\.0\.compartments = 0.*>= 1"),
        ({"somatic_filter": {"n_basis": 11, "duration": 10}}, r"somatic_filter\..*n_basis=11, duration=10"),
    ],
)
def test_problems_inside_tables_are_named_with_their_place(settings, names):
    with pytest.raises(ConfigError, match=names):
        TrainingConfig.make(**settings)


def test_early_stopping_without_validation_examples_is_a_contradiction():
    with pytest.raises(ConfigError, match="patience needs validation examples"):
        TrainingConfig.make(patience=2, validation_fraction=0)


def test_a_rule_that_compares_compartments_needs_two_of_them():
    for rule, name in ((gemsnn.GEM(centred=True), "centred"), (gemsnn.IW(), "baseline")):
        with pytest.raises(
            ConfigError, match=rf"n_compartments = 1, rule\.{name}.* compar\w+ compartments; use 2 or more"
        ):
            TrainingConfig.make(rule=rule)
        for allowed in ({"n_compartments": 2}, {"n_hidden": 0}):
            assert TrainingConfig.make(rule=rule, **allowed).rule == rule
    assert TrainingConfig.make(rule=gemsnn.GEM()).rule == gemsnn.GEM()


def test_evaluations_are_either_regular_or_at_chosen_points():
    with pytest.raises(ConfigError, match="eval_every and eval_at cannot both be given"):
        TrainingConfig.make(eval_every=10, eval_at=[3])


@pytest.mark.parametrize("given", [gemsnn.RaisedCosine(2, 7, 0.5), gemsnn.Exponential((1.5, 4.0), 7)])
def test_filters_may_be_given_as_objects(given):
    config = TrainingConfig.make(synaptic_filter=given, somatic_filter=given)
    assert config.network(4, 2).synaptic_filter == config.network(4, 2).somatic_filter == given


def test_the_paper_preset_has_the_paper_s_settings_and_can_be_changed():
    config = TrainingConfig.make(preset="paper", n_compartments=5)
    assert config.rule == gemsnn.GEM(learning_rate=1e-3, kappa=0.9, gamma=0.9)
    assert config.n_hidden == 200
    assert (config.n_compartments, config.decoder, config.main_decoder.compartments) == (5, "vote", 5)
    network = config.network(676, 3)
    assert network.synaptic_filter == gemsnn.RaisedCosine(n_basis=3, duration=10)
    with pytest.raises(ConfigError, match=r"preset = 'article'.*'paper'"):
        TrainingConfig.make(preset="article")


def test_the_documentation_has_every_setting_with_its_default():
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", page, re.MULTILINE))
    for name, field in TrainingConfig.model_fields.items():
        if name.endswith("_filter") or name in ("rule", "topology", "objective"):
            assert name in rows
        elif field.default is None:
            assert rows[name] == "none", name
        else:
            value = json.loads(rows[name].strip("`"))
            assert (tuple(value) if isinstance(value, list) else value) == field.default, name


def test_the_documentation_has_every_rule_and_graph_with_its_own_settings():
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (.+)$", page, re.MULTILINE))
    for kind, rule in RULES.items():
        for field in own_fields(rule):
            assert f"`{field.name} = {json.dumps(field.default)}`" in rows[kind]
    for kind, graph in TOPOLOGIES.items():
        for field in dataclasses.fields(graph):
            assert f"`{field.name}" in rows[kind]


@pytest.mark.parametrize("preset", [None, *PRESETS])
def test_settings_survive_the_file(tmp_path, preset):
    config = TrainingConfig.make(
        preset=preset,
        rule={"learning_rate": 1e-7},
        eval_every=123,
        synaptic_filter=gemsnn.Exponential((1.5, 4.0), 7),
        extra_decoders=[{"kind": "likelihood", "compartments": 2}, {}],
    )
    file = tmp_path / "config.toml"
    file.write_text(write_config(config, data='/data/\u00fc ber"digits\\.h5'))
    again, data = read_config(file)
    assert again == config
    assert str(data) == '/data/\u00fc ber"digits\\.h5'


def test_what_a_file_leaves_out_can_be_left_out():
    """None is not written to a file, so every setting that may be None must be None by default."""
    for name, field in TrainingConfig.model_fields.items():
        if type(None) in getattr(field.annotation, "__args__", ()):
            assert field.default is None, name


def test_flags_go_before_the_file_and_the_file_before_the_preset(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('preset = "paper"\nn_compartments = 3\nepochs = 7\n')
    config, data = read_config(file, epochs=9)
    assert (config.rule.learning_rate, config.n_compartments, config.epochs, data) == (1e-3, 3, 9, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n_hidden = ", "not a TOML file"),
        ("n_hiden = 3", "did you mean n_hidden"),
        ("data = 3", "data = 3: must be the path"),
        ('preset = "x"', "preset = 'x'"),
    ],
)
def test_problems_in_a_file_are_told_with_its_name(tmp_path, text, message):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message) as refusal:
        read_config(file)
    assert str(file) in str(refusal.value)


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(ConfigError, match=r"nowhere\.toml: cannot be read: No such file"):
        read_config("nowhere.toml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("epochs=3", 3),
        ("learning_rate = 1e-3", 1e-3),
        ("decoder=vote", "vote"),
        ("patience=none", None),
        ("visible_memory=false", False),
        ("extra_decoders=[{kind = 'likelihood'}]", [{"kind": "likelihood"}]),
    ],
)
def test_values_on_the_command_line_are_read_as_toml(text, value):
    assert parse_assignment(text)[1] == value


def test_an_assignment_without_a_value_is_refused():
    with pytest.raises(ConfigError, match="FIELD=VALUE"):
        parse_assignment("epochs")


def test_numpy_numbers_will_do():
    config = TrainingConfig.make(n_hidden=np.int64(4), rule={"learning_rate": np.float32(0.5)})
    assert (config.n_hidden, config.rule.learning_rate) == (4, 0.5)
    json.dumps(config.identity())


def test_the_machine_s_settings_are_not_part_of_the_identity():
    one, other = TrainingConfig.make(threads=1), TrainingConfig.make(threads=2, checkpoint_seconds=1)
    assert one.identity() == other.identity()
    assert differences(one.identity(), TrainingConfig.make(seed=1).identity()) == ["seed was 0 and is now 1"]


def test_the_paper_s_preset_is_the_paper_s_whatever_the_defaults_are():
    paper = TrainingConfig.make(preset="paper")
    assert (paper.n_hidden, paper.n_compartments, paper.main_decoder.compartments) == (200, 20, 20)
    assert paper.synaptic_filter == paper.somatic_filter == gemsnn.RaisedCosine(n_basis=3, duration=10)
    assert (paper.visible_memory, paper.average_last, paper.decoder, paper.readout) == (True, 0.0, "vote", "bernoulli")
    for position in (0, 99):
        assert paper.schedule.rule_at(paper.rule, position, 100) == gemsnn.GEM(learning_rate=1e-3, kappa=0.9, gamma=0.9)
    labels = np.arange(30) % 3
    reproduced = Protocol.make("full").training(20, 0, labels, 80)
    changed = {name for name, value in paper.identity().items() if reproduced.identity()[name] != value}
    assert changed <= {"epochs", "validation_fraction", "eval_at", "extra_decoders"}


def test_everything_that_decides_what_the_paper_s_preset_computes_is_written_down():
    # The weights of a reproduction with a given seed are to stay the same from version to version.
    cosines = {"kind": "raised-cosine", "n_basis": 3, "duration": 10, "offset": 1.0}
    expected = {
        "merge_polarities": True,
        "n_hidden": 200,
        "topology": {"kind": "fully-connected", "lateral": False},
        "readout": "bernoulli",
        "synaptic_filter": cosines,
        "somatic_filter": cosines,
        "visible_memory": True,
        "hidden_bias": -2.0,
        "visible_bias": 0.0,
        "weight_scale": 1.0,
        "n_compartments": 20,
        "rule": {"kind": "gem", "learning_rate": 1e-3, "kappa": 0.9, "gamma": 0.9, "centred": False, "beta": 1.0},
        "objective": {"kind": "likelihood"},
        "mean_free": False,
        "learning_rate_schedule": "constant",
        "average_last": 0.0,
        "shift": 0,
        "decoder": "vote",
        "likelihood_samples": 20,
        "dtype": "float32",
    }
    identity = TrainingConfig.make("paper").identity()
    assert {name: identity[name] for name in expected} == expected


def test_the_read_out_of_classes_is_one_circuit_and_that_of_labels_and_patterns_is_not():
    for kind, circuits in (("classes", 1), ("labels", 0), ("patterns", 0)):
        data = own_parts.data(kind)
        assert len(trainer_of(TrainingConfig.make(n_hidden=2), data).network.circuits.competing) == circuits
        assert not trainer_of(TrainingConfig.make(n_hidden=2, readout="bernoulli"), data).network.circuits.competing
        assert not trainer_of(TrainingConfig.make("paper", n_hidden=2), data).network.circuits.competing


def test_the_learning_rate_falls_as_the_schedule_says():
    constant = TrainingConfig.make(rule={"learning_rate": 2.0}, learning_rate_schedule="constant")
    linear = constant.changed(learning_rate_schedule="linear", learning_rate_floor=0.1)
    cosine = linear.changed(learning_rate_schedule="cosine")
    for config, rates in (
        (constant, (2.0, 2.0, 2.0, 2.0)),
        (linear, (2.0, 1.55, 1.1, 0.2)),
        (cosine, (2.0, 0.2 + 1.8 * (1 + np.sqrt(0.5)) / 2, 1.1, 0.2)),
    ):
        found = [config.schedule.rule_at(config.rule, position, 100).learning_rate for position in (0, 25, 50, 100)]
        assert found == pytest.approx(rates)


def test_a_run_is_as_long_as_the_shorter_of_epochs_and_time_samples():
    assert TrainingConfig.make(epochs=3).schedule.total(n_examples=10, n_steps=80) == 30
    assert TrainingConfig.make(epochs=3, max_time_samples=801).schedule.total(n_examples=10, n_steps=80) == 11
    assert TrainingConfig.make(epochs=1, max_time_samples=8001).schedule.total(n_examples=10, n_steps=80) == 10


# ---- tables with a kind


def test_a_table_changes_only_what_it_names():
    config = TrainingConfig.make(rule={"gain": 3})
    assert config.rule == gemsnn.Feedback(gain=3)
    assert config.changed(rule={"kappa": 0.5}).rule == gemsnn.Feedback(kappa=0.5, gain=3)
    assert TrainingConfig.make("paper", rule={"centred": True}).rule == gemsnn.GEM(centred=True)
    assert TrainingConfig.make("paper", somatic_filter={"duration": 7}).somatic_filter == gemsnn.RaisedCosine(3, 7)


def test_another_kind_starts_from_its_own_defaults():
    assert TrainingConfig.make(rule={"kind": "mb"}).rule == TrainingConfig.make(rule="mb").rule == gemsnn.MB()
    assert TrainingConfig.make("paper", rule="feedback").rule == gemsnn.Feedback()


def test_names_with_a_dot_mean_the_field_of_a_table():
    config = TrainingConfig.make(**{"rule": "gem", "rule.learning_rate": 0.5, "topology.kind": "fully-connected"})
    assert config.rule == gemsnn.GEM(0.5)
    assert config.changed(**{"rule.gamma": 0.3}).rule == gemsnn.GEM(0.5, gamma=0.3)


@pytest.mark.parametrize("rule", [gemsnn.MB(baseline=None), gemsnn.IW(baseline=None), gemsnn.IW(baseline=0.5)])
def test_every_rule_survives_the_file(rule, tmp_path):
    (tmp_path / "config.toml").write_text(write_config(TrainingConfig.make(rule=rule)))
    assert read_config(tmp_path / "config.toml")[0].rule == rule
    if rule.baseline is None:
        assert 'baseline = "none"' in (tmp_path / "config.toml").read_text()


def test_a_file_and_flags_may_both_say_something_of_one_table(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('n_compartments = 3\n[rule]\nkind = "gem"\nlearning_rate = 0.5\n')
    assert read_config(file, **{"rule.kappa": 0.7})[0].rule == gemsnn.GEM(0.5, kappa=0.7)
    assert read_config(file, rule="gem")[0].rule == gemsnn.GEM(0.5)
    assert read_config(file, rule="mb")[0].rule == gemsnn.MB()


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"learning_rate": 1e-3}, r"learning_rate: is a setting of the rule since version 0\.2: rule\.learning_rate"),
        ({"kappa": 0.9}, r"rule\.kappa"),
        ({"gamma": 0.9}, r"rule\.gamma"),
        ({"centred": True}, r'rule\.kind = "gem", rule\.centred'),
        ({"feedback": 10}, r'rule\.kind = "feedback" with rule\.gain'),
        ({"extra_readouts": []}, r"extra_decoders"),
    ],
)
def test_settings_of_version_0_1_are_refused_with_their_new_place(settings, hint):
    with pytest.raises(ConfigError, match=hint):
        TrainingConfig.make(**settings)


def test_differences_are_told_field_by_field():
    one, other = (TrainingConfig.make(rule=rule).identity() for rule in (gemsnn.Feedback(), gemsnn.GEM()))
    assert differences(one, other) == [
        'rule.beta was "(not set)" and is now 1.0',
        'rule.centred was "(not set)" and is now false',
        'rule.gain was 10.0 and is now "(not set)"',
        'rule.kind was "feedback" and is now "gem"',
        "rule.learning_rate was null and is now 0.001",
        'rule.pressure was 3.0 and is now "(not set)"',
        'rule.target_rate was 0.2 and is now "(not set)"',
    ]
