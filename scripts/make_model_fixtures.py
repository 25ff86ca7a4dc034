"""Make the small models of tests/fixtures/models, with what torch and transformers say about them.

Run by a developer, never by CI, with a throw-away environment outside the repository::

    python3.11 -m venv fixtures-venv
    fixtures-venv/bin/pip install torch==2.13.0 transformers==5.22.2 onnx==1.23.2 \
        sentencepiece==0.2.2 onnxruntime==1.31.1 tokenizers==0.23.3
    fixtures-venv/bin/python scripts/make_model_fixtures.py [name ...]

Each folder has the files and the names of a well-known export, around random weights and a
vocabulary learnt from the few lines below. ``expected.json`` is the reference: ids by transformers,
vectors and scores by torch on the torch model, one text at a time; the ONNX file is only compared
with it. Seeds are fixed. See tests/fixtures/README.md.
"""
# ruff: noqa: RUF001 - Chinese punctuation is meant

import json
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import sentencepiece
import tokenizers
import torch
import transformers
from tokenizers import AddedToken, Regex, decoders, normalizers, pre_tokenizers, processors

MODELS = Path(__file__).parents[1] / "tests" / "fixtures" / "models"
HIDDEN = 32
VOCABULARY = 420
UNLIMITED = 1000000000000000019884624838656  # what transformers writes when it knows no limit
TOLERANCE = 2e-5

CORPUS = """
A repository is opened by its path, indexed in the background and searched by meaning and by words.
How do I open a repository? How is a file split into chunks? Where are the settings stored?
The quick brown fox jumps over the lazy dog, and the lazy dog does not mind very much.
Errors are raised where the fact is known and turned into a status in one place only.
Every request is answered, whatever fails; at the end those still open are refused.
The index is built in batches, so that a search waits for at most one batch of embedding.
Passages and queries are embedded by the same model; a reranker reads both of them together.
Represent this sentence for searching relevant passages: search_query: search_document: query:
Instruct: Given a web search query, retrieve relevant passages that answer the query
def open_repository(path: Path) -> Repository:
    \"\"\"The repository in this folder, or an error that says what is missing.\"\"\"
    for name, value in settings.items():
        if value is None or len(value) == 0:
            raise InvalidSettings(f"{name} is missing")
    return Repository(path, index=Index(path / "index"))
class Session(threading.Thread):
    def __init__(self, name: str, inbox: queue.Queue[Job]) -> None:
        super().__init__(name=name)
        self.inbox = inbox
int main(int argc, char **argv) { std::vector<int> numbers = {1, 2, 3}; return numbers.size(); }
const kernel = await start({userData, onEvent: (event) => console.log(event.type)});
fn tokenize(text: &str) -> Vec<u32> { text.chars().map(|c| c as u32).collect() }
SELECT path, line FROM chunks WHERE language = 'python' ORDER BY score DESC LIMIT 10;
如何打开一个代码仓库？请在设置中选择模型文件夹，然后重新建立索引。
代码搜索在本机运行，文件不会离开这台电脑。每个请求都有回答，错误信息说明原因。
向量模型把文本变成向量，重排模型把查询和文档一起读。
naive café résumé, 0123456789, !"#$%&'()*+,-./:;<=>?@[]^_`{|}~ ABCDEFGHIJKLMNOPQRSTUVWXYZ
"""

LONG = "The repository is opened by its path, and each file of it is split into chunks. " * 30
TEXTS = [
    "How do I open a repository?",
    'def open_repository(path: Path) -> Repository:\n    return Repository(path / "index")\n',
    "如何打开一个代码仓库？",
    "Ship it 🚀🎉: Naïve CAFÉ, ﬁnal Ｆｕｌｌ width\u3000ok",
    "",
    " \t\n  ",
    "two  spaces, a tab\tand the end  ",
    "literal <s> [CLS] </s> [SEP] <mask> [MASK] <|endoftext|> tokens",
    LONG,
]
PAIRS = [
    ["How do I open a repository?", "A repository is opened by its path."],
    ["How do I open a repository?", "The lazy dog does not mind very much."],
    ["where are settings stored", "def settings(path: Path) -> Settings:\n    return load(path)\n"],
    ["如何打开一个代码仓库？", "代码搜索在本机运行，文件不会离开这台电脑。"],
    ["", "an empty question 🚀"],
    ["an empty document", ""],
    ["short question", LONG],
    [LONG, "a short document that is not cut"],
    [LONG, LONG],
]

