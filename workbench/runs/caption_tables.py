"""The captions of a split with its fields as a table, and the split that such a table is of."""

from typing import Any

import numpy as np
import pandas as pd

from workbench.data.fields import field_of_captions
from workbench.data.images import raise_no_image
from workbench.records import Split

COLUMNS = ("id", "image", "caption")


def caption_table(split: Split) -> pd.DataFrame:
    """Return a row a caption: its id, the id of its image, the text, its level and chain where the data have
    them, and the fields of both.

    Args:
        split: any. A field that is called as one of these columns gets ``_field`` behind its name.
    """
    images = [split.image_ids[row] for row in split.own]
    columns: dict[str, list[Any]] = {
        "id": list(split.caption_ids),
        "image": images,
        "caption": list(split.captions),
    }
    for name, rows in {"level": split.level, "chain": split.chain}.items():
        if rows is not None:
            columns[name] = rows.tolist()
    for name, field in split.fields.items():
        cells = field.take(split.own).cells() if field.owner == "image" else field.cells()
        columns[f"{name}_field" if name in columns else name] = cells
    return pd.DataFrame(columns)


def split_of_table(name: str, captions: pd.DataFrame, image_ids: pd.Series) -> Split:
    """Return the split that a table is of, without images.

    Args:
        name: of the split.
        captions: as ``caption_table`` gives them.
        image_ids: in the order of the split.
    """
    own = pd.Index(image_ids).get_indexer(pd.Index(captions["image"])).astype(np.int64)
    fields = {}
    for column in [column for column in captions.columns if column not in COLUMNS]:
        cells = captions[column].astype(object).where(captions[column].notna(), None).tolist()
        fields[column] = field_of_captions(column, cells, own, len(image_ids), "captions that a run kept")
    texts = tuple(captions["caption"]), tuple(captions["id"])
    return Split(name, tuple(image_ids), *texts, own, raise_no_image, fields=fields)
