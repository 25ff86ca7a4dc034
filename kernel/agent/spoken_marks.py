"""What the beginning of a line means in the text of a model that has no other way to call tools."""

import re
from collections.abc import Collection
from enum import Enum, auto


class Mark(Enum):
    """What a line begins; PLAIN is nothing, UNDECIDED needs more of the line."""

    PLAIN = auto()
    UNDECIDED = auto()
    THOUGHT = auto()
    ACTION = auto()
    INPUT = auto()
    OBSERVATION = auto()
    ANSWER = auto()
    THINK_TAG = auto()
    CALL_TAG = auto()
    CALL_FENCE = auto()
    CODE = auto()


LABELS = {
    "Thought": Mark.THOUGHT,
    "THOUGHT": Mark.THOUGHT,
    "Thinking": Mark.THOUGHT,
    "思考": Mark.THOUGHT,
    "想法": Mark.THOUGHT,
    "Action": Mark.ACTION,
    "ACTION": Mark.ACTION,
    "执行": Mark.ACTION,
    "行动": Mark.ACTION,
    "动作": Mark.ACTION,
    "调用工具": Mark.ACTION,
    "Action Input": Mark.INPUT,
    "ACTION INPUT": Mark.INPUT,
    "Action input": Mark.INPUT,
    "Input": Mark.INPUT,
    "行动输入": Mark.INPUT,
    "动作输入": Mark.INPUT,
    "执行参数": Mark.INPUT,
    "输入": Mark.INPUT,
    "参数": Mark.INPUT,
    "Observation": Mark.OBSERVATION,
    "OBSERVATION": Mark.OBSERVATION,
    "观察": Mark.OBSERVATION,
    "观察结果": Mark.OBSERVATION,
    "执行结果": Mark.OBSERVATION,
    "结果": Mark.OBSERVATION,
    "Final Answer": Mark.ANSWER,
    "FINAL ANSWER": Mark.ANSWER,
    "Answer": Mark.ANSWER,
    "最终答案": Mark.ANSWER,
    "最终回答": Mark.ANSWER,
    "回答": Mark.ANSWER,
    "答案": Mark.ANSWER,
    "回复": Mark.ANSWER,
}
TAGS = {
    "<think>": Mark.THINK_TAG,
    "<thinking>": Mark.THINK_TAG,
    "<thought>": Mark.THINK_TAG,
    "<tool_call>": Mark.CALL_TAG,
}
CALL_WORDS = ("tool", "tool_call", "tool_use", "tool_code", "action")

COLONS = ":\N{FULLWIDTH COLON}"

_DECORATION = " \t#*"
# What may stand between a label and its colon: a number, as in "Thought 2:", and stars.
_BEFORE_COLON = re.compile(r"[ \t*]{0,4}\d{0,3}[ \t*]{0,4}")
_FENCE = re.compile(r"(`{3,})([\w]*)([^\w`]?)", re.ASCII)


def judged(line: str, awaited: Collection[Mark]) -> tuple[Mark, int]:
    """What a line begins, as far as it is known, and how many characters say so.

    The answer for a longer beginning of the same line is the same, but for UNDECIDED.
    """
    start = line.lstrip(" \t")
    if not start:
        return Mark.UNDECIDED, 0
    indent = len(line) - len(start)
    for judge in (_tag, _fence, _label):
        mark, used = judge(start, awaited)
        if mark is not Mark.PLAIN:
            return mark, indent + used
    return Mark.PLAIN, 0


def _tag(start: str, awaited: Collection[Mark]) -> tuple[Mark, int]:
    for tag, mark in TAGS.items():
        if mark in awaited:
            if start.startswith(tag):
                return mark, len(tag)
            if tag.startswith(start):
                return Mark.UNDECIDED, 0
    return Mark.PLAIN, 0


def _fence(start: str, awaited: Collection[Mark]) -> tuple[Mark, int]:
    if not start.startswith("`"):
        return Mark.PLAIN, 0
    if start in {"`", "``"}:
        return Mark.UNDECIDED, 0
    found = _FENCE.match(start)
    if found is None:
        return Mark.PLAIN, 0
    ticks, word, after = found.groups()
    if Mark.CALL_FENCE in awaited:
        if (
            not after
            and found.end() == len(start)
            and any(it.startswith(word) for it in CALL_WORDS)
        ):
            return Mark.UNDECIDED, 0
        if after and word in CALL_WORDS:
            return Mark.CALL_FENCE, len(ticks) + len(word)
    return Mark.CODE, len(ticks)


def _label(start: str, awaited: Collection[Mark]) -> tuple[Mark, int]:
    text = start.lstrip(_DECORATION)
    if not text:
        return (Mark.PLAIN if start.endswith("\n") else Mark.UNDECIDED), 0
    undecided = False
    for label, mark in LABELS.items():
        if mark not in awaited:
            continue
        if label.startswith(text):
            undecided = True
        elif text.startswith(label):
            between = _BEFORE_COLON.match(text, len(label))
            end = between.end() if between else len(label)
            if end == len(text):
                undecided = True
            elif text[end] in COLONS:
                return mark, len(start) - len(text) + end + 1
    return (Mark.UNDECIDED if undecided else Mark.PLAIN), 0
