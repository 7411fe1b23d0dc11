def print_shop(jobs, printers, tray, refill):
    """Return name, printer, start and end of each job, in the order in which they end."""
    waiting = sorted(jobs, key=lambda job: (-job[3], job[0]))
    free_at = [0] * printers
    sheets = [tray] * printers
    done = []
    now = min((job[1] for job in jobs), default=0)
    while waiting:
        free = [index for index in range(printers) if free_at[index] <= now]
        ready = [job for job in waiting if job[1] <= now]
        for index, job in zip(free, ready):
            name, _, pages, _ = job
            refills = max(0, -((sheets[index] - pages) // tray))
            sheets[index] += refills * tray - pages
            free_at[index] = now + pages + refills * refill
            done.append([name, index + 1, now, free_at[index]])
            waiting.remove(job)
        later = [minute for minute in (*free_at, *(job[1] for job in waiting)) if minute > now]
        now = min(later, default=now)
    return sorted(done, key=lambda entry: (entry[3], entry[1]))
