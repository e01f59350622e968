#!/usr/bin/env python3
"""Runs varve, trafilatura and readability-lxml over the same pages in turn, and prints two tables:
the F1 of words by type of page with the shares of right titles, authors and dates, and CPU time."""
import argparse, collections, gzip, json, os, re, resource, statistics, subprocess, time

WORD = re.compile(r"\w+")


def load(folder):
    pages = []
    for name in sorted(os.listdir(os.path.join(folder, "ground-truth"))):
        with open(os.path.join(folder, "ground-truth", name), encoding="utf-8") as file:
            truth = json.load(file)
        name = name.removesuffix(".json")
        with gzip.open(os.path.join(folder, "html", name + ".html.gz")) as file:
            pages.append((name, truth, file.read().decode("utf-8", "replace")))
    return pages


def run_varve(bench, folder, command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run([bench, command, folder], stdout=subprocess.PIPE, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, output


def run_python(extract, pages):
    found, start = {}, time.process_time()
    for name, truth, html in pages:
        try:
            found[name] = extract(html, truth["url"])
        except Exception:  # A page that a program cannot read has no text.
            found[name] = {}
    return time.process_time() - start, found


def trafilatura(html, url):
    import trafilatura as library
    document = library.bare_extraction(html, url=url, with_metadata=True)
    if document is None:
        return {}
    return dict(content_text=document.text, title=document.title, authors=document.author, date=document.date)


def readability(html, url):
    import lxml.html, readability as library
    document = library.Document(html, url=url)
    text = lxml.html.fromstring(document.summary()).text_content()
    return dict(content_text=text, title=document.short_title())


def f1(text, reference):
    found, expected = WORD.findall((text or "").lower()), WORD.findall((reference or "").lower())
    if not expected:
        return 0.0 if found else 1.0
    common = sum((collections.Counter(found) & collections.Counter(expected)).values())
    return 2 * common / (len(found) + len(expected))


def plain(text):
    return " ".join(WORD.findall((text or "").lower()))


def score(pages, found):
    kinds = collections.defaultdict(list)
    right = collections.defaultdict(list)
    for name, truth, _ in pages:
        page, known = found.get(name, {}), truth["ground_truth"]
        kinds[truth["_internal"]["page_type"]["primary"]].append(f1(page.get("content_text"), known.get("main_content")))
        authors = page.get("authors")
        authors = " ".join(authors) if isinstance(authors, list) else authors
        date, true_date = (page.get("date") or "")[:10], (known.get("publish_date") or "")[:10]
        if known.get("title"):
            right["title"].append(plain(page.get("title")) == plain(known["title"]))
        if known.get("author"):
            right["author"].append(sorted(plain(authors).split()) == sorted(plain(known["author"]).split()))
        right["date" if true_date else "invented date"].append(date == true_date if true_date else bool(date))
    kinds["all"] = [value for values in list(kinds.values()) for value in values]
    return {kind: statistics.mean(values) for kind, values in kinds.items()}, \
        {field: statistics.mean(values) for field, values in right.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    pages = load(arguments.folder)
    times, found = collections.defaultdict(list), {}
    for _ in range(arguments.rounds):
        idle, _ = run_varve(arguments.bench, arguments.folder, "load")
        times["html5ever alone"].append(run_varve(arguments.bench, arguments.folder, "parse")[0] - idle)
        seconds, output = run_varve(arguments.bench, arguments.folder, "extract")
        times["varve"].append(seconds - idle)
        found["varve"] = {page["file_id"]: page for page in map(json.loads, output.splitlines())}
        for extract in (trafilatura, readability):
            seconds, found[extract.__name__] = run_python(extract, pages)
            times[extract.__name__].append(seconds)
    results = {program: score(pages, texts) for program, texts in found.items()}
    print("| | " + " | ".join(results) + " |\n| --- |" + " ---: |" * len(results))
    for row, part in [(kind, 0) for kind in results["varve"][0]] + [(field, 1) for field in results["varve"][1]]:
        print(f"| {row} | " + " | ".join(f"{result[part].get(row, 0):.3f}" for result in results.values()) + " |")
    floor = statistics.median(times["html5ever alone"])
    print("\n| program | CPU, html5ever = 1 | pages per CPU second |\n| --- | ---: | ---: |")
    for program, values in times.items():
        seconds = statistics.median(values)
        print(f"| {program} | {seconds / floor:.1f} | {len(pages) / seconds:.0f} |")


if __name__ == "__main__":
    main()
