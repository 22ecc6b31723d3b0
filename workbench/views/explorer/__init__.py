"""The retrieval explorer: questions to one or several models over one split, answered side by side."""

from workbench.views.explorer.explorer import Explorer, explore
from workbench.views.explorer.questions import Change, Filters, Question, Term

__all__ = ["Change", "Explorer", "Filters", "Question", "Term", "explore"]
