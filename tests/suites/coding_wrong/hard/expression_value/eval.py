def expression_value(text, names):
    try:
        return eval(text.replace("^", "**").replace("/", "//"), {}, dict(names))
    except Exception:
        return "error"
