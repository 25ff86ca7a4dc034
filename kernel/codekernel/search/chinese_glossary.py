"""Translate the Chinese programming terms of a query into the English words that code uses.

The table glossary.txt was written from general knowledge of Chinese technical prose, not from any
benchmark's queries.
"""

import re
from functools import cache
from importlib.resources import files

# A query is a sentence; a pasted page is not translated to its end.
MAX_TRANSLATED_CHARS = 4_000

_CHINESE_OR_LATIN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+|[A-Za-z_][A-Za-z0-9_]*")

# The traditional characters of the glossary, each followed by its simplified form.
_SIMPLIFIED = (
    "變变數数參参實实類类別别預预設设資资庫库傳传換换檢检註注標标識识關关鍵键點点爾尔節节陣阵"
    "鏈链鍊链雜杂湊凑結结構构組组樹树隊队棧栈疊叠葉叶邊边圖图張张針针遞递歸归迴回調调閉闭態态"
    "載载寫写虛虚對对擴扩綁绑繫系裝装飾饰釋释語语運运達达規规則则開开條条賦赋聲声義义較较環环"
    "轉转簽签單单廠厂適适觀观測测項项倉仓編编譯译錯错誤误處处訊讯碼码異异丟丢獲获敗败斷断潰溃"
    "蹤踪誌志級级記记錄录監监視视計计統统優优頸颈復复還还試试時时後后線线協协進进執执緒绪併并"
    "發发鎖锁讀读競竞號号廣广訂订閱阅產产費费緩缓衝冲區区連连啟启動动續续鉤钩聽听觸触網网絡络"
    "機机稱称遠远請请應应狀状體体頭头報报負负攔拦過过濾滤範范擊击護护衛卫權权憑凭證证書书認认"
    "鑒鉴銷销戶户鑰钥壓压縮缩內内寬宽頻频務务詢询頁页聯联遷迁儲储從从刪删創创複复貝贝燬毁憶忆"
    "洩泄備备離离檔档夾夹徑径絕绝臨临輸输隨随詞词彙汇齊齐長长國国際际驗验約约腳脚終终導导補补"
    "樣样擬拟樁桩蓋盖輔辅專专熱热覽览尋寻選选鈕钮話话顏颜盤盘螢萤顯显隱隐習习訓训練练損损閾阈"
    "層层順顺無无許许給给現现摺折評评錨锚題题邏逻輯辑階阶錢钱郵邮員员織织屬属擇择維维為为與与"
    "個个來来會会將将讓让麼么問问裡里間间門门幾几蟲虫總总雙双雲云記记軟软體体遊游樂乐觀观圓圆"
    "傑杰塊块匯汇擷撷屆届啓启衆众鑑鉴佈布採采純纯術术擋挡暫暂歷历據据鏡镜響响憶忆漸渐熔熔災灾"
    "幀帧緊紧縱纵橋桥樁桩決决沒没滾滚溫温漢汉"
)

_TO_SIMPLIFIED = str.maketrans(_SIMPLIFIED[::2], _SIMPLIFIED[1::2])


def translate_chinese(text: str, *, max_senses: int | None = None) -> list[str]:
    """Return English words for the Chinese parts and the Latin words as they are, each once.

    ``max_senses`` limits the translations of one word; the first is the most usual. Words that the
    glossary does not have are left out.
    """
    words: list[str] = []
    for run in _CHINESE_OR_LATIN.findall(text[:MAX_TRANSLATED_CHARS]):
        if run.isascii():
            words.append(run)
            continue
        for senses in _find_senses(run.translate(_TO_SIMPLIFIED)):
            words += (word for sense in senses[:max_senses] for word in sense.split())
    return list(dict.fromkeys(words))


def _find_senses(run: str) -> list[tuple[str, ...]]:
    """Return the senses of the known words of a run of characters, longest match first."""
    glossary, max_chars = _load_glossary()
    found = []
    begin = 0
    while begin < len(run):
        ends = range(min(begin + max_chars, len(run)), begin, -1)
        end = next((end for end in ends if run[begin:end] in glossary), None)
        if end:
            found.append(glossary[run[begin:end]])
        begin = end or begin + 1
    return found


@cache
def _load_glossary() -> tuple[dict[str, tuple[str, ...]], int]:
    """Return the senses of each form, and the length of the longest form."""
    glossary: dict[str, tuple[str, ...]] = {}
    for line in files("codekernel.search").joinpath("glossary.txt").read_text("utf-8").splitlines():
        forms, sign, senses = line.partition(" = ")
        if sign and not line.startswith("#"):
            each = tuple(senses.split(", "))
            glossary |= {form.translate(_TO_SIMPLIFIED): each for form in forms.split(",")}
    return glossary, max(map(len, glossary))
