def print_shop(jobs, printers, tray, refill):
    """Go minute by minute and page by page."""
    state = [{"sheets": tray, "job": None, "pages": 0, "wait": 0} for _ in range(printers)]
    todo, result, minute = [list(job) for job in jobs], [], min([job[1] for job in jobs], default=0)
    while todo or any(printer["job"] for printer in state):
        for number, printer in enumerate(state, 1):
            if printer["job"] and printer["pages"] == 0:
                result.append((minute, number, printer["job"], printer["start"]))
                printer["job"] = None
        for printer in state:
            here = [job for job in todo if job[1] <= minute]
            if printer["job"] is None and here:
                best = min(here, key=lambda job: (-job[3], job[1], job[0]))
                todo.remove(best)
                printer.update(job=best[0], pages=best[2], start=minute)
        for printer in state:
            if printer["job"] is None:
                continue
            if printer["sheets"] == 0 and printer["wait"] == 0:
                printer["wait"] = refill
                if refill == 0:
                    printer["sheets"] = tray
            if printer["wait"]:
                printer["wait"] -= 1
                if printer["wait"] == 0:
                    printer["sheets"] = tray
                continue
            printer["sheets"] -= 1
            printer["pages"] -= 1
        minute += 1
    return [[name, number, start, end] for end, number, name, start in sorted(result, key=lambda row: row[:2])]
