RANK = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "~": 3, "^": 4}


def expression_value(text, names):
    """Two stacks: values, and operators that wait."""
    values, waiting, place, operand_next = [], [], 0, True

    def carry_out():
        operator = waiting.pop()
        right = values.pop()
        if operator == "~":
            values.append(-right)
            return
        left = values.pop()
        if operator == "^":
            if right < 0 or right > 100:
                raise ValueError
            values.append(left**right)
        elif operator == "*":
            values.append(left * right)
        elif operator in "/%":
            sign = -1 if (left < 0) ^ (right < 0) else 1
            quotient = sign * (abs(left) // abs(right))
            values.append(quotient if operator == "/" else left - right * quotient)
        else:
            values.append(left + right if operator == "+" else left - right)

    def kind(sign):
        return "digit" if sign in "0123456789" else "name" if sign in "abcdefghijklmnopqrstuvwxyz_" else sign

    try:
        while place < len(text):
            sign = text[place]
            start, place = place, place + 1
            if sign == " ":
                continue
            if kind(sign) in ("digit", "name"):
                while place < len(text) and kind(text[place]) == kind(sign):
                    place += 1
                word = text[start:place]
                if not operand_next:
                    return "error"
                values.append(int(word) if kind(sign) == "digit" else names[word])
                operand_next = False
            elif sign == "(" and operand_next:
                waiting.append("(")
            elif sign == ")" and not operand_next:
                while waiting[-1] != "(":
                    carry_out()
                waiting.pop()
            elif sign == "-" and operand_next:
                waiting.append("~")
            elif sign in RANK and sign != "~" and not operand_next:
                while waiting and waiting[-1] != "(" and sign != "^" and RANK[waiting[-1]] >= RANK[sign]:
                    carry_out()
                waiting.append(sign)
                operand_next = True
            else:
                return "error"
        if operand_next or "(" in waiting:
            return "error"
        while waiting:
            carry_out()
        return values[0]
    except (ValueError, KeyError, IndexError, ZeroDivisionError):
        return "error"