# In place of nmt_nfkc, whose table alone is 240 KB: white space, full width, ligatures.
SPACES = [0x9, 0xA, 0xB, 0xC, 0xD, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029]
SPACES += [0x202F, 0x205F, 0x3000]
RULES = [f"{code:X}\t20" for code in SPACES]
RULES += [f"{code + 0xFEE0:X}\t{code:X}" for code in range(0x21, 0x7F)]
RULES += [
    "FB01\t66 69",
    "FB02\t66 6C",
    "2026\t2E 2E 2E",
    "65 301\tE9",
    "BD\t31 2044 32",
    "200B\t20",
]


@dataclass(frozen=True)
class Spec:
    """One folder: which network, which tokenizer, which layout."""

    name: str
    network: str
    tokenizer: str
    kind: str = "embedding"
    pooling: str = "mean"
    normalize: bool = True
    prompts: dict[str, str] | None = None
    max_tokens: int = 64
    positions: int = 64
    model_max_length: int = 64
    file: str = "onnx/model.onnx"
    outputs: tuple[str, ...] = ("last_hidden_state",)
    external_data: bool = False
    layout: str = "sentence-transformers"  # or: sentence-transformers-6, bare
    left_out: tuple[str, ...] = ()


BERT = {"network": "bert", "tokenizer": "wordpiece"}
XLMR = {"network": "xlm-roberta", "tokenizer": "unigram"}
BGE_M3 = ("token_embeddings", "sentence_embedding")
REPRESENT = "Represent this sentence for searching relevant passages: "
INSTRUCT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)
SIDE_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")

SPECS = [
    Spec("bge-m3", **XLMR, pooling="cls", outputs=BGE_M3, external_data=True),
    Spec(
        "bge-m3-pocketrag",
        **XLMR,
        pooling="cls",
        outputs=BGE_M3,
        external_data=True,
        file="model.onnx",
        layout="bare",
        left_out=SIDE_FILES,
    ),
    Spec("all-MiniLM-L6-v2", **BERT, max_tokens=256, positions=512, model_max_length=512),
    Spec("granite-embedding", "roberta", "byte-bpe", pooling="cls", file="model.onnx"),
    Spec("ms-marco-MiniLM", **BERT, kind="rerank", layout="bare"),
    Spec("bge-small-en", **BERT, pooling="cls", file="model.onnx"),
    Spec("gte-small", **BERT, normalize=False, model_max_length=UNLIMITED),
    Spec("e5-small", **BERT, prompts={"query": "query: ", "document": "passage: "}),
    Spec(
        "multilingual-e5",
        "xlm-roberta",
        "unigram-by-words",
        prompts={"query": "query: ", "document": "passage: "},
    ),
    Spec("jina-embeddings-v2", **BERT, normalize=False, model_max_length=2147483648),
    Spec(
        "nomic-embed-text-v1.5",
        "nomic_bert",
        "wordpiece",
        normalize=False,
        prompts={"query": "search_query: ", "document": "search_document: "},
    ),
    Spec("snowflake-arctic-embed", **BERT, pooling="cls", prompts={"query": REPRESENT}),
    Spec(
        "qwen3-embedding",
        "qwen3",
        "qwen-bpe",
        pooling="lasttoken",
        prompts={"query": INSTRUCT, "document": ""},
        model_max_length=131072,
    ),
    Spec(
        "sentence-embedding-only",
        **BERT,
        outputs=("sentence_embedding",),
        file="model.onnx",
        layout="bare",
    ),
    Spec(
        "sentence-transformers-6",
        "bert",
        "wordpiece-cased",
        pooling="cls",
        layout="sentence-transformers-6",
        prompts={"query": "query: ", "document": ""},
        max_tokens=48,
        model_max_length=48,
        left_out=("special_tokens_map.json", "vocab.txt"),
    ),
    Spec("bge-reranker-v2-m3", **XLMR, kind="rerank", layout="bare"),
    Spec("bge-reranker-base", "xlm-roberta", "unigram-by-words", kind="rerank", layout="bare"),
    Spec(
        "jina-reranker",
        **XLMR,
        kind="rerank",
        layout="bare",
        left_out=("sentencepiece.bpe.model",),
    ),
]

# --- tokenizers ------------------------------------------------------------------------------


