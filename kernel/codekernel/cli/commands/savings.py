"""``codekernel savings``: what agents did not read because they searched, and its formula."""

import argparse
import json
import os
import time
from dataclasses import asdict

from codekernel.cli.output.terminal import print_line
from codekernel.cli.process import ExitCode
from codekernel.runtime.savings import Savings, read_savings
from codekernel.storage.user_data import open_user_data

# As the budget of an answer has it; chat models need about a quarter less for code.
BYTES_PER_TOKEN = 3

_FORMULA = (
    f"formula: (bytes of files - bytes of answers) / {BYTES_PER_TOKEN}, with the first file of each"
    " answer, and with all; each file once for an answer. What an agent would have read without a"
    " search is not known."
)


def run_savings(args: argparse.Namespace) -> int:
    """Print the sums; OK if anything was counted, else FAILED. Raises KernelError."""
    savings = read_savings(open_user_data(args.user_data, os.environ))
    if args.json:
        tokens = {
            "leastTokens": count_tokens(savings.first_file_bytes - savings.answer_bytes),
            "mostTokens": count_tokens(savings.file_bytes - savings.answer_bytes),
        }
        print_line(json.dumps(asdict(savings) | tokens))
    elif savings.searches:
        for line in format_savings(savings):
            print_line(line)
    else:
        print_line("nothing is counted yet: no agent has searched; see codekernel install")
    return ExitCode.OK if savings.searches else ExitCode.FAILED


def count_tokens(number_of_bytes: int) -> int:
    """Return about how many tokens these bytes are; of less than none, none."""
    return max(0, number_of_bytes) // BYTES_PER_TOKEN


def format_savings(savings: Savings) -> list[str]:
    """Return the lines for a person."""
    since = time.strftime("%Y-%m-%d", time.localtime(savings.since))
    answers, files = count_tokens(savings.answer_bytes), count_tokens(savings.file_bytes)
    first = count_tokens(savings.first_file_bytes)
    least = count_tokens(savings.first_file_bytes - savings.answer_bytes)
    most = count_tokens(savings.file_bytes - savings.answer_bytes)
    return [
        f"{savings.searches} searches of agents since {since}, about {answers:,} tokens of answers",
        f"the files that they name, whole: {files:,} tokens; the first of each answer: {first:,}",
        f"not read: between {least:,} and {most:,} tokens",
        _FORMULA,
    ]
