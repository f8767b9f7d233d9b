"""JSON for the hook, without the 7 ms that `import json` costs (see `kds.hooks.client`)."""

from kds.hooks.trouble import Trouble

try:
    from _json import encode_basestring, make_scanner
except ImportError:  # an interpreter that is not CPython
    make_scanner = None  # type: ignore[assignment,misc]


class _Settings:
    """What `_json.make_scanner` asks of a decoder, set as in `json.loads`."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def parsed(content: bytes) -> object:
    r"""Parse one JSON text in UTF-8. Raises Trouble when it is none.

    >>> parsed(b' {"prompt": "Make it purple"}\n')
    {'prompt': 'Make it purple'}
    """
    try:
        text = content.decode("utf-8-sig").strip()  # PowerShell may put a byte order mark first
        if make_scanner is None:
            import json

            return json.loads(text)
        value, end = make_scanner(_Settings)(text, 0)  # type: ignore[arg-type]  # duck typed
    except (StopIteration, SystemError, ValueError, RecursionError):
        # SystemError: the scanner wants `json.decoder` for its error, which is not loaded
        raise Trouble("the input is not JSON") from None
    if end != len(text):
        raise Trouble("the input is not JSON")
    return value


def written(text: str) -> bytes:
    r"""Write one JSON string in UTF-8; half a surrogate pair becomes its escape.

    >>> written('a "b"')
    b'"a \\"b\\""'
    """
    if make_scanner is None:
        import json

        return json.dumps(text).encode()
    return encode_basestring(text).encode("utf-8", "backslashreplace")