def write_json(file: Path, value: Any) -> None:
    """Write as hubs do: indented, not escaped."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def wordpiece(folder: Path, *, lowercase: bool = True) -> dict[str, Any]:
    """vocab.txt and tokenizer.json of BERT."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    lines = [*special, *word_pieces(lowercase=lowercase)]
    (folder / "vocab.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    vocabulary = {piece: i for i, piece in enumerate(lines)}
    made = transformers.BertTokenizer(vocab=vocabulary, do_lower_case=lowercase)
    made.backend_tokenizer.save(str(folder / "tokenizer.json"))
    return {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": lowercase,
        "strip_accents": None,
        "tokenize_chinese_chars": True,
        **dict(zip(["pad_token", "unk_token", "cls_token", "sep_token", "mask_token"], special,
                   strict=True)),
    }  # fmt: skip


def word_pieces(*, lowercase: bool) -> list[str]:
    """Every character, then what occurs most; the library's own trainer differs from run to run."""
    text = normalizers.BertNormalizer(lowercase=lowercase).normalize_str(CORPUS)
    characters: set[str] = set()
    longer: Counter[str] = Counter()
    for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text):
        for i in range(len(word)):
            mark = "##" if i else ""
            characters.add(mark + word[i])
            for j in range(i + 2, len(word) + 1):
                longer[mark + word[i:j]] += j - i
    ranked = sorted(longer, key=lambda piece: (-longer[piece], piece))
    return [*sorted(characters), *ranked][:VOCABULARY]


