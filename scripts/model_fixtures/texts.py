"""What the vocabularies are learnt from, and the texts and pairs the references are made for."""
# ruff: noqa: RUF001 - Chinese punctuation is meant

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
