import re

TOKEN = re.compile(r" *([0-9]+|[a-z_]+|[-+*/%^()])")


def tokens_of(text):
    """Split the text; raises ValueError at a sign that belongs to nothing."""
    tokens, place = [], 0
    text = text.rstrip(" ")
    while place < len(text):
        found = TOKEN.match(text, place)
        if found is None:
            raise ValueError(text)
        tokens.append(found[1])
        place = found.end()
    return [*tokens, ""]


class Parser:
    """Reads tokens from left to right, one method for each rank of operators."""

    def __init__(self, text, names):
        self._tokens = tokens_of(text)
        self._names = names
        self._place = 0

    def whole(self):
        """Return the value of all tokens."""
        value = self._sum()
        if self._token():
            raise ValueError(self._token())
        return value

    def _token(self):
        return self._tokens[self._place]

    def _taken(self, wanted):
        token = self._token()
        if not token or token not in wanted:
            return ""
        self._place += 1
        return token

    def _sum(self):
        value = self._product()
        while operator := self._taken("+-"):
            other = self._product()
            value += other if operator == "+" else -other
        return value

    def _product(self):
        """Return the value of factors from left to right."""
        value = self._signed()
        while operator := self._taken("*/%"):
            other = self._signed()
            if operator == "*":
                value *= other
                continue
            quotient = abs(value) // abs(other)  # rounded towards zero
            quotient = -quotient if (value < 0) != (other < 0) else quotient
            value = quotient if operator == "/" else value - quotient * other
        return value

    def _signed(self):
        """Return the value of an operand with its signs and its power."""
        if self._taken("-"):
            return -self._signed()
        base = self._operand()
        if not self._taken("^"):
            return base
        exponent = self._signed()
        if not 0 < exponent <= 100:
            raise ValueError(exponent)
        return base**exponent

    def _operand(self):
        """Return the value of a number, a name or what stands in brackets."""
        token = self._token()
        self._place += 1
        if token.isdigit():
            return int(token)
        if token == "(":
            value = self._sum()
            if not self._taken(")"):
                raise ValueError(self._token())
            return value
        return self._names[token]


def expression_value(text, names):
    """Return the value of the expression, or "error"."""
    try:
        return Parser(text, names).whole()
    except (ValueError, KeyError, IndexError, ZeroDivisionError):
        return "error"