def byte_bpe(folder: Path) -> dict[str, Any]:
    """vocab.json, merges.txt and tokenizer.json of RoBERTa."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    vocabulary, merges = learn_bytes(folder, special)
    lstrip = AddedToken("<mask>", lstrip=True, normalized=False, special=True)
    made = transformers.RobertaTokenizer(vocab=vocabulary, merges=merges, mask_token=lstrip)
    made.backend_tokenizer.save(str(folder / "tokenizer.json"))
    mask = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "normalized": False,
            "rstrip": False, "single_word": False}  # fmt: skip
    names = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>",
             "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": mask}  # fmt: skip
    return {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": False, **names}


def learn_bytes(folder: Path, special: list[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Learn byte-level BPE, and keep it in vocab.json and merges.txt."""
    learner = tokenizers.Tokenizer(tokenizers.models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=alphabet, min_frequency=2
    )
    learner.train_from_iterator(CORPUS.splitlines(), trainer)
    model = json.loads(learner.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    text = json.dumps(model["vocab"], ensure_ascii=False)
    (folder / "vocab.json").write_text(text, encoding="utf-8")
    lines = ["#version: 0.2", *(" ".join(merge) for merge in merges)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return model["vocab"], merges


def qwen_bpe(folder: Path) -> dict[str, Any]:
    """The byte-level BPE of Qwen3-Embedding: NFC, digits alone, <|endoftext|> at the end."""
    end = "<|endoftext|>"
    vocabulary, merges = learn_bytes(folder, [end, "<|im_start|>", "<|im_end|>"])
    made = transformers.Qwen2Tokenizer(vocab=vocabulary, merges=merges)
    backend = made.backend_tokenizer
    backend.post_processor = processors.Sequence(
        [
            processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False),
            processors.TemplateProcessing(
                single=f"$A:0 {end}:0",
                pair=f"$A:0 {end}:0 $B:1 {end}:1",
                special_tokens=[(end, backend.token_to_id(end))],
            ),
        ]
    )
    backend.save(str(folder / "tokenizer.json"))
    return {"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": False, "bos_token": None,
            "eos_token": "<|im_end|>", "pad_token": end, "unk_token": None, "padding_side": "left",
            "add_bos_token": False, "split_special_tokens": False}  # fmt: skip


def unigram(folder: Path, *, by_words: bool = False) -> dict[str, Any]:
    """sentencepiece.bpe.model, and the tokenizer.json of bge-m3, or of the older XLM-RoBERTa."""
    file = folder / "sentencepiece.bpe.model"
    with tempfile.TemporaryDirectory() as work:
        rules = Path(work, "rules.tsv")
        rules.write_text("\n".join(RULES) + "\n", encoding="utf-8")
        options = {"vocab_size": VOCABULARY, "normalization_rule_tsv": str(rules)}
        learn_sentencepiece(file, model_type="unigram", **options)
    made = xlm_roberta(file, by_words=by_words)
    made.save(str(folder / "tokenizer.json"))
    names = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>",
             "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}  # fmt: skip
    return {"tokenizer_class": "XLMRobertaTokenizer", **names}


def learn_sentencepiece(file: Path, **options: Any) -> None:
    """Learn a SentencePiece model, and leave out of the file where it was learnt."""
    with tempfile.TemporaryDirectory() as work:
        corpus = Path(work, "corpus.txt")
        corpus.write_text(CORPUS, encoding="utf-8")
        sentencepiece.SentencePieceTrainer.train(
            input=str(corpus),
            model_prefix=f"{work}/learnt",
            hard_vocab_limit=options["model_type"] == "bpe",
            character_coverage=1.0,
            num_threads=1,
            minloglevel=2,
            **options,
        )
        model = read_sentencepiece(Path(work, "learnt.model"))
    for name in ("input", "model_prefix"):
        model.trainer_spec.ClearField(name)
    model.normalizer_spec.ClearField("normalization_rule_tsv")
    file.write_bytes(model.SerializeToString(deterministic=True))


def xlm_roberta(file: Path, *, by_words: bool) -> tokenizers.Tokenizer:
    """Build what the hub's tokenizer.json files hold; transformers is asked for the second kind."""
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(file, work)
        write_json(Path(work, "config.json"), {"model_type": "xlm-roberta"})
        made = transformers.XLMRobertaTokenizer.from_pretrained(work).backend_tokenizer
    check_against_sentencepiece(made, file)
    if not by_words:
        charsmap = bytes(read_sentencepiece(file).normalizer_spec.precompiled_charsmap)
        made.normalizer = normalizers.Sequence(
            [normalizers.Precompiled(charsmap), normalizers.Replace(Regex(" {2,}"), " ")]
        )
        made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
        made.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
        made.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    made.no_truncation()
    made.no_padding()
    return made


def read_sentencepiece(file: Path) -> Any:
    """A SentencePiece file, read by the protobuf of its makers and not by the kernel's reader."""
    from sentencepiece import sentencepiece_model_pb2  # noqa: PLC0415 - wants protobuf

    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(file.read_bytes())
    return model


def check_against_sentencepiece(made: tokenizers.Tokenizer, file: Path) -> None:
    """The library that wrote the file agrees, but for the fairseq shift of the ids."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(file))
    for text in (*CORPUS.splitlines(), *TEXTS):
        if "<" in text:  # only added tokens see <s> in a text
            continue
        shifted = [i + 1 if i else 3 for i in processor.encode(text)]
        assert made.encode(text).ids == [0, *shifted, 2], text  # noqa: S101


TOKENIZERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "wordpiece": wordpiece,
    "wordpiece-cased": lambda folder: wordpiece(folder, lowercase=False),
    "byte-bpe": byte_bpe,
    "qwen-bpe": qwen_bpe,
    "unigram": unigram,
    "unigram-by-words": lambda folder: unigram(folder, by_words=True),
}

# --- networks --------------------------------------------------------------------------------

NETWORKS: dict[str, tuple[str, int, dict[str, Any]]] = {  # class prefix, pads before 0, more
    "bert": ("Bert", 0, {"pad_token_id": 0}),
    "nomic_bert": ("NomicBert", 0, {"pad_token_id": 0}),
    "roberta": ("Roberta", 2, {"pad_token_id": 1, "type_vocab_size": 1}),
    "xlm-roberta": ("XLMRoberta", 2, {"pad_token_id": 1, "type_vocab_size": 1}),
    "qwen3": ("Qwen3", 0, {"num_key_value_heads": 2, "head_dim": 8, "use_cache": False}),
}


def network(spec: Spec, vocabulary: int) -> Any:
    """The torch model, with every weight random and large enough for texts to differ."""
    prefix, offset, more = NETWORKS[spec.network]
    if spec.kind == "rerank":
        more = {**more, "num_labels": 1, "id2label": {0: "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    config = getattr(transformers, f"{prefix}Config")(
        vocab_size=vocabulary,
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=2 * HIDDEN,
        max_position_embeddings=spec.positions + offset,
        attn_implementation="eager",
        **more,
    )
    head = "ForSequenceClassification" if spec.kind == "rerank" else "Model"
    torch.manual_seed(zlib.crc32(spec.name.encode()))
    model = getattr(transformers, f"{prefix}{head}")(config)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            spread = 0.5 if "embeddings" in name or "embed_tokens" in name else 0.2
            weights.normal_(0.0, spread)
            if "norm" in name.lower() and name.endswith("weight"):
                weights.mul_(0.5).add_(1.0)
    return model.eval()


class Exported(torch.nn.Module):
    """The network with positional inputs and the outputs the export is known for."""

    def __init__(self, model: Any, spec: Spec, inputs: list[str]) -> None:
        super().__init__()
        self.model, self.spec, self.inputs = model, spec, inputs

    def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """One tensor per name in ``spec.outputs``."""
        given = dict(zip(self.inputs, values, strict=True))
        answer = self.model(**given)
        if self.spec.kind == "rerank":
            return (answer.logits,)
        hidden = answer.last_hidden_state
        made = {"sentence_embedding": pooled(hidden, given["attention_mask"], self.spec)}
        return tuple(made.get(name, hidden) for name in self.spec.outputs)


def pooled(hidden: torch.Tensor, mask: torch.Tensor, spec: Spec) -> torch.Tensor:
    """Pool and normalise as sentence-transformers does; last token: for unpadded texts only."""
    if spec.pooling == "cls":
        vector = hidden[:, 0]
    elif spec.pooling == "lasttoken":
        vector = hidden[:, -1]
    else:
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        vector = (hidden * weights).sum(1) / weights.sum(1)
    return torch.nn.functional.normalize(vector, dim=-1) if spec.normalize else vector


def export(model: Any, spec: Spec, file: Path, inputs: list[str]) -> None:
    """Write the ONNX file, with its weights beside it where the original has them there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    names = ["logits"] if spec.kind == "rerank" else list(spec.outputs)
    axes = {name: {0: "batch_size", 1: "sequence_length"} for name in inputs + names}
    for name in {"logits", "sentence_embedding"} & set(names):
        axes[name] = {0: "batch_size"}
    example = torch.tensor([[3, 7, 8, 2], [3, 9, 6, 2]])
    values = [torch.zeros_like(example) if name == "token_type_ids" else example for name in inputs]
    values[inputs.index("attention_mask")] = torch.ones_like(example)
    torch.onnx.export(
        Exported(model, spec, inputs).eval(),
        tuple(values),
        str(file),
        input_names=inputs,
        output_names=names,
        dynamic_axes=axes,
        opset_version=14,
        dynamo=False,
    )
    proto = onnx.load(str(file))
    shorten_names(proto.graph)
    file.unlink()
    beside = {"save_as_external_data": True, "location": f"{file.name}_data"}
    onnx.save(proto, str(file), **(beside if spec.external_data else {}))


def shorten_names(graph: Any) -> None:
    """Number what only the graph itself sees: the exporter's names are a quarter of such a file."""
    seen = {value.name for value in (*graph.input, *graph.output, *graph.initializer)}
    short: dict[str, str] = {"": ""}
    for node in graph.node:
        node.ClearField("name")
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                names[i] = name if name in seen else short.setdefault(name, f"v{len(short)}")


# --- the files around them -------------------------------------------------------------------


def write_sentence_transformers(folder: Path, spec: Spec) -> None:
    """modules.json and what it points at, in the words of versions 2 to 5, or of version 6."""
    newest = spec.layout == "sentence-transformers-6"
    kinds = ["Transformer", "Pooling"] + (["Normalize"] if spec.normalize else [])
    rooms = {
        "Transformer": "sentence_transformers.base.modules.transformer",
        "Pooling": "sentence_transformers.sentence_transformer.modules.pooling",
        "Normalize": "sentence_transformers.base.modules.normalize",
    }
    modules = [
        {
            "idx": i,
            "name": str(i),
            "path": f"{i}_{kind}" if i else "",
            "type": f"{rooms[kind] if newest else 'sentence_transformers.models'}.{kind}",
        }
        for i, kind in enumerate(kinds)
    ]
    write_json(folder / "modules.json", modules)
    modes = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max"}
    modes |= {"mean_sqrt_len_tokens": "", "weightedmean_tokens": "", "lasttoken": "lasttoken"}
    pooling: dict[str, Any] = {"word_embedding_dimension": HIDDEN}
    pooling |= {f"pooling_mode_{key}": mode == spec.pooling for key, mode in modes.items()}
    limit: dict[str, Any] = {"max_seq_length": spec.max_tokens, "do_lower_case": False}
    if newest:
        pooling = {"embedding_dimension": HIDDEN, "pooling_mode": spec.pooling}
        limit = {
            "transformer_task": "feature-extraction",
            "module_output_name": "token_embeddings",
        }
        names = ("module_input_name", "module_output_name")
        write_json(folder / "2_Normalize/config.json", dict.fromkeys(names, "sentence_embedding"))
    write_json(folder / "1_Pooling/config.json", {**pooling, "include_prompt": True})
    if spec.network != "qwen3":  # Qwen3-Embedding has no such file: its limit is in config.json
        write_json(folder / "sentence_bert_config.json", limit)
    about: dict[str, Any] = {"__version__": {"sentence_transformers": "6.2.0" if newest else "3.1"}}
    if spec.prompts is not None:
        about |= {"prompts": spec.prompts, "default_prompt_name": None}
    write_json(folder / "config_sentence_transformers.json", about)


def write_tokenizer_config(folder: Path, spec: Spec, config: dict[str, Any]) -> None:
    """tokenizer_config.json and special_tokens_map.json; MiniLM's limits are in the tokenizer."""
    config = {**config, "model_max_length": spec.model_max_length}
    write_json(folder / "tokenizer_config.json", config)
    special = {key: value for key, value in config.items() if key.endswith("_token") and value}
    special = {key: value for key, value in special.items() if not isinstance(value, bool)}
    write_json(folder / "special_tokens_map.json", special)
    if spec.name == "all-MiniLM-L6-v2":  # as published: cuts at 128 and pads to 128
        file = str(folder / "tokenizer.json")
        made = tokenizers.Tokenizer.from_file(file)
        made.enable_truncation(128)
        made.enable_padding(length=128, pad_id=0, pad_token="[PAD]")  # noqa: S106
        made.save(file)


# --- the reference ---------------------------------------------------------------------------


def expected_vectors(spec: Spec, model: Any, tokenizer: Any) -> dict[str, Any]:
    """What an embedder must return for each text, alone, as a document and as a query."""
    prompts = {"query": "", "document": "", **(spec.prompts or {})}

    def ids(text: str) -> list[int]:
        given = tokenizer(text, truncation=True, max_length=spec.max_tokens, padding=False)
        return list(given["input_ids"])

    def vector(text: str) -> list[float]:
        row = torch.tensor([ids(text)])
        with torch.no_grad():
            hidden = model(input_ids=row, attention_mask=torch.ones_like(row)).last_hidden_state
        answer = pooled(hidden, torch.ones_like(row), spec)[0]
        return [round(float(number), 7) for number in answer]

    return {
        "kind": "embedding",
        "pooling": spec.pooling,
        "normalize": spec.normalize,
        "queryPrefix": prompts["query"],
        "documentPrefix": prompts["document"],
        "maxTokens": spec.max_tokens,
        "texts": TEXTS,
        "ids": [ids(prompts["document"] + text) for text in TEXTS],
        "queryIds": [ids(prompts["query"] + text) for text in TEXTS],
        "documents": [vector(prompts["document"] + text) for text in TEXTS],
        "queries": [vector(prompts["query"] + text) for text in TEXTS],
    }


def expected_scores(spec: Spec, model: Any, tokenizer: Any) -> dict[str, Any]:
    """What a reranker must return for each pair, alone."""
    rows = tokenizer(  # as a batch: transformers 5 takes a single empty second text for none
        [query for query, _ in PAIRS],
        [document for _, document in PAIRS],
        truncation="longest_first",
        max_length=spec.max_tokens,
        padding=False,
        return_token_type_ids=True,
    )
    scores = []
    for ids, types in zip(rows["input_ids"], rows["token_type_ids"], strict=True):
        given = {"input_ids": torch.tensor([ids])}
        given["attention_mask"] = torch.ones_like(given["input_ids"])
        if spec.network == "bert":
            given["token_type_ids"] = torch.tensor([types])
        with torch.no_grad():
            scores.append(torch.sigmoid(model(**given).logits)[0, 0].item())
    return {
        "kind": "rerank",
        "maxTokens": spec.max_tokens,
        "pairs": PAIRS,
        "ids": rows["input_ids"],
        "typeIds": rows["token_type_ids"],
        "scores": [round(score, 7) for score in scores],
    }


def write_expected(folder: Path, expected: dict[str, Any]) -> None:
    """Write expected.json, one line per key."""
    rows = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in expected.items()]
    (folder / "expected.json").write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def compare(spec: Spec, file: Path, expected: dict[str, Any]) -> float:
    """How far the ONNX file is from the reference; torch is right, the export is checked."""
    session = onnxruntime.InferenceSession(str(file))
    wanted = {value.name for value in session.get_inputs()}
    worst = 0.0
    for i, ids in enumerate(expected["ids"]):
        row = torch.tensor([ids])
        given = {"input_ids": row, "attention_mask": torch.ones_like(row)}
        given["token_type_ids"] = torch.tensor([expected.get("typeIds", {i: [0] * len(ids)})[i]])
        made = session.run(None, {name: given[name].numpy() for name in wanted})
        answer = torch.from_numpy(made[-1])
        if spec.kind == "rerank":
            answer, target = torch.sigmoid(answer[0]), torch.tensor([expected["scores"][i]])
        else:
            if "sentence_embedding" not in spec.outputs:
                answer = pooled(answer, given["attention_mask"], spec)
            answer, target = answer[0], torch.tensor(expected["documents"][i])
        worst = max(worst, (answer - target).abs().max().item())
    return worst


