"""From a site file's link to what its meters and its journal are told."""

from typing import Any

import msgspec

from meters.definitions import LinePay, LinkDefinition, TableDefinition, Terms
from meters.levels import Level
from progressive.config.values import Link, MustHit, Site, Table
from progressive.draws.must_hit import Parameters
from progressive.rules.must_hit import Distribution, Segment
from progressive.rules.royal9 import STAKE_MICROS, Fixed, Pay, Royal9Paytable


def link_definition(site: Site, link: Link) -> LinkDefinition:
    """Say everything that a link's journal needs in order to be understood by itself."""
    levels = list(link.levels)
    if link.must_hit:
        levels.append(_must_hit(link.must_hit))
    return LinkDefinition(
        link=link.name,
        terms=terms_of(link),
        levels=levels,
        tables=[_table(table) for table in site.tables_of(link.name)],
    )


def terms_of(link: Link) -> Terms:
    """Give a link's paytable and who may pay what."""
    return Terms(
        paytable=link.paytable_name,
        stake_micros=STAKE_MICROS,
        lines=pays_of(link.paytable),
        hand_pay_above_micros=link.hand_pay_above_micros,
        two_person_above_micros=link.two_persons_above_micros,
        simultaneous_seconds=link.simultaneous.within_seconds or 0,
    )


def pays_of(paytable: Royal9Paytable) -> dict[str, LinePay]:
    """Give what every line of a paytable pays."""
    return {line: _pay(pay) for line, pay in paytable.pays.items()}


def _pay(pay: Pay) -> LinePay:
    if isinstance(pay, Fixed):
        return LinePay(amount_micros=pay.amount_micros)
    return LinePay(pay.level, pay.percent)


def _must_hit(must_hit: MustHit) -> Level:
    return msgspec.structs.replace(
        must_hit.level,
        maximum_micros=must_hit.maximum_micros,
        distribution=distribution_body(must_hit.distribution),
    )


def _table(table: Table) -> TableDefinition:
    return TableDefinition(
        table.name,
        table.asset,
        table.kind,
        table.seats,
        table.decks,
        [f"K{face}9{nine}" for face, nine in table.combinations],
    )


def distribution_body(distribution: Distribution) -> dict[str, Any]:
    """Write a trigger's distribution as the journal has it."""
    return {
        "name": distribution.name,
        "version": distribution.version,
        "segments": [[part.upto_micros, part.weight] for part in distribution.segments],
    }


def draw_parameters(level: Level) -> Parameters:
    """Give what a Must Hit level's trigger depends on."""
    if level.maximum_micros is None or level.distribution is None:
        raise ValueError(f"{level.name} is no Must Hit level")
    body = level.distribution
    segments = tuple(Segment(upto, weight) for upto, weight in body["segments"])
    return Parameters(
        level.reset_micros,
        level.maximum_micros,
        level.increment_ppm,
        level.reserve_ppm,
        Distribution(body["name"], body["version"], segments),
    )
