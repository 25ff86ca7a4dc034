"""Load the tokenizer of a model folder from tokenizer.json, SentencePiece, WordPiece or BPE files.

Truncation and padding are off; the caller enables them. Also count tokens with it.
"""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, models
from tokenizers import normalizers as norm
from tokenizers import pre_tokenizers as pre
from tokenizers.processors import TemplateProcessing

from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import InvalidModel
from codekernel.inference import sentencepiece as spm
from codekernel.inference.model_folder import (
    BYTE_LEVEL_FILES,
    FAIRSEQ_FILE,
    SENTENCEPIECE_FILES,
    TOKENIZER_JSON,
    WORDPIECE_FILES,
    find_tokenizer_files,
    read_json_file,
    require_not_empty,
)

_METASPACE = "▁"

# These also say sentencepiece.bpe.model, but number its pieces in ways of their own.
_UNSUPPORTED_MODEL_TYPES = {"camembert", "mbart", "m2m_100", "barthez"}

_FAIRSEQ_FIRST = ("<s>", "<pad>", "</s>", "<unk>")

_FAIRSEQ_UNKNOWN_ID = _FAIRSEQ_FIRST.index("<unk>")

_SENTENCEPIECE_FIRST = ["<unk>", "<s>", "</s>"]  # as SentencePiece begins

_MAX_WORD_CHARS = 100  # characters; BERT takes longer words for unknown

_LFS_POINTER = b"version https://git-lfs"

# Characters given to the tokenizer at once; a text of megabytes is counted in pieces, whose seams
# add a token each at the most.
_COUNT_SLICE_CHARS = 100_000