def make(spec: Spec) -> None:
    """Write one folder whole."""
    folder = MODELS / spec.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_tokenizer_config(folder, spec, TOKENIZERS[spec.tokenizer](folder))
    size = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
    model = network(spec, size)
    inputs = ["input_ids", "attention_mask"]
    if spec.network in {"bert", "nomic_bert"}:
        inputs.append("token_type_ids")
    model.config.architectures = [type(model).__name__]
    settings = {
        key: value for key, value in model.config.to_dict().items() if not key.startswith("_")
    }
    write_json(folder / "config.json", settings)
    for name in spec.left_out:  # before the reference: transformers sees what the kernel will see
        (folder / name).unlink(missing_ok=True)
    # XLMRobertaTokenizer of transformers 5 overlooks the steps in tokenizer.json for its own.
    has_json = (folder / "tokenizer.json").exists()
    kind = transformers.PreTrainedTokenizerFast if has_json else transformers.AutoTokenizer
    tokenizer = kind.from_pretrained(folder)
    reference = expected_scores if spec.kind == "rerank" else expected_vectors
    expected = reference(spec, model, tokenizer)
    if spec.layout != "bare":
        write_sentence_transformers(folder, spec)
    export(model, spec, folder / spec.file, inputs)
    write_expected(folder, expected)
    distance = compare(spec, folder / spec.file, expected)
    kilobytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) // 1024
    print(f"{spec.name:24} {kilobytes:4} KB  {size} tokens  onnx differs by {distance:.1e}")
    if distance > TOLERANCE:
        sys.exit(f"{spec.name}: the ONNX file does not compute what torch computes")


