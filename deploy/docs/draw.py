"""Draws the README's pictures from the running product: `python deploy/docs/draw.py`."""

import re
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from progressive import odds_tables
from progressive.config.load import load_site
from progressive.data_folder import example_site
from progressive.odds_report import royal9_report

HERE = Path(__file__).parent


def main() -> None:
    """Write every picture beside this file."""
    site = load_site(example_site()).site
    if site is None:
        raise ValueError("the example has errors: progressive check names them")
    link = site.links[0]
    seating = site.tables[0].seating(link.paytable)
    must_hit = link.must_hit.terms if link.must_hit else None
    report = royal9_report(link.paytable, seating, link.decks, link.terms, must_hit)
    console = Console(record=True, width=odds_tables.WIDTH, file=StringIO(), highlight=False)
    console.print(odds_tables.royal9_table(report))
    console.print(odds_tables.levels_table(report))
    console.print(odds_tables.returns_text(report))
    title = "progressive odds royal_9 --site site.toml"
    svg = console.export_svg(title=title, theme=MONOKAI, unique_id="odds")
    # A picture loads nothing from elsewhere: the viewer's own fixed-width font will do.
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL).replace("Fira Code, ", "")
    (HERE / "odds.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
