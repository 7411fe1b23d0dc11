def longest_pause(times):
    times.sort()
    return max((later - earlier for earlier, later in zip(times, times[1:])), default=0)
