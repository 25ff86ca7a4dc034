"""The losses of training as a picture: ``curve.py LOSSES.tsv OUT.png TITLE``; needs matplotlib."""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

SMOOTHED = 25  # steps


def main(losses: Path, out: Path, title: str) -> None:
    """Draw each loss and their running mean."""
    mpl.use("agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the choice of where to draw

    steps, values = np.loadtxt(losses).T
    mean = np.convolve(values, np.full(SMOOTHED, 1 / SMOOTHED), "valid")
    figure, axes = plt.subplots(figsize=(7, 3.5), dpi=110)
    axes.plot(steps, values, color="0.8", linewidth=0.7, label="a batch")
    axes.plot(steps[SMOOTHED - 1 :], mean, color="tab:blue", label=f"mean of {SMOOTHED}")
    axes.set(xlabel="step", ylabel="contrastive loss", title=title)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
