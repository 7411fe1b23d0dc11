import fnmatch
import json
import os
import shutil
import sys


class Refused(Exception):
    pass


def load(path, kind):
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise Refused(f"{path}: {error}")
    if not isinstance(data, kind):
        raise Refused(f"{path}: wrong form")
    return data


def check_rule(rule):
    if not isinstance(rule, dict) or sorted(rule) != ["match", "to"]:
        raise Refused("bad rule")
    if not isinstance(rule["match"], str) or not isinstance(rule["to"], str):
        raise Refused("bad rule")
    for part in rule["to"].split("/"):
        if part in ("", ".", "..") or "\0" in part:
            raise Refused(f"bad destination {rule['to']!r}")


def content(path):
    with open(path, "rb") as file:
        return file.read()


def candidates(folder, name):
    yield f"{folder}/{name}"
    stem, suffix = os.path.splitext(name)
    number = 1
    while True:
        yield f"{folder}/{stem}-{number}{suffix}"
        number += 1


def check_folder(base, relative):
    place = base
    for part in relative.split("/"):
        place = os.path.join(place, part)
        if os.path.islink(place):
            raise OSError(f"{place} is a link")
        if os.path.lexists(place) and not os.path.isdir(place):
            raise OSError(f"{place} is in the way")


def choose(base, name, relative, planned):
    check_folder(base, relative)
    mine = content(os.path.join(base, name))
    for path in candidates(relative, name):
        full = os.path.join(base, path)
        if path in planned:
            if planned[path] == mine:
                return path, False
        elif not os.path.lexists(full):
            planned[path] = mine
            return path, True
        elif os.path.isfile(full) and not os.path.islink(full) and content(full) == mine:
            return path, False


def save(base, journal):
    temporary = os.path.join(base, ".tidy.json.new")
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(journal, file, indent=2)
        os.replace(temporary, os.path.join(base, ".tidy.json"))
    except OSError:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def prepare(argv):
    dry = "--dry-run" in argv
    rest = [argument for argument in argv if argument != "--dry-run"]
    if len(rest) != 2 or rest[0].startswith("--") or rest[1].startswith("--"):
        raise Refused("usage: tidy.py FOLDER RULES [--dry-run]")
    base, rules_path = rest
    if not os.path.isdir(base):
        raise Refused(f"{base} is not a folder")
    rules = load(rules_path, list)
    for rule in rules:
        check_rule(rule)
    journal_path = os.path.join(base, ".tidy.json")
    journal = load(journal_path, dict) if os.path.lexists(journal_path) else {}
    if any(not isinstance(value, str) for value in journal.values()):
        raise Refused("bad journal")
    return base, rules_path, rules, journal, dry


def main(argv):
    try:
        base, rules_path, rules, journal, dry = prepare(argv)
    except Refused as error:
        sys.stderr.write(f"{error}\n")
        return 2
    counts = {"moved": 0, "dropped": 0, "kept": 0, "failed": 0}
    planned = {}
    for name in sorted(os.listdir(base)):
        path = os.path.join(base, name)
        if name[0] == "." or os.path.islink(path) or not os.path.isfile(path) or os.path.samefile(path, rules_path):
            continue
        for rule in rules:
            if fnmatch.fnmatchcase(name.lower(), rule["match"].lower()):
                break
        else:
            counts["kept"] += 1
            continue
        prefix = "would " if dry else ""
        try:
            target, free = choose(base, name, rule["to"], planned if dry else {})
            if not dry and free:
                os.makedirs(os.path.join(base, rule["to"]), exist_ok=True)
                shutil.move(path, os.path.join(base, target))
                journal[target] = name
            elif not dry:
                os.remove(path)
        except OSError as error:
            sys.stderr.write(f"{name}: {error}\n")
            counts["failed"] += 1
            continue
        counts["moved" if free else "dropped"] += 1
        print(f"{prefix}move {name} -> {target}" if free else f"{prefix}drop {name} = {target}")
    status = 1 if counts["failed"] else 0
    if counts["moved"] and not dry:
        try:
            save(base, journal)
        except OSError as error:
            sys.stderr.write(f"journal: {error}\n")
            status = 1
    print(", ".join(f"{word} {count}" for word, count in counts.items()))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
