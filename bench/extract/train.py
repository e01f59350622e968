#!/usr/bin/env python3
"""Trains the model that chooses main content, and says how well it does on pages it has not seen.

    train.py FEATURES FOLDER [--out MODEL] [--folds N]

FEATURES is the output of `varve-bench-extract features FOLDER`. Without --out nothing is written.
Without --folds nothing is scored. The score is that of cross-validation: the pages are divided by site, so that no page is judged by a
model that has seen another page of its site. The model that is written is trained on all pages.
"""
import argparse, collections, hashlib, json, os, re, sys
from urllib.parse import urlparse
import lightgbm, numpy

WORD = re.compile(r"\w+")
MODELS = 3
TREES = 100
SETTINGS = dict(objective="cross_entropy", num_leaves=16, learning_rate=0.1, min_data_in_leaf=80,
                feature_fraction=0.3, bagging_fraction=0.8, bagging_freq=1, lambda_l2=5, max_bin=63,
                verbose=-1, num_threads=1, deterministic=True)


def read(features, folder):
    """Pages with the words of their blocks, the features, the reference, and the labels."""
    pages, names = [], None
    with open(features, encoding="utf-8") as lines:
        names = next(lines).rstrip("\n").split("\t")
        for line in lines:
            _, name, count = line.rstrip("\n").split("\t")
            blocks = [next(lines).rstrip("\n").split("\t") for _ in range(int(count))]
            with open(os.path.join(folder, "ground-truth", name + ".json"), encoding="utf-8") as file:
                truth = json.load(file)
            reference = WORD.findall((truth["ground_truth"].get("main_content") or "").lower())
            words = [WORD.findall(block[0].lower()) for block in blocks]
            rows = numpy.array([block[1:] for block in blocks], dtype=numpy.float32).reshape(len(blocks), len(names))
            pages.append(dict(name=name, type=truth["_internal"]["page_type"]["primary"], url=truth["url"],
                              words=words, rows=rows, reference=reference, labels=labels(words, reference)))
    return names, pages


def labels(blocks, reference):
    """Which blocks are in the reference. Long ones are found by their trigrams; short ones only
    where the reference continues after, or before, a long one: their words may be anywhere."""
    places = collections.defaultdict(list)
    for at in range(len(reference) - 2):
        places[tuple(reference[at:at + 3])].append(at)
    share, start, end, last = [0.0] * len(blocks), [None] * len(blocks), [None] * len(blocks), 0
    for number, words in enumerate(blocks):
        if len(words) < 5:
            continue
        trigrams = [tuple(words[at:at + 3]) for at in range(len(words) - 2)]
        found = [trigram in places for trigram in trigrams]
        share[number] = sum(found) / len(found)
        if share[number] >= 0.6:
            first = found.index(True)
            nearest = min((at - first for at in places[trigrams[first]]),
                          key=lambda at: abs(at - last) + (0 if at >= last - 3 else 50))
            start[number], end[number] = max(0, nearest), max(0, nearest) + len(words)
            last = end[number]
    following, ahead = [None] * len(blocks), None
    for number in reversed(range(len(blocks))):
        following[number] = ahead
        ahead = ahead if start[number] is None else start[number]
    last = None
    for number, words in enumerate(blocks):
        if end[number] is not None:
            last = end[number]
        elif len(words) < 5:
            at = find_short(words, reference, last, following[number])
            if at is not None:
                share[number] = 1.0
                if last is None or at >= last - 2:
                    last = at + len(words)
    return numpy.array([value >= 0.5 for value in share], dtype=float)


def find_short(words, reference, last, following):
    count = len(words)
    if last is not None:
        for at in range(max(0, last - 2), min(len(reference) - count, last + 25) + 1):
            if reference[at:at + count] == words:
                return at
    if following is not None:
        for at in range(following - count, max(-1, following - 25), -1):
            if at >= 0 and reference[at:at + count] == words:
                return at
    if last is None and following is None and count > 1:
        for at in range(len(reference) - count + 1):
            if reference[at:at + count] == words:
                return at
    return None


