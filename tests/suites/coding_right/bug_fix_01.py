def longest_pause(times):
    """Look for each departure's next one."""
    longest = 0
    for time in times:
        later = [other for other in times if other > time]
        if later:
            longest = max(longest, min(later) - time)
    return longest
