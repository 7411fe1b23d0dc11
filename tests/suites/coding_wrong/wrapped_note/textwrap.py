import textwrap


def wrapped_note(text, width, indent):
    return textwrap.wrap(text, width, subsequent_indent=" " * indent)
