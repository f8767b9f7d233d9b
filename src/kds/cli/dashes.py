"""Messages that begin with a dash, as a pasted list, a diff or the result of a test does."""

import click


class MessageCommand(click.Command):
    """A command that takes what click knows as no option for words, if there is a space in it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line; a space in front keeps click from taking words for an option."""
        try:
            return super().parse_args(ctx, [*args])
        except click.NoSuchOption as error:
            read = [f" {word}" if _is_said(word, error.option_name) else word for word in args]
            if read == args:
                raise
        return self.parse_args(ctx, read)


def _is_said(word: str, option: str) -> bool:
    return word.startswith(option) and len(word.split(maxsplit=1)) > 1
