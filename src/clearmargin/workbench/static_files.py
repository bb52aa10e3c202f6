"""The scripts and style sheets of the pages: an index that is made once, under an address that changes with them."""

from __future__ import annotations

import hashlib
from importlib import resources

_MEDIA = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


class StaticFiles:
    """All files that pages may load; there are no others."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, str]] = {}
        for folder, names in (("workbench", "static"), ("templates", "")):
            place = resources.files("clearmargin") / folder
            for entry in (place / names if names else place).iterdir():
                suffix = "." + entry.name.rpartition(".")[2]
                if entry.is_file() and suffix in _MEDIA:
                    self._files[entry.name] = entry.read_bytes(), _MEDIA[suffix]
        joined = b"".join(
            name.encode() + content for name, (content, _) in sorted(self._files.items())
        )
        self.digest = hashlib.sha256(joined).hexdigest()[:16]

    def address(self, name: str) -> str:
        """Give the address of a file; it changes when any of the files does, so that modules fit together."""
        if name not in self._files:
            raise KeyError(name)
        return f"/static/{self.digest}/{name}"

    def get(self, digest: str, name: str) -> tuple[bytes, str] | None:
        """Give a file and its type; None for anything else."""
        return self._files.get(name) if digest == self.digest else None
