"""A simulated shoe reader: posts a round's cards one by one, each until it is answered."""

from links.hub import Hub

PATH = "/v1/cards"


class ShoeReader(Hub):
    """A hub's numbering and keeping, for cards; the fourth of a locked round deals it."""

    def read(self, round_: int, card: str) -> None:
        """Take up the next card."""
        self.keep({"round": round_, "card": card})
