"""Trains the small English pipeline that KDS ships: tagger, morphologizer, parser.

    python tools/train_language.py TREEBANK_FOLDER OUT_FOLDER

TREEBANK_FOLDER holds ewt_train.conllu.gz and ewt_dev.conllu.gz (UD English EWT, CC BY-SA 4.0).
Some thirty minutes on one core; seeded. Writes the weights, their licence and their scores.
"""

import argparse
import json
import tempfile
from pathlib import Path
from random import Random
from typing import Final

import spacy
from spacy.cli.train import train
from spacy.tokens import DocBin
from treebank import documents, read

SEED: Final = 7

LICENCE: Final = """\
The weights in this folder are trained on UD English EWT (Silveira et al. 2014; Universal
Dependencies, https://universaldependencies.org), licensed under CC BY-SA 4.0
(https://creativecommons.org/licenses/by-sa/4.0/), and are under the same licence.
They are made by tools/train_language.py of KDS.
"""


def main() -> None:
    """Train, and write weights, licence and scores."""
    usage = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("source", "out"):
        usage.add_argument(name, type=Path)
    asked = usage.parse_args()
    source, out = asked.source, asked.out
    vocab = spacy.blank("en").vocab
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("train", "dev"):
            sentences = list(read(source / f"ewt_{part}.conllu.gz"))
            docs = documents(sentences, vocab, Random(SEED) if part == "train" else None)
            DocBin(docs=docs).to_disk(folder / f"{part}.spacy")
        overrides = {
            "paths.train": str(folder / "train.spacy"), "paths.dev": str(folder / "dev.spacy"),
            "system.seed": SEED,
        }  # fmt: skip
        config = Path(__file__).with_name("language.cfg")
        train(config, folder / "out", overrides=overrides)
        nlp = spacy.load(folder / "out" / "model-best")
        nlp.config["paths"] = dict.fromkeys(nlp.config["paths"])  # folders of this run
        nlp.to_disk(out)
    kept = ("tag_acc", "pos_acc", "morph_acc", "dep_uas", "dep_las")
    scores = {key: round(nlp.meta["performance"][key], 4) for key in kept}
    (out / "scores.json").write_text(json.dumps(scores, indent=2) + "\n")
    (out / "LICENSE").write_text(LICENCE)


if __name__ == "__main__":
    main()
