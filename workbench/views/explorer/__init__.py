"""The retrieval explorer: questions to one or several models over one split, answered side by side."""

from workbench.views.explorer.explorer import Explorer
from workbench.views.explorer.questions import Change, Filters, Question, Term

__all__ = ["Change", "Explorer", "Filters", "Question", "Term"]
