"""The picture of a host: what is in it (boxes), where it goes (layout), how it looks (draw)."""
