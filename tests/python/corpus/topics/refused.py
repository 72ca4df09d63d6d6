"""Tables that a reader must refuse before it reads any data, because they have a reader feature that it cannot honour."""

from __future__ import annotations

import json

from corpus.case import Make, add_case


def _add_refused(feature: str) -> None:
    def make(t: Make) -> None:
        t.append(t.frame("SELECT id FROM range(3)"))
        actions = t.commit_actions(0)
        for action in actions:
            if "protocol" in action:
                action["protocol"] = {
                    "minReaderVersion": 3,
                    "minWriterVersion": 7,
                    "readerFeatures": [feature],
                    "writerFeatures": [feature, "appendOnly"],
                }
        t.commit_file(0).write_text("".join(json.dumps(action) + "\n" for action in actions))
        for name in (f".{0:020}.json.crc", f"{0:020}.crc", f".{0:020}.crc.crc"):
            (t.log_dir() / name).unlink()

    add_case("refused_" + feature.lower().replace("-", "_"), make, refused=(feature,))


for _feature in ("catalogManaged", "catalogOwned-preview", "redirectReaderWriter-preview", "aFeatureOfTheFuture"):
    _add_refused(_feature)
