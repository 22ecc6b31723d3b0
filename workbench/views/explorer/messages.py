"""What the browser asks the kernel for, and the replies: a kind of message, a method."""

from collections.abc import Callable, Mapping
from typing import Any

from workbench.io import format_from_user
from workbench.records import require
from workbench.runs.saved_slices import PREFIX, save_slice
from workbench.runs.ways import WAYS, Way
from workbench.views.explorer.queries import add_column
from workbench.views.explorer.questions import read_question
from workbench.views.explorer.thumbnails import read_upload

Message = Mapping[str, Any]
# what is sent back, with the buffers that go along
Reply = tuple[dict[str, Any], list[bytes]]


class Messages:
    """Replies to the messages that ``exchange.js`` sends.

    Args:
        explorer: an ``Explorer``, that is asked.
    """

    def __init__(self, explorer: Any) -> None:
        self.explorer = explorer
        self.uploads: list[Any] = []
        self._replies: Mapping[str, Callable[[Message], Reply]] = {
            "ask": self.answer,
            "disagreements": self.disagreements,
            "open": self.large_image,
            "suggest": self.suggestions,
            "thumbnails": self.thumbnails,
            "export": self.export,
            "queries": self.queries,
            "condition": self.condition,
            "export-queries": self.export_queries,
            "save-slice": self.save_slice,
        }

    def reply(self, message: Message, buffers: list[memoryview]) -> Reply:
        """Return the reply to a message.

        Raises:
            ValueError: there is no such kind, or a value that ``exchange.js`` does not send.
        """
        kind = message["kind"]
        if kind == "upload":
            return self.upload(str(message["name"]), bytes(buffers[0]))
        require(kind in self._replies, f"the explorer knows no message {kind!r}")
        return self._replies[kind](message)

    def answer(self, message: Message) -> Reply:
        """Answer a question, with the thumbnails that the page has not got yet."""
        explorer = self.explorer
        question = read_question(message["question"], self.uploads, explorer.engine.split)
        answer = explorer.answer_question(question)
        keys, blobs = explorer.thumbnails.new_to(str(message["page"]), answer.keys)
        return {"kind": "answer", "answer": answer.as_dict(), "keys": keys}, blobs

    def disagreements(self, message: Message) -> Reply:
        """List the captions on which runs disagree."""
        differences = self.explorer.engine.disagreements(message["by"])
        thumbnails = [difference["thumbnail"] for difference in differences]
        keys, blobs = self.explorer.thumbnails.new_to(str(message["page"]), thumbnails)
        return {"kind": "disagreements", "found": differences, "keys": keys}, blobs

    def large_image(self, message: Message) -> Reply:
        """Return one image in a larger size."""
        row = int(message["row"])
        return {"kind": "opened", "row": row}, [self.explorer.thumbnails.large_thumbnail(row)]

    def upload(self, name: str, content: bytes) -> Reply:
        """Keep an image or a vector that was uploaded."""
        self.uploads.append(read_upload(name, content))
        return {"kind": "uploaded", "index": len(self.uploads) - 1, "name": name}, []

    def suggestions(self, message: Message) -> Reply:
        """List images and captions of the data that hold some words."""
        suggestions = self.explorer.engine.gallery.suggestions(str(message["text"]))
        return {"kind": "suggestions", "found": suggestions}, []

    def thumbnails(self, message: Message) -> Reply:
        """Return thumbnails of images by their rows."""
        images = len(self.explorer.engine.split.image_ids)
        wanted = [str(key) for key in message["wanted"]]
        require(all(0 <= int(key) < images for key in wanted), f"an image lies outside of 0..{images - 1}")
        keys, blobs = self.explorer.thumbnails.new_to(str(message["page"]), wanted)
        return {"kind": "thumbnails", "keys": keys}, blobs

    def export(self, message: Message) -> Reply:
        """Write the last answer."""
        overwrite = message.get("overwrite") is True
        path = self.explorer.export_below(str(message["path"]), overwrite=overwrite)
        return {"kind": "exported", "path": format_from_user(path)}, []

    def queries(self, message: Message) -> Reply:
        """Return the table of the queries of a direction."""
        names = [str(name) for name in message["names"]]
        table, blobs = self.explorer.engine.queries.table(_direction(message), names)
        return {"kind": "queries", "table": table}, blobs

    def condition(self, message: Message) -> Reply:
        """Return where a condition holds that no field of the table says."""
        label = str(message["label"])
        blobs: list[bytes] = []
        holds = self.explorer.engine.queries.condition(_direction(message), label)
        return {"kind": "condition", "label": label, "column": add_column(holds, blobs)}, blobs

    def export_queries(self, message: Message) -> Reply:
        """Write the selected queries, with what each run answers."""
        table = self.explorer.engine.queries.answers(_direction(message), message["rows"])
        path = self.explorer.export_below(str(message["path"]), table)
        return {"kind": "exported", "path": format_from_user(path)}, []

    def save_slice(self, message: Message) -> Reply:
        """Keep the selected queries as a slice with a name."""
        split = self.explorer.engine.split
        name, about = str(message["name"]), str(message["about"])
        save_slice(split, name, message["rows"], direction=_direction(message), about=about)
        self.explorer.engine.forget_fields()
        return {"kind": "saved-slice", "name": PREFIX + name}, []


def _direction(message: Message) -> Way:
    """Return the direction that a message names."""
    direction = message["direction"]
    require(direction in WAYS, f"there is no direction {direction!r}")
    return WAYS[WAYS.index(direction)]
