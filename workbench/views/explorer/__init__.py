"""The retrieval explorer: questions to one or several models over one split, answered side by side.

A question is a sum of terms: words, images, captions, vectors. ``bars.js`` collects them, ``exchange.js``
sends them, ``Explorer`` has ``questions.read_question`` read them, and ``engine.Engine`` answers: for each
run an ``Answerer`` makes the scores, ``gallery`` the list and its grades, ``notes`` the sentences. The
``Answer`` goes back through ``exchange.js``, and ``gallery.js`` draws it.

What packages add next to the answers is a ``Panel`` (``panels.py``): it may reword or move a question, and
draws what it computes.
"""

from workbench.views.explorer.explorer import Explorer, explore
from workbench.views.explorer.panels import Panel
from workbench.views.explorer.questions import Filters, Question, Term

__all__ = ["Explorer", "Filters", "Panel", "Question", "Term", "explore"]
