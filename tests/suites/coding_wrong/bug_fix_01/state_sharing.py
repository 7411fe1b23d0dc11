longest = 0


def longest_pause(times):
    global longest
    ordered = sorted(times)
    for earlier, later in zip(ordered, ordered[1:]):
        longest = max(longest, later - earlier)
    return longest
