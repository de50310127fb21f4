import sys
from itertools import pairwise
from pathlib import Path

import pytest
from made_up_results import made_up

from gemsnn.experiments import Protocol, judge
from gemsnn.experiments.claims import as_records
from gemsnn.experiments.protocol import PUBLISHED_CODE
from gemsnn.experiments.results import read_results, to_json, write_results

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))
from results_page import main

BEGIN, END = "<!-- discussion: begin -->", "<!-- discussion: end -->"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return reproduction(tmp_path / "made", simulated=True)


def reproduction(folder: Path, simulated: bool) -> Path:
    results = made_up(accuracy=lambda K, seed, i: 0.5 + 0.02 * K + 0.001 * seed)
    results.about["data"]["simulated"] = simulated
    results.about["commands"] = [f"gemsnn reproduce --full --out {folder}"]
    results.about["versions"] |= {"python": "3.11", "numpy": "2", "numba": "0", "processor": "a <fast> one"}
    (folder / "figures").mkdir(parents=True)
    (folder / "figures" / "figure-a.svg").write_text("<svg/>")
    write_results(folder / "results.json", to_json(results, as_records(judge(results))))
    return folder


def test_the_page_holds_verdicts_figures_and_numbers(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "docs" / "results.md"
    page.parent.mkdir()
    main([str(folder), "--out", str(page)])
    text = page.read_text()
    assert "\ngemsnn reproduce --full --out made\n" in text  # for other machines
    assert "**supported**" in text
    assert "(figures/results/simulated/figure-a.svg)" in text
    assert (page.parent / "figures/results/simulated/figure-a.svg").exists()
    assert "(results/simulated.md)" in text
    long_page = (page.parent / "results" / "simulated.md").read_text()
    assert "\ngemsnn reproduce --full --out made\n" in long_page
    assert "**supported**" in long_page
    assert "| 20 | -10.00 ± 0.00 | 90.2 ± 0.2 |" in long_page
    assert "(../figures/results/simulated/figure-a.svg)" in long_page
    tables = [line for line in (text + long_page).splitlines() if line.startswith("|")]
    for before, after in pairwise(tables):
        if set(after) <= set("|-:"):
            assert before.replace("\\|", "").count("|") == after.count("|")


def test_what_was_written_by_hand_is_kept(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    main([str(folder), "--out", str(page)])
    page.write_text(page.read_text().replace(BEGIN, f"{BEGIN}\n\nMy thoughts.\n\n").replace("# Results", "# Changed"))
    main([str(folder), "--out", str(page)])
    text = page.read_text()
    assert text.index(BEGIN) < text.index("My thoughts.") < text.index(END)
    assert "# Changed" not in text


def test_a_discussion_of_other_results_is_left_out(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    main([str(folder), "--out", str(page)])
    page.write_text(page.read_text().replace(END, f"My thoughts.\n\n{END}"))
    main([str(folder), str(reproduction(tmp_path / "real", simulated=False)), "--out", str(page)])
    assert "My thoughts." not in page.read_text()


def test_what_other_programs_wrote_is_kept(folder: Path, tmp_path: Path) -> None:
    page, written = tmp_path / "results.md", "<!-- begin: rules -->\n\n| a | table |\n\n<!-- end: rules -->"
    page.write_text(f"# Old\n\n{written}\n\nmore")
    for _ in range(2):
        main([str(folder), "--out", str(page)])
        text = page.read_text()
        assert text.count(f"## Which rule teaches hidden neurons?\n\n{written}\n") == 1
        assert ("# Old" in text, "more" in text.splitlines()) == (False, False)


def test_the_published_codes_choices_are_a_column_of_their_own(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "published"
    protocol = Protocol.make("full", **PUBLISHED_CODE)
    results = made_up(protocol=protocol, accuracy=lambda K, seed, i: 0.7)
    results.about["data"]["simulated"] = True
    results.about["commands"] = [f"gemsnn reproduce --full --out {folder}"]
    results.about["versions"] |= {"python": "3.11", "numpy": "2", "numba": "0", "processor": "one"}
    (other / "figures").mkdir(parents=True)
    (other / "figures" / "figure-a.svg").write_text("<svg/>")
    write_results(other / "results.json", to_json(results, as_records(judge(results))))
    page = tmp_path / "results.md"
    main([str(folder), str(other), "--out", str(page)])
    text = page.read_text()
    assert "| claim | Simulated recordings | Simulated recordings, the published code |" in text
    assert "| 20 | -10.00 ± 0.00, 90.2 ± 0.2 % | -10.00 ± 0.00, 70.0 ± 0.0 % |" in text
    assert text.index("figure-a.svg") < text.index("| claim |") < text.index("## How the verdicts are made")
    assert (tmp_path / "figures/results/simulated-the-published-code/figure-a.svg").exists()


def test_the_first_folder_comes_first_and_reproductions_of_one_name_have_pages_of_their_own(
    folder: Path, tmp_path: Path
) -> None:
    page = tmp_path / "results.md"
    first = reproduction(tmp_path / "first", simulated=True)
    main([str(first), str(folder), "--out", str(page)])
    text = page.read_text()
    assert "| claim | Simulated recordings | Simulated recordings (made) |" in text
    assert text.index("(results/simulated.md)") < text.index("(results/simulated-made.md)")
    for name in ("simulated", "simulated-made"):
        assert (tmp_path / "results" / f"{name}.md").exists()
        assert (tmp_path / "figures" / "results" / name / "figure-a.svg").exists()


def test_a_missing_reproduction_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"error: .*results\.json"):
        main([str(tmp_path / "nothing"), "--out", str(tmp_path / "results.md")])


def test_names_cannot_break_the_page_or_enter_it(tmp_path: Path) -> None:
    folder = reproduction(tmp_path / "made", simulated=True)
    results, _ = read_results(folder / "results.json")
    hostile = ['"><script>alert(1)</script>', "a|b", "[x](y)", "`c`", "one\n# two", "*d*"]
    results.about["data"]["classes"] = hostile
    write_results(folder / "results.json", to_json(results, as_records(judge(results))))
    page = tmp_path / "results.md"
    main([str(folder), "--out", str(page)])
    text = page.read_text()
    assert "<script" not in text
    assert (
        r"""of "&gt;&lt;script&gt;alert(1)&lt;/script&gt;, a\|b, \[x\](y), \`c\`, one�\# two, \*d\*, T = 80""" in text
    )