def make_tokenizers() -> None:
    """Two SentencePiece files without a model, of the other kinds; the reference is its library."""
    llama = {"model_type": "bpe", "byte_fallback": True, "remove_extra_whitespaces": False,
             "normalization_rule_name": "identity", "allow_whitespace_only_pieces": True,
             "split_digits": True, "vocab_size": 700}  # fmt: skip
    t5 = {"model_type": "unigram", "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1,
          "vocab_size": VOCABULARY}  # fmt: skip
    for name, file_name, options in (
        ("tokenizer-llama", "tokenizer.model", llama),
        ("tokenizer-t5", "spiece.model", t5),
    ):
        folder = MODELS / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        learn_sentencepiece(folder / file_name, **options)
        processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / file_name))
        texts = [text for text in TEXTS if "<s>" not in text]  # SentencePiece sees text in it
        frame = {"add_bos": name == "tokenizer-llama", "add_eos": name == "tokenizer-t5"}
        ids = [processor.encode(text, **frame) for text in texts]
        write_expected(folder, {"kind": "tokenizer", "texts": texts, "ids": ids})


def main() -> int:
    """Make the named folders, or all."""
    torch.set_num_threads(1)
    make_tokenizers()
    for spec in SPECS:
        if spec.name in sys.argv[1:] or not sys.argv[1:]:
            make(spec)
    return 0


if __name__ == "__main__":
    sys.exit(main())
