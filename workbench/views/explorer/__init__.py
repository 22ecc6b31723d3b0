"""The retrieval explorer: questions to one or several models over one split, answered side by side.

A question is a sum of terms: words, images, captions, vectors. ``bars.js`` collects them, ``exchange.js``
sends them, ``Explorer`` has ``questions.asked_by`` read them, and ``engine.Engine`` answers: for each run an
``Asker`` makes the scores, ``gallery`` the list and its grades. The ``Answer`` goes back through
``exchange.js``, and the panels draw it. A new kind of term is one more of ``questions.Kind``, with what it
means in ``Term``, ``questions._term``, ``Asker.embedding`` and ``engine.OTHER``, and a control in
``bars.js``.
"""

from workbench.views.explorer.explorer import Explorer, explore
from workbench.views.explorer.questions import Change, Filters, Question, Term

__all__ = ["Change", "Explorer", "Filters", "Question", "Term", "explore"]