def load_tokenizer(folder: Path) -> Tokenizer:
    """Return the tokenizer in this folder. Raises InvalidModel, which names the file."""
    names = find_tokenizer_files(folder)
    try:
        tokenizer = _BUILDERS[names](folder, *(_read_content(folder / name) for name in names))
    except InvalidModel:
        raise
    except Exception as error:  # the package raises bare Exception for whatever it dislikes
        raise InvalidModel(f"{folder / names[0]} is not a usable tokenizer: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class ModelTokenCounter:
    """Counts with the tokenizer of a model folder, for any number of threads."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = load_tokenizer(folder)

    def __call__(self, text: str) -> int:
        """Count the tokens of a text, without special ones."""
        clean = text.encode(errors="replace").decode()
        pieces = [
            clean[start : start + _COUNT_SLICE_CHARS]
            for start in range(0, len(clean), _COUNT_SLICE_CHARS)
        ]
        encodings = self._tokenizer.encode_batch_fast(pieces, add_special_tokens=False)
        return sum(len(encoding.ids) for encoding in encodings)


def _read_content(file: Path) -> bytes:
    try:
        content = require_not_empty(file).read_bytes()
    except OSError as error:
        raise InvalidModel(f"{file} cannot be read: {error.strerror}") from error
    if content.startswith(_LFS_POINTER):
        raise InvalidModel(f"{file} is only a pointer of Git LFS; run: git lfs pull")
    return content


def _decode_text(file: Path, content: bytes) -> str:
    try:
        return content.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidModel(f"{file} is not UTF-8 text") from error


def _build_from_json(folder: Path, content: bytes) -> Tokenizer:
    return Tokenizer.from_str(_decode_text(folder / "tokenizer.json", content))


# --- SentencePiece ---------------------------------------------------------------------------


def _build_sentencepiece(name: str, folder: Path, content: bytes) -> Tokenizer:
    try:
        model = spm.read_sentencepiece(content)
    except spm.InvalidSentencePiece as error:
        raise InvalidModel(f"{folder / name} {error}") from error
    kind = read_json_file(folder / "config.json").get("model_type")
    if kind in _UNSUPPORTED_MODEL_TYPES:
        raise InvalidModel(f"{folder} needs a tokenizer.json: {name} of {kind} is not enough")
    is_fairseq = kind == "xlm-roberta" or name == FAIRSEQ_FILE
    tokenizer = _build_fairseq(model) if is_fairseq else _build_with_file_ids(model, folder)
    tokenizer.normalizer = _build_normalizer(model)
    words = all(_METASPACE not in piece.text[1:] for piece in model.pieces)
    tokenizer.pre_tokenizer = pre.Metaspace(_METASPACE, prepend_scheme="never", split=words)
    user_defined = [piece.text for piece in model.pieces if piece.kind == spm.USER_DEFINED]
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in user_defined])
    return tokenizer


def _build_fairseq(model: spm.SentencePieceModel) -> Tokenizer:
    """XLM-RoBERTa: four tokens of fairseq first, so that every piece moves up by one."""
    count = len(_SENTENCEPIECE_FIRST)
    pieces = [(piece.text, piece.score) for piece in model.pieces]
    first = [text for text, _ in pieces[:count]]
    if first != _SENTENCEPIECE_FIRST or model.algorithm != spm.UNIGRAM:
        raise ValueError("its pieces are not those of XLM-RoBERTa; this model needs tokenizer.json")
    vocabulary = [*((token, 0.0) for token in _FAIRSEQ_FIRST), *pieces[count:], ("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, _FAIRSEQ_UNKNOWN_ID, byte_fallback=False))
    _add_special(tokenizer, _FAIRSEQ_FIRST, mask="<mask>")
    _set_template(tokenizer, "<s> $A </s>", "<s> $A </s> </s> $B </s>")
    return tokenizer


def _build_with_file_ids(model: spm.SentencePieceModel, folder: Path) -> Tokenizer:
    """Every other model: the ids of the file, framed by the special tokens it has."""
    tokenizer = Tokenizer(_build_algorithm(model))
    texts = [piece.text for piece in model.pieces]
    _add_special(tokenizer, [piece.text for piece in model.pieces if piece.kind == spm.CONTROL])
    if {"[CLS]", "[SEP]"} <= set(texts):
        _set_template(tokenizer, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
        return tokenizer
    config = read_json_file(folder / "tokenizer_config.json")
    has_begin, has_end = (0 <= each < len(texts) for each in (model.begin_id, model.end_id))
    # Llama's kind begins a text, T5's kind has no beginning and ends it.
    begins = has_begin and config.get("add_bos_token", True)
    ends = has_end and config.get("add_eos_token", not has_begin)
    begin = f"{texts[model.begin_id]} " if begins else ""
    end = f" {texts[model.end_id]}" if ends else ""
    _set_template(tokenizer, f"{begin}$A{end}", f"{begin}$A{end} {begin}$B:1{end}")
    return tokenizer


def _build_algorithm(model: spm.SentencePieceModel) -> models.Model:
    if model.algorithm == spm.UNIGRAM:
        scores = [(piece.text, piece.score) for piece in model.pieces]
        return models.Unigram(scores, model.unknown_id, byte_fallback=model.byte_fallback)
    if model.algorithm == spm.BPE:
        return models.BPE(
            {piece.text: i for i, piece in enumerate(model.pieces)},
            _list_merges(model.pieces),
            unk_token=model.pieces[model.unknown_id].text,
            fuse_unk=True,
            byte_fallback=model.byte_fallback,
        )
    raise ValueError("it is neither of the unigram nor of the BPE kind")


def _list_merges(pieces: list[spm.VocabularyPiece]) -> list[tuple[str, str]]:
    """Return the pairs that make a piece, in the order of merging: best score first."""
    ids = {piece.text: i for i, piece in enumerate(pieces)}
    found = [
        (-piece.score, ids[piece.text[:cut]], ids[piece.text[cut:]], piece.text, cut)
        for piece in pieces
        if piece.kind == spm.NORMAL
        for cut in range(1, len(piece.text))
        if piece.text[:cut] in ids and piece.text[cut:] in ids
    ]
    return [(text[:cut], text[cut:]) for *_, text, cut in sorted(found)]


def _build_normalizer(model: spm.SentencePieceModel) -> norm.Normalizer:
    steps: list[norm.Normalizer] = []
    if model.character_map:
        steps.append(norm.Precompiled(model.character_map))
    if model.remove_extra_whitespaces:
        steps += [norm.Replace(Regex(" {2,}"), " "), norm.Replace(Regex(r"\A | \z"), "")]
    if model.add_dummy_prefix:
        steps.append(norm.Prepend(_METASPACE))
    return norm.Sequence(steps)


# --- WordPiece and byte-level BPE ------------------------------------------------------------


def _build_word_piece(folder: Path, content: bytes) -> Tokenizer:
    """BERT: vocab.txt, one token per line; only a line feed ends one."""
    lines = _decode_text(folder / "vocab.txt", content).removesuffix("\n").split("\n")
    vocabulary = {line: i for i, line in enumerate(lines)}
    config = read_json_file(folder / "tokenizer_config.json")
    names = ("unk_token", "cls_token", "sep_token", "pad_token", "mask_token")
    special = [_get_special_token(config, name, f"[{name[:-6].upper()}]") for name in names]
    unknown, begin, end = special[:3]
    _require_tokens(vocabulary, (unknown, begin, end), folder / "vocab.txt")
    tokenizer = Tokenizer(
        models.WordPiece(vocabulary, unk_token=unknown, max_input_chars_per_word=_MAX_WORD_CHARS)
    )
    tokenizer.normalizer = norm.BertNormalizer(
        handle_chinese_chars=config.get("tokenize_chinese_chars", True),
        strip_accents=config.get("strip_accents"),
        lowercase=config.get("do_lower_case", True),
    )
    tokenizer.pre_tokenizer = pre.BertPreTokenizer()
    _add_special(tokenizer, [token for token in special if token in vocabulary])
    _set_template(tokenizer, f"{begin} $A {end}", f"{begin} $A {end} $B:1 {end}:1")
    return tokenizer


def _build_byte_level(folder: Path, vocab: bytes, merges: bytes) -> Tokenizer:
    """RoBERTa: vocab.json and merges.txt; bytes stand for themselves, so nothing is unknown."""
    try:
        vocabulary = parse_json(vocab)
    except ValueError as error:
        raise InvalidModel(f"{folder / 'vocab.json'} is not valid JSON") from error
    config = read_json_file(folder / "tokenizer_config.json")
    defaults = ("cls_token", "<s>"), ("sep_token", "</s>"), ("pad_token", "<pad>")
    special = [_get_special_token(config, *each) for each in (*defaults, ("unk_token", "<unk>"))]
    begin, end = special[:2]
    _require_tokens(vocabulary, (begin, end), folder / "vocab.json")
    tokenizer = Tokenizer(models.BPE(vocabulary, _read_merges(folder / "merges.txt", merges)))
    tokenizer.pre_tokenizer = pre.ByteLevel(bool(config.get("add_prefix_space", False)))
    mask = _get_special_token(config, "mask_token", "<mask>")
    known = [token for token in special if token in vocabulary]
    _add_special(tokenizer, known, mask=mask if mask in vocabulary else None)
    _set_template(tokenizer, f"{begin} $A {end}", f"{begin} $A {end} {end} $B {end}")
    return tokenizer


def _read_merges(file: Path, content: bytes) -> list[tuple[str, str]]:
    merges = []
    for number, line in enumerate(_decode_text(file, content).split("\n"), start=1):
        if not line or (number == 1 and line.startswith("#version")):
            continue
        first, found, second = line.partition(" ")
        if not found or " " in second:
            raise InvalidModel(f"{file}, line {number}: a merge is two tokens and a space")
        merges.append((first, second))
    return merges


# --- what all of them share ------------------------------------------------------------------


def _get_special_token(config: dict[str, Any], name: str, default: str) -> str:
    """Return a special token of tokenizer_config.json, which is a string or an object."""
    token = config.get(name) or default
    return str(token["content"] if isinstance(token, dict) else token)


def _require_tokens(vocabulary: Any, tokens: tuple[str, ...], file: Path) -> None:
    if not isinstance(vocabulary, dict):
        raise InvalidModel(f"{file} does not hold a JSON object")
    missing = [token for token in tokens if token not in vocabulary]
    if missing:
        raise InvalidModel(
            f"{file} lacks {', '.join(missing)}; this kind of model needs a tokenizer.json"
        )


def _add_special(tokenizer: Tokenizer, tokens: Iterable[str], mask: str | None = None) -> None:
    special = [AddedToken(token, normalized=False, special=True) for token in tokens]
    if mask is not None:  # takes the space before it along
        special.append(AddedToken(mask, lstrip=True, normalized=False, special=True))
    tokenizer.add_special_tokens(special)


def _set_template(tokenizer: Tokenizer, single: str, pair: str) -> None:
    words = {word.partition(":")[0] for word in pair.split() if not word.startswith("$")}
    ids = [(word, tokenizer.token_to_id(word)) for word in sorted(words)]
    tokenizer.post_processor = TemplateProcessing(single=single, pair=pair, special_tokens=ids)


_Builder = Callable[..., Tokenizer]

_BUILDERS: dict[tuple[str, ...], _Builder] = {
    TOKENIZER_JSON: _build_from_json,
    **{(name,): partial(_build_sentencepiece, name) for name in SENTENCEPIECE_FILES},
    WORDPIECE_FILES: _build_word_piece,
    BYTE_LEVEL_FILES: _build_byte_level,
}
