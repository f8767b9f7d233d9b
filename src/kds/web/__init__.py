"""The web page: pages by noun, served by the resident service behind authentication of its own.

A page is a module of this package and a template. To add one:

1. The module offers ``routes`` made of views, each of which takes a `RequestContext`::

       routes = (get("/memory", show), post("/memory/wipe", wipe))

       async def show(context: RequestContext) -> Response:
           found = await context.archive(lambda: all_sessions(context.served.memory_if_any()))
           return context.page("memory.html", title="Memory", sessions=found)

   What reads or writes a store runs on the archivist's thread (`RequestContext.archive`), what
   routes on the router's (`RequestContext.route`). `KdsError` becomes a page, or with htmx a
   message, that says what, where and how to fix it.

2. Its template extends ``layout.html`` and fills the block ``main``. ``ui`` are the macros of
   ``macros.html``. Everything is escaped; ``|safe`` stands behind `kds.web.rendering` alone. No
   inline script or style. With htmx a view may answer with a part of a page
   (`RequestContext.part`), and has to work without.

3. It joins ``PAGES`` in `kds.web.site`; then it stands in the navigation.

Tests: ``tests/kds/web/conftest.py`` has a running page (``site``), a browser (``browser``).
"""
