def fewest_stamps(postage, stamps):
    used = 0
    for value, count in sorted(stamps, reverse=True):
        taken = min(count, postage // value)
        used += taken
        postage -= taken * value
    return used if postage == 0 else None