def train(pages, trees=TREES):
    """Several models with different seeds; their mean varies less than each."""
    pages = [page for page in pages if len(page["words"])]
    rows = numpy.vstack([page["rows"] for page in pages])
    target = numpy.concatenate([page["labels"] for page in pages])
    weight = numpy.concatenate([
        numpy.array([len(words) for words in page["words"]]) ** 0.7 / max(50, len(page["reference"])) ** 0.7 * 10
        for page in pages])
    return [lightgbm.train(dict(SETTINGS, seed=seed), lightgbm.Dataset(rows, target, weight=weight), trees)
            for seed in range(1, MODELS + 1)]


def predict(models, rows):
    raw = sum(model.predict(rows, raw_score=True, num_threads=1) for model in models) / len(models)
    return 1 / (1 + numpy.exp(-raw))


def choose(probabilities, words):
    """The choice of `content/mod.rs`: the greatest expected F1."""
    order = numpy.argsort(-probabilities, kind="stable")
    content, chosen = numpy.cumsum((probabilities * words)[order]), numpy.cumsum(words[order])
    best = int(numpy.argmax(2 * content / (chosen + (probabilities * words).sum())))
    return probabilities >= probabilities[order[best]]


def f1(words, reference):
    if not reference:
        return 1.0 if not words else 0.0
    common = sum((collections.Counter(words) & collections.Counter(reference)).values())
    return 2 * common / (len(words) + len(reference)) if common else 0.0


def score(page, chosen):
    return f1([word for words, is_in in zip(page["words"], chosen) if is_in for word in words], page["reference"])


def cross_validate(pages, folds):
    def fold(page):
        site = urlparse(page["url"] or page["name"]).netloc
        return int(hashlib.sha1((site + "x").encode()).hexdigest(), 16) % folds
    scores = collections.defaultdict(list)
    for number in range(folds):
        models = train([page for page in pages if fold(page) != number])
        for page in pages:
            if fold(page) == number:
                chosen = []
                if len(page["words"]):
                    chosen = choose(predict(models, page["rows"]), numpy.array([len(words) for words in page["words"]]))
                scores[page["type"]].append(score(page, chosen))
    return scores


def write(models, names, path):
    """The model as text: see `content/model.rs`. A tree's splits follow those that lead to them."""
    with open(path, "w", encoding="utf-8") as out:
        print("varve content model 1", file=out)
        print(" ".join(names), file=out)
        for model in models:
            for tree in model.dump_model()["tree_info"]:
                splits, leaves = [], []
                flatten(tree["tree_structure"], splits, leaves, len(models))
                if splits:
                    print(",".join(" ".join(split) for split in splits) + "|" + " ".join(leaves), file=out)


def flatten(node, splits, leaves, count):
    if "leaf_value" in node:
        leaves.append(f"{node['leaf_value'] / count:.4g}")
        return str(-len(leaves))
    place = len(splits)
    splits.append(None)
    low, high = (flatten(node[child], splits, leaves, count) for child in ("left_child", "right_child"))
    splits[place] = (str(node["split_feature"]), f"{node['threshold']:.6g}", low, high)
    return str(place)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("features")
    parser.add_argument("folder")
    parser.add_argument("--out")
    parser.add_argument("--folds", type=int, default=0)
    arguments = parser.parse_args()
    names, pages = read(arguments.features, arguments.folder)
    if arguments.folds:
        scores = cross_validate(pages, arguments.folds)
        for kind, values in sorted(scores.items()):
            print(f"| {kind} | {len(values)} | {numpy.mean(values):.3f} |")
        print(f"| all | {len(pages)} | {numpy.mean([value for values in scores.values() for value in values]):.4f} |")
    if arguments.out:
        write(train(pages), names, arguments.out)


if __name__ == "__main__":
    main()
