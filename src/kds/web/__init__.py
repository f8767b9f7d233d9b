"""The web page: pages by noun, served by the resident service behind a door of its own.

A page is a module of this package and a template. To add one:

1. The module offers ``routes``, made of views. A view gets a `Visit` and returns a response::

       routes = (get("/memory", show), post("/memory/wipe", wipe))

       async def show(visit: Visit) -> Response:
           found = await visit.archive(lambda: all_sessions(visit.served.memory_if_any()))
           return visit.page("memory.html", title="Memory", sessions=found)

       async def wipe(visit: Visit) -> Response:
           await visit.archive(lambda: visit.served.memory.delete(visit.text("session")))
           return visit.go("/memory", "It is gone.")

   What reads or writes a store runs on the archivist's thread (`Visit.archive`), what routes on
   the router's (`Visit.route`); a view itself does nothing that takes time. `KdsError` becomes a
   page, or with htmx a message, that says what, where and how to mend it. Never write to the
   page's own address over HTTP: call what the API calls.

2. Its template extends ``layout.html`` and fills the block ``main``. ``ui`` are the macros of
   ``macros.html``: alert, chip, table, empty, pager, confirm, form (with its CSRF field), figure.
   Everything is escaped; ``|safe`` stands behind `kds.web.markup` alone. No inline script or
   style: classes are in ``static/kds.css``. With htmx a view may answer with a part of a page
   (`Visit.part`), and has to work without.

3. It joins ``PAGES`` in `kds.web.site`; then it stands in the navigation.

New templates and static files are found once the package is installed anew (strict editable).
Tests: ``tests/kds/web/conftest.py`` has a running page (``site``), a browser (``browser``).
"""
