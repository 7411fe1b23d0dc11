def initials(name, words=[]):
    """Return the initials of a name, hyphens kept between the parts of a word."""
    words += [[part for part in word.split("-") if part] for word in name.split(" ")]
    shortened = ["-".join(part[0].upper() + "." for part in parts) for parts in words]
    return " ".join(word for word in shortened if word)
