"""Tokens recognised by their shape: clouds, code hosting, models, registries.

Prefixes, alphabets and lengths as published; where a vendor has lengthened a format before, the
length is a minimum.
"""

from codekernel.masking.rules import MaskRule

# Not inside a longer word; but behind an escaped line end or a character in percent encoding.
EDGE = r"(?:(?<![A-Za-z0-9_])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\\[nrt]))"

END = r"(?![A-Za-z0-9])"

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

_MIN_NAME_LIKE_ENTROPY = 3.0

TOKEN_RULES = (
    MaskRule(
        "AWS key",
        ("akia", "asia", "abia", "acca", "agpa", "aida", "aroa", "anpa", "a3t"),
        rf"{EDGE}(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{{16}}{END}",
        2.5,
    ),
    MaskRule("AWS Bedrock key", ("absk",), rf"{EDGE}ABSK[A-Za-z0-9+/]{{60,300}}={{0,2}}", 3.5),
    MaskRule("AWS Bedrock key", ("bedrock-api-key-",), r"bedrock-api-key-[A-Za-z0-9+/=]{20,4000}"),
    MaskRule("AWS AppSync key", ("da2-",), rf"{EDGE}da2-[a-z0-9]{{26}}{END}"),
    MaskRule("Azure client secret", ("q~",), rf"{EDGE}[\w~.-]{{3}}\dQ~[\w~.-]{{31,34}}(?![\w~-])"),
    MaskRule(
        "Azure key",
        ("azfu", "azsearch", "azsea", "+astdv4", "+acr", "acdb"),
        (
            rf"{EDGE}[A-Za-z0-9_+/-]{{40,52}}(?:AzFu|AzSe[A-D]|\+ASt|\+ACR|ACDb|AIoT|APIM|\+AMC"
            rf"|\+ARm)"
            r"[A-Za-z0-9_+/=-]{6,40}"
        ),
    ),
    MaskRule(
        "Azure DevOps token",
        ("azdo",),
        rf"{EDGE}[A-Za-z0-9]{{52,76}}JQQJ99[A-Za-z0-9]{{6,30}}{END}",
    ),
    MaskRule("Google key", ("aiza",), r"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])", 3.0),
    MaskRule("Google token", ("ya29.",), rf"{EDGE}ya29\.[0-9A-Za-z_.-]{{20,2000}}"),
    MaskRule("Google OAuth secret", ("gocspx-",), r"GOCSPX-[A-Za-z0-9_-]{20,60}"),
    MaskRule("Google refresh token", ("1//0",), rf"{EDGE}1//0[A-Za-z0-9_-]{{30,200}}"),
    MaskRule("Google HMAC key", ("goog1e", "goog"), rf"{EDGE}GOOG[A-Z0-9]{{20,60}}{END}", 3.0),
    MaskRule("Firebase key", (":apa91b",), r"(?<![\w-])[\w-]{11,30}:APA91b[\w-]{100,200}"),
    MaskRule("Firebase key", ("aaaa",), rf"{EDGE}AAAA[A-Za-z0-9_-]{{7}}:[A-Za-z0-9_-]{{140}}"),
    MaskRule(
        "Alibaba key", ("ltai",), rf"{EDGE}LTAI[A-Za-z0-9]{{12,26}}{END}", _MIN_NAME_LIKE_ENTROPY
    ),
    MaskRule(
        "Tencent key", ("akid",), rf"{EDGE}AKID[A-Za-z0-9]{{28,36}}{END}", _MIN_NAME_LIKE_ENTROPY
    ),
    MaskRule("Oracle key", ("ocid1.",), r"(?<=/)ocid1\.key\.oc1\.[A-Za-z0-9.-]{20,120}"),
    MaskRule(
        "Yandex key",
        ("aqvn", "t1.", "y0_", "yc"),
        rf"{EDGE}(?:AQVN[A-Za-z0-9_-]{{35,38}}"
        rf"|t1\.[A-Za-z0-9_-]{{20,400}}={{0,2}}\.[A-Za-z0-9_-]{{86}}"
        rf"|y[0-6]_[A-Za-z0-9_-]{{50,70}}|YC[A-Za-z0-9_-]{{38}})(?![A-Za-z0-9_-])",
        4.0,
    ),
    MaskRule(
        "DigitalOcean token", ("do_v1_", "dop_v1", "doo_v1", "dor_v1"), r"do[opr]_v1_[a-f0-9]{64}"
    ),
    MaskRule("Heroku key", ("hrku-",), r"HRKU-[0-9a-zA-Z_-]{36,80}"),
    MaskRule(
        "Fly.io token",
        ("fo1_", "fm1", "fm2_"),
        (
            rf"{EDGE}(?:fo1_[\w-]{{43}}|fm1[ar]_[A-Za-z0-9+/]{{40,4000}}={{0,3}}"
            r"|fm2_[A-Za-z0-9+/]{40,4000}={0,3})"
        ),
    ),
    MaskRule("Cloudflare key", ("v1.0-",), r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,200}"),
    MaskRule("Cloudflare token", ("cfut_", "cfat_", "cfk_"), r"cf(?:ut|at|k)_[A-Za-z0-9]{40,60}"),
    MaskRule(
        "GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255})",
        3.0,
    ),
    MaskRule("GitHub app token", ("v1.",), rf"{EDGE}v1\.[0-9a-f]{{40}}{END}"),
    MaskRule(
        "GitLab token",
        (
            "glpat-",
            "gldt-",
            "glrt-",
            "gloas-",
            "glptt-",
            "glft-",
            "glimt-",
            "glagent-",
            "glcbt-",
            "glsoat-",
            "glffct-",
            "gr1348941",
            "_gitlab_session=",
        ),
        r"(?:gl(?:pat|dt|rt|rtr|oas|ptt|ft|imt|agent|cbt|soat|ffct)-[\w.-]{20,320}"
        r"|GR1348941[\w-]{20,60}|(?<=_gitlab_session=)[0-9a-z]{32})",
        _MIN_NAME_LIKE_ENTROPY,
    ),
    MaskRule(
        "Bitbucket token",
        ("atbb", "atctt3", "bbdc-"),
        rf"{EDGE}(?:ATBB[A-Za-z0-9_=.-]{{24,200}}|ATCTT3[A-Za-z0-9+/=_-]{{40,400}}"
        r"|BBDC-[A-Za-z0-9+/@_-]{40,50})",
        _MIN_NAME_LIKE_ENTROPY,
    ),
    MaskRule("Atlassian token", ("atatt3",), r"ATATT3[A-Za-z0-9+/=_-]{40,400}"),
    MaskRule(
        "API key",
        ("sk-",),
        rf"{EDGE}sk-(?:proj-|ant-|or-|svcacct-|service-|admin-|lf-|or-v1-)?"
        r"[A-Za-z0-9_-]{20,255}",
        3.3,
    ),
    MaskRule(
        "Hugging Face token",
        ("hf_", "api_org_"),
        rf"{EDGE}(?:hf|api_org)_[A-Za-z0-9]{{30,64}}{END}",
    ),
    MaskRule("xAI key", ("xai-",), rf"{EDGE}xai-[0-9A-Za-z_]{{60,100}}{END}"),
    MaskRule("Groq key", ("gsk_",), rf"{EDGE}gsk_[A-Za-z0-9]{{40,64}}{END}"),
    MaskRule("Perplexity key", ("pplx-",), rf"{EDGE}pplx-[A-Za-z0-9]{{32,64}}{END}"),
    MaskRule("Replicate token", ("r8_",), rf"{EDGE}r8_[0-9A-Za-z_-]{{30,40}}{END}", 3.0),
    MaskRule("NVIDIA key", ("nvapi-",), rf"{EDGE}nvapi-[A-Za-z0-9_-]{{40,80}}"),
    MaskRule(
        "LangSmith key",
        ("lsv2_", "ls__"),
        rf"{EDGE}(?:lsv2_(?:pt|sk)_[a-f0-9]{{32}}_[a-f0-9]{{10}}|ls__[a-z0-9]{{32}})",
    ),
    MaskRule("Langfuse key", ("-lf-",), rf"{EDGE}[ps]k-lf-{_UUID}"),
    MaskRule("Pinecone key", ("pcsk_",), rf"{EDGE}pcsk_[A-Za-z0-9]{{4,8}}_[A-Za-z0-9]{{40,80}}"),
    MaskRule("Deepgram or Fireworks key", ("fw_",), rf"{EDGE}fw_[A-Za-z0-9]{{22,30}}{END}", 3.3),
    MaskRule("Jina key", ("jina_",), rf"{EDGE}jina_[a-f0-9]{{32}}[A-Za-z0-9_-]{{20,40}}"),
    MaskRule("Tavily key", ("tvly-",), rf"{EDGE}tvly-[A-Za-z0-9_-]{{20,60}}", 3.3),
    MaskRule("Exa or Firecrawl key", ("fc-",), rf"{EDGE}fc-[a-f0-9]{{32}}{END}"),
    MaskRule("Weights and Biases key", ("wandb_v1_",), r"wandb_v1_[A-Za-z0-9_]{40,120}"),
    MaskRule("Mistral or Cohere key", ("co_",), rf"{EDGE}co_[A-Za-z0-9]{{40}}{END}", 3.5),
    MaskRule("npm token", ("npm_",), rf"{EDGE}npm_[A-Za-z0-9]{{36}}{END}"),
    MaskRule("PyPI token", ("pypi-",), r"pypi-[A-Za-z0-9_-]{50,1000}", 3.5),
    MaskRule("RubyGems key", ("rubygems_",), r"rubygems_[a-f0-9]{48}"),
    MaskRule("NuGet key", ("oy2",), rf"{EDGE}oy2[a-z0-9]{{43}}{END}"),
    MaskRule("crates.io token", ("cio",), rf"{EDGE}cio[A-Za-z0-9]{{32}}{END}", 3.8),
    MaskRule("Clojars token", ("clojars_",), r"CLOJARS_[A-Za-z0-9]{60}"),
    MaskRule("Docker token", ("dckr_",), r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,40}"),
    MaskRule(
        "JFrog token",
        ("akcp", "cmvmd"),
        rf"{EDGE}(?:AKCp[A-Za-z0-9]{{60,75}}|cmVmd[A-Za-z0-9]{{59}}){END}",
    ),
    MaskRule("Terraform token", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    MaskRule(
        "Vault token",
        ("hvs.", "hvb.", "hvr."),
        rf"{EDGE}hv[sbr]\.[\w-]{{20,320}}",
        _MIN_NAME_LIKE_ENTROPY,
    ),
    MaskRule("Pulumi token", ("pul-",), rf"{EDGE}pul-[a-f0-9]{{40}}{END}"),
    MaskRule(
        "Doppler token",
        ("dp.",),
        rf"{EDGE}dp\.(?:ct|pt|st(?:\.[a-z0-9_-]{{2,35}})?|sa|scim|audit)\.[A-Za-z0-9]{{40,44}}",
    ),
    MaskRule(
        "1Password token",
        ("ops_ey", "a3-"),
        (
            rf"{EDGE}(?:ops_eyJ[A-Za-z0-9+/_-]{{100,4000}}={{0,3}}"
            r"|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3})"
        ),
    ),
    MaskRule(
        "Infisical token",
        ("st.",),
        rf"{EDGE}st\.[a-f0-9]{{8,64}}\.[a-f0-9]{{24,64}}\.[a-f0-9]{{16,64}}",
    ),
    MaskRule("age key", ("age-secret-key-",), r"AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{50,400}"),
    MaskRule(
        "JWT",
        ("eyj",),
        rf"{EDGE}eyJ[\w-]{{8,2000}}+(?:=|%3D){{0,2}}\.eyJ[\w-]{{4,8000}}+(?:=|%3D){{0,2}}"
        rf"(?:\.[\w-]{{10,2000}})?",
    ),
    MaskRule(
        "encrypted token",
        (".",),
        r"eyJ[\w-]{20,400}\.[\w-]{20,800}\.[\w-]{10,60}\.[\w-]{20,8000}\.[\w-]{16,60}",
        min_run=86,
    ),
    MaskRule("encoded JWT", ("zxlk",), rf"{EDGE}ZXlK[A-Za-z0-9+/_-]{{60,8000}}={{0,2}}"),
    MaskRule("Laravel key", ("base64:",), r"base64:[A-Za-z0-9+/]{43}="),
    MaskRule("Fernet token", ("gaaaaab",), r"(?<![\w-])gAAAAAB[\w-]{60,4000}={0,2}"),
)
